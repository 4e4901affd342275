package import Core
internal import Support

/// Gives an object, or all keys that begin with one prefix, another name: the one engine behind every
/// `rename` of a mount.
///
/// A store that renames does it by one request. Elsewhere the store copies, and a source is deleted only
/// when its copy has been confirmed and it is in the very state that was copied. The journal on disk comes
/// before the first copy and says, whatever interrupts the renaming, how to go on: `resume` brings it to
/// its end. Nobody sees a key lost. Up to the first deletion a failure or a cancellation takes the renaming
/// back; after it there is only forward.
package struct Rename: Sendable {
  /// How far it has come.
  package struct Progress: Hashable, Sendable {
    /// Keys that were copied or are at their old place no more; of a single large object, its parts.
    package var keyCountDone = 0
    /// Keys, or parts, known so far.
    package var keyCount = 0
    /// Bytes of the keys, or parts, that were copied.
    package var byteCountDone = 0
    /// Bytes of all of them known so far.
    package var byteCount = 0

    /// Creates the progress of a renaming that begins.
    package init() {}
  }

  /// How a renaming ended that didn't fail.
  package struct Outcome: Hashable, Sendable {
    /// What the store has at the new key; nil for a tree.
    package var object: ObjectMetadata?
    /// What became what, byte by byte: what is known of the one holds for the other.
    package var moves: [VersionMove] = []
    /// Keys that stay at the old place, because others added them faster than they could be moved; usually 0.
    package var leftCount = 0
  }

  let plan: RenamePlan
  let store: any ObjectStore
  let environment: TransferEnvironment
  let report: @Sendable (Progress) -> Void
  let faults: PartFile.DiskFaults?

  /// Creates a renaming.
  ///
  /// - Parameters:
  ///   - plan: what becomes what.
  ///   - store: the bucket.
  ///   - environment: what transfers of this process share.
  ///   - faults: lets steps of the disk fail in tests.
  ///   - report: is called from several threads and must not block.
  package init(
    _ plan: RenamePlan,
    in store: any ObjectStore,
    environment: TransferEnvironment,
    faults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (Progress) -> Void = { _ in }
  ) {
    self.plan = plan
    self.store = store
    self.environment = environment
    self.faults = faults
    self.report = report
  }

  /// Runs it to the end.
  ///
  /// - Returns: how it ended.
  /// - Throws: `TransferError`. Either nothing has changed, or the journal is still there and `resume`
  ///   brings the renaming to its end; the log says which.
  @discardableResult
  package func run() async throws(TransferError) -> Outcome {
    switch plan.subject {
    case .object(let object):
      // A store that renames keeps what belongs to the object.
      if object.facts == nil, try await isRenamedByStore(replaces: object.mayReplace) {
        let made = try await head(plan.target)
        // It may have been replaced just before: only its tag tells.
        let isSame = made.hasBytes(of: object.metadata)
        return Outcome(
          object: made,
          moves: isSame ? [VersionMove(object.version, to: made.version)] : []
        )
      }
      // A power loss may take it; what is left then are two names for the same bytes, and none is lost.
      let record = try await RenameRecord.begin(
        plan.journal,
        at: plan.journalPath,
        isLasting: false,
        environment,
        faults
      )
      let made = try await carryOut(object, record)
      return Outcome(object: made, moves: [VersionMove(object.version, to: made.version)])
    case .tree:
      guard !plan.source.hasPrefix(plan.target), !plan.target.hasPrefix(plan.source) else {
        throw .invalid("\(plan.source) can't be renamed to \(plan.target), which is inside")
      }
      if store.capabilities.hasDirectories, try await isRenamedByStore(replaces: true) {
        return Outcome()
      }
      let record = try await RenameRecord.begin(
        plan.journal,
        at: plan.journalPath,
        environment,
        faults
      )
      do throws(TransferError) {
        record.hold(try await RenameClaim.begin(self))
      } catch {
        try await record.remove()
        throw error
      }
      let leftCount = try await carryOutTree(record)
      return Outcome(moves: record.moves, leftCount: leftCount)
    }
  }

  /// Finds the renamings that were interrupted.
  ///
  /// - Parameter directory: where their journals lie; none if it isn't there.
  /// - Returns: the journals' paths.
  /// - Throws: `DiskFailure`.
  package static func unfinished(in directory: String) throws(DiskFailure) -> [String] {
    guard try Disk.status(of: directory) != nil else { return [] }
    return try Disk.names(in: directory).filter { $0.hasSuffix(RenamePlan.suffix) }
      .sorted().map { directory + "/" + $0 }
  }

  /// What the journal at `path` says.
  ///
  /// - Throws: `TransferError` if it can't be read, or is of another version of the format.
  package static func journal(at path: String) throws(TransferError) -> RenameJournal {
    do {
      return try RenameJournal(parsing: try CheckpointFile.text(at: path) ?? [])
    } catch Checkpoint.ParseError.unknownVersion(let version) {
      throw .unknownFormat(path: path, version: version)
    } catch Checkpoint.ParseError.damaged(let reason) {
      throw .invalid("the journal \(path) is damaged: \(reason)")
    } catch {
      throw TransferError(error, path: path)
    }
  }

  /// Brings the renaming of the journal at `path` to its end: forward, or back where that had begun.
  ///
  /// Of an object that is at its new key then the outcome tells what became what; nothing of one that isn't,
  /// or of which that can't be told.
  ///
  /// - Parameters:
  ///   - path: the journal.
  ///   - plan: how; what becomes what is in the journal.
  ///   - store: the bucket.
  ///   - environment: what transfers of this process share.
  ///   - faults: lets steps of the disk fail in tests.
  ///   - report: is called from several threads and must not block.
  /// - Returns: how it ended.
  /// - Throws: `TransferError`; the journal is still there then.
  @discardableResult
  package static func resume(
    _ path: String,
    like plan: RenamePlan,
    in store: any ObjectStore,
    environment: TransferEnvironment,
    faults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws(TransferError) -> Outcome {
    let (journal, record) = try await RenameRecord.open(path, environment, faults)
    guard journal.store == plan.storeName else {
      throw .differs(field: "bucket", checkpoint: journal.store, request: plan.storeName)
    }
    var resumed = plan
    resumed.source = journal.source
    resumed.target = journal.target
    resumed.subject = journal.subject
    let rename = Rename(
      resumed,
      in: store,
      environment: environment,
      faults: faults,
      report: report
    )
    switch journal.subject {
    case .object(let object):
      let made = try await rename.settle(object, record, isUndoing: journal.isUndoing)
      guard let made else { return Outcome() }
      return Outcome(object: made, moves: [VersionMove(object.version, to: made.version)])
    case .tree:
      record.hold(try await RenameClaim.begin(rename))
      guard journal.isUndoing else {
        return Outcome(leftCount: try await rename.carryOutTree(record, isResumed: true))
      }
      do throws(TransferError) {
        try await rename.undo(record)
      } catch {
        record.leave()
        throw error
      }
      return Outcome()
    }
  }

  /// What goes along with a request that takes up to `patience`.
  func context(_ patience: Duration = MultipartSteps.shortPatience) -> RequestContext {
    RequestContext(
      deadline: environment.time.now + patience,
      retryCountMax: plan.retryCountMax,
      retryPatience: plan.retryPatience
    )
  }

  /// What the store says of an object.
  func head(_ key: ObjectKey) async throws(TransferError) -> ObjectMetadata {
    do throws(StoreError) {
      return try await store.head(key, versionID: nil, ifMatch: nil, context: context())
    } catch {
      throw TransferError(error)
    }
  }

  /// The same; nil if there is none.
  func found(_ key: ObjectKey) async throws(TransferError) -> ObjectMetadata? {
    do throws(TransferError) {
      return try await head(key)
    } catch {
      guard error.isSourceGone else { throw error }
      return nil
    }
  }

  /// Has the store rename it; false if it can't, and nothing has happened then.
  private func isRenamedByStore(replaces: Bool) async throws(TransferError) -> Bool {
    guard store.capabilities.hasNativeRename != false else { return false }
    let request = RenameRequest(source: plan.source, target: plan.target, replaces: replaces)
    do throws(StoreError) {
      try await store.rename(request, context: context(Self.copyPatience))
      return true
    } catch {
      switch error.kind {
      case .unsupported: return false
      case .alreadyExists: throw .targetChanged(error)
      case .notFound, .unreachable, .timedOut, .serverFailure, .invalidAnswer:
        // A try whose answer was lost may have done it, and the next found nothing at the old name.
        if case .object(let object) = plan.subject, await wasRenamed(object) { return true }
        throw TransferError(error)
      default: throw TransferError(error)
      }
    }
  }

  /// The object is at its new key and no longer at the old one.
  private func wasRenamed(_ object: RenamedObject) async -> Bool {
    do throws(TransferError) {
      guard try await found(plan.source) == nil, let there = try await found(plan.target) else {
        return false
      }
      return there.hasBytes(of: object.metadata)
    } catch {
      return false
    }
  }
}
