package import Core
internal import Support

extension Rename {
  /// The renamings of many keys that markers in the bucket tell of, whoever began them.
  ///
  /// - Parameters:
  ///   - beginning: of the keys that the mounts show which renamed.
  ///   - store: the bucket.
  ///   - environment: what transfers of this process share.
  /// - Returns: each, or why its marker can't be read.
  /// - Throws: `TransferError` if the bucket can't be listed.
  package static func marked(
    below beginning: ObjectKey,
    in store: any ObjectStore,
    environment: TransferEnvironment
  ) async throws(TransferError) -> [Result<MarkedRenaming, StoreError>] {
    let place = ObjectKey(beginning.bytes + Array(RenameMarker.place.utf8))
    let plan = RenamePlan(.tree, from: place, to: place, of: "", journalDirectory: "")
    let rename = Rename(plan, in: store, environment: environment)
    var marked: [Result<MarkedRenaming, StoreError>] = []
    for object in try await rename.list(place) where !object.key.isDirectoryMarker {
      do throws(StoreError) {
        marked.append(.success(try await rename.marked(at: object.key)))
      } catch {
        // It ended just now.
        if error.kind != .notFound { marked.append(.failure(error)) }
      }
    }
    return marked
  }

  /// Brings a renaming to its end that another machine began and did not finish: forward, since only
  /// its own journal knows which copies are its.
  ///
  /// A key that has other bytes at its new place stays at both: somebody has changed it since.
  ///
  /// - Parameters:
  ///   - found: which one.
  ///   - plan: how; what becomes what is in the marker.
  ///   - store: the bucket.
  ///   - environment: what transfers of this process share.
  ///   - report: is called from several threads and must not block.
  /// - Returns: how many keys stay at both places.
  /// - Throws: `TransferError`: `.held` if a living process has it. What was done stays done, and the
  ///   next try goes on.
  package static func takeOver(
    _ found: MarkedRenaming,
    like plan: RenamePlan,
    in store: any ObjectStore,
    environment: TransferEnvironment,
    report: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws(TransferError) -> Int {
    var plan = plan
    plan.source = found.marker.source
    plan.target = found.marker.target
    plan.subject = .tree
    let rename = Rename(plan, in: store, environment: environment, report: report)
    let claim = try await RenameClaim.take(found, rename)
    let record: RenameRecord
    do throws(TransferError) {
      record = try await RenameRecord.begin(plan.journal, at: plan.journalPath, environment, nil)
    } catch {
      claim.leave()
      throw error
    }
    record.hold(claim)
    return try await rename.carryOutTree(record, isResumed: true)
  }
}
