internal import Core
internal import Support

/// A renaming under way: what its journal says, in memory and on disk.
final class RenameRecord: Sendable {
  private let journal: Lock<RenameJournal>
  /// What became what, in this process; empty objects apart.
  private let moved = Lock<[ObjectKey: VersionMove]>([:])
  /// What holds the renaming in the bucket, where it has a marker.
  private let claim = Lock<RenameClaim?>(nil)
  private let file: CheckpointFile
  private let environment: TransferEnvironment

  private init(_ journal: RenameJournal, _ file: CheckpointFile, _ environment: TransferEnvironment)
  {
    self.journal = Lock(journal)
    self.file = file
    self.environment = environment
  }

  /// Puts a journal on the disk; it is the first step of all.
  ///
  /// `isLasting` to wait until a power loss can't take it.
  static func begin(
    _ journal: RenameJournal,
    at path: String,
    isLasting: Bool = true,
    _ environment: TransferEnvironment,
    _ faults: PartFile.DiskFaults?
  ) async throws(TransferError) -> RenameRecord {
    do throws(PartFile.OpenError) {
      let file = try await environment.disk.run { () throws(PartFile.OpenError) in
        try CheckpointFile.replace(path, with: journal.text, isLasting: isLasting, faults)
      }
      return RenameRecord(journal, file, environment)
    } catch {
      throw TransferError(error, path: path)
    }
  }

  /// Takes up the journal at `path`.
  static func open(
    _ path: String,
    _ environment: TransferEnvironment,
    _ faults: PartFile.DiskFaults?
  ) async throws(TransferError) -> (RenameJournal, RenameRecord) {
    let journal: RenameJournal
    do {
      let text = try await environment.disk.run { try CheckpointFile.text(at: path) }
      journal = try RenameJournal(parsing: text ?? [])
    } catch Checkpoint.ParseError.unknownVersion(let version) {
      throw .unknownFormat(path: path, version: version)
    } catch Checkpoint.ParseError.damaged(let reason) {
      throw .invalid("the journal \(path) is damaged: \(reason)")
    } catch {
      throw TransferError(error, path: path)
    }
    // Written anew, whole: a torn last line must not swallow the next one.
    return (journal, try await begin(journal, at: path, environment, faults))
  }

  /// What is known of the copy of a key.
  func copy(of rest: [UInt8]) -> RenameJournal.Copied? { journal.withLock { $0.copied[rest] } }

  /// A copy of a key was asked for, by this process or one before, and not confirmed.
  func isAsked(_ rest: [UInt8]) -> Bool { journal.withLock { $0.asked[rest] != nil } }

  /// A copy of a key in this state is asked for.
  func asks(_ rest: [UInt8], _ state: String) async {
    await write(journal.withLock { $0.ask(rest, state) })
  }

  /// A marker in the bucket is this renaming's; nil if it has none.
  func hold(_ claim: RenameClaim?) { self.claim.withLock { $0 = claim } }

  /// Makes sure that nobody else has taken the renaming over.
  func checkClaim() async throws(TransferError) {
    if let claim = claim.withLock({ $0 }) { try await claim.check() }
  }

  /// The renaming is left to who comes next.
  func leave() { claim.withLock { $0 }?.leave() }

  /// What became what, as far as this process did it.
  var moves: [VersionMove] { moved.withLock { Array($0.values) } }

  /// The store has made a copy of just this version.
  func moved(_ move: VersionMove) {
    guard move.source.size > 0 else { return }
    moved.withLock { $0[move.source.key] = move }
  }

  /// A copy has been confirmed; that it can't be written costs a repetition, and is said.
  func confirmed(_ rest: [UInt8], _ copy: RenameJournal.Copied) async {
    await write(journal.withLock { $0.insert(rest, copy) })
  }

  /// It is being taken back.
  func undoing() async {
    await write(journal.withLock { $0.undo() })
  }

  private func write(_ lines: String) async {
    do throws(DiskFailure) {
      try await environment.disk.run { [file] () throws(DiskFailure) in try file.append(lines) }
    } catch {
      environment.log.write(.warning, "a step of a renaming could not be recorded: \(error)")
    }
  }

  /// It has come to an end.
  func remove() async throws(TransferError) {
    // The marker first: that of a renaming whose journal is gone would wait for somebody to find it.
    if let claim = claim.withLock({ $0 }) { await claim.end() }
    do throws(DiskFailure) {
      try await environment.disk.run { [file] () throws(DiskFailure) in
        try Disk.removeFile(file.path)
      }
    } catch {
      throw .disk(error)
    }
  }
}
