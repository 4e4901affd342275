internal import Core
internal import Filesystem
internal import ObjectFiles
internal import Support
internal import Transfer

extension MountParts {
  /// Carries out `dipper recover` of a mount: its own journals, and markers that others left in the bucket.
  func recover(finishes: Bool) async -> Result<RecoveryReport, TransferError> {
    var report = RecoveryReport()
    if finishes, let refusal {
      return .failure(.invalid(refusal))
    }
    for renaming in filesystem.unfinishedRenamings {
      report.renamings.append(await item(renaming, finishes: finishes))
    }
    let own = Set(report.renamings.map { [$0.source, $0.target] })
    do throws(TransferError) {
      let others = try await recovery.run(finishes: finishes, hasJournals: false)
      report.renamings += others.renamings.filter { !own.contains([$0.source, $0.target]) }
      return .success(report)
    } catch {
      return .failure(error)
    }
  }

  private var refusal: String? {
    filesystem.canChange ? nil : "the mount is read-only or offline, and finishes no renaming"
  }

  private func item(
    _ renaming: Result<Drafts.UnfinishedRenaming, FileError>,
    finishes: Bool
  ) async -> RecoveryReport.Item {
    var item = RecoveryReport.Item()
    do throws(FileError) {
      let found = try renaming.get()
      item.source = "\(found.source)"
      item.target = "\(found.target)"
      item.isTree = found.isTree
      item.place = found.path
      guard finishes else { return item }
      try await filesystem.finish(found)
      item.state = .finished
    } catch {
      item.state = .failed
      item.error = error.message
    }
    return item
  }
}
