package import Core
internal import Support
package import Transfer

/// Finds the renamings that nobody finishes, and finishes them: those of this machine by their journals, those
/// of others by their markers in the bucket.
package struct RenameRecovery: Sendable {
  private let store: any ObjectStore
  private let location: String
  /// The beginning of the mount's keys.
  private let beginning: ObjectKey
  private let journalDirectory: String
  private let environment: TransferEnvironment
  private let alone: Isolation

  /// Runs a body while nobody changes what is below either prefix, the old and the new one.
  package typealias Isolation =
    @Sendable (
      ObjectKey, ObjectKey, @escaping @Sendable () async -> RecoveryReport.Item
    ) async -> RecoveryReport.Item

  /// Creates a recovery.
  ///
  /// - Parameters:
  ///   - store: the bucket.
  ///   - location: the bucket as journals name it.
  ///   - beginning: of the keys that are mounted; ends in `/` unless it is empty.
  ///   - journalDirectory: where this machine's journals lie; it exists, and no mount works with it.
  ///   - environment: what transfers of this process share.
  ///   - alone: keeps a mount of this process from changing names meanwhile.
  package init(
    of store: any ObjectStore,
    at location: String,
    below beginning: ObjectKey,
    journalDirectory: String,
    environment: TransferEnvironment,
    alone: @escaping Isolation = { _, _, body in await body() }
  ) {
    self.alone = alone
    self.store = store
    self.location = location
    self.beginning = beginning
    self.journalDirectory = journalDirectory
    self.environment = environment
  }

  /// Looks for them, and finishes those that no living process has if that `isWanted`.
  ///
  /// - Parameters:
  ///   - finishes: false only looks.
  ///   - hasJournals: false leaves this machine's own to its mount.
  /// - Returns: what there is, and what became of it.
  /// - Throws: `TransferError` if the bucket or the journals can't be looked through.
  package func run(finishes: Bool, hasJournals: Bool) async throws(TransferError) -> RecoveryReport
  {
    var report = RecoveryReport()
    if hasJournals {
      let paths: [String]
      do throws(DiskFailure) {
        paths = try Rename.unfinished(in: journalDirectory)
      } catch {
        throw .disk(error)
      }
      for path in paths { report.renamings.append(await own(path, finishes: finishes)) }
    }
    // After the own ones, whose markers are gone then.
    let own = Set(report.renamings.map { [$0.source, $0.target] })
    for marked in try await Rename.marked(below: beginning, in: store, environment: environment) {
      let item = await others(marked, finishes: finishes)
      if !own.contains([item.source, item.target]) { report.renamings.append(item) }
    }
    return report
  }

  /// One of this machine's.
  private func own(_ path: String, finishes: Bool) async -> RecoveryReport.Item {
    var item = RecoveryReport.Item()
    item.place = path
    do throws(TransferError) {
      let journal = try Rename.journal(at: path)
      item.source = "\(journal.source)"
      item.target = "\(journal.target)"
      item.isTree = journal.subject == .tree
      guard finishes else { return item }
      try await Rename.resume(path, like: plan, in: store, environment: environment)
      item.state = .finished
    } catch {
      item.state = .failed
      item.error = "\(error)"
    }
    return item
  }

  /// One that another machine began, or this one without a journal by now.
  private func others(
    _ marked: Result<MarkedRenaming, StoreError>,
    finishes: Bool
  ) async -> RecoveryReport.Item {
    var item = RecoveryReport.Item()
    let found: MarkedRenaming
    switch marked {
    case .failure(let error):
      item.state = .failed
      item.place = error.key.map { "\($0)" } ?? ""
      item.error = "\(error)"
      return item
    case .success(let readable): found = readable
    }
    item.source = "\(found.marker.source)"
    item.target = "\(found.marker.target)"
    item.holder = found.marker.holder
    item.place = "\(found.key)"
    guard !found.isAlive(at: store.storeTime(at: environment.time.wallTime)) else {
      item.state = .running
      return item
    }
    guard finishes else { return item }
    let prepared = item
    return await alone(found.marker.source, found.marker.target) { await finish(found, prepared) }
  }

  private func finish(
    _ found: MarkedRenaming,
    _ unfinished: RecoveryReport.Item
  ) async -> RecoveryReport.Item {
    var item = unfinished
    do throws(TransferError) {
      item.leftKeys = try await Rename.takeOver(
        found,
        like: plan,
        in: store,
        environment: environment
      )
      item.state = .finished
    } catch {
      if case .held = error { item.state = .running } else { item.state = .failed }
      item.error = "\(error)"
    }
    return item
  }

  private var plan: RenamePlan {
    var plan = RenamePlan(
      .tree,
      from: ObjectKey(""),
      to: ObjectKey(""),
      of: location,
      journalDirectory: journalDirectory
    )
    plan.markerBeginning = beginning
    return plan
  }
}
