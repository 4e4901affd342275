internal import Caching
package import Core
internal import Support
internal import Transfer

extension Draft {
  /// So many changes may wait for a disk that doesn't take them; beyond that nothing is accepted any more.
  private static let unwrittenCountMax = 10_000

  /// Makes a change and journals it.
  func record(_ change: DraftChange) throws(FileError) {
    state.withLock { $0.record(change) }
    try journal()
  }

  /// Writes what the journal lacks, but for what the next write may go on with.
  ///
  /// That it can't be written is no failure of a write whose bytes are in the data file: publishing doesn't
  /// need the journal. Only when too much waits, programs are told.
  func journal() throws(FileError) {
    do throws(DiskFailure) {
      try writeJournal(all: false)
    } catch {
      let (count, isNews) = state.withLock { state in
        defer { state.isJournalBehind = true }
        return (state.unwritten.count, !state.isJournalBehind)
      }
      if isNews {
        environment.transfers.log.write(
          .warning,
          "what is written to a file can't be journaled, so that a crash would lose it: \(error)",
          ["key": "\(key)"]
        )
      }
      if count > Self.unwrittenCountMax { throw FileError(error, writing: key) }
    }
  }

  /// Writes what the journal lacks; lines are in the order of the changes.
  func writeJournal(all: Bool) throws(DiskFailure) {
    try journaling.withLock { (_) throws(DiskFailure) in
      let changes = state.withLock { $0.unwritten.take(all: all) }
      guard !changes.isEmpty else { return }
      let size: Int
      do throws(DiskFailure) {
        size = try staged.append(changes)
      } catch {
        state.withLock { $0.unwritten.putBack(changes) }
        throw error
      }
      let summary = state.withLock { state in
        state.isJournalBehind = false
        return size > state.journalSizeMax ? state.summary() : nil
      }
      guard let summary else { return }
      let newSize = try staged.restart(summary)
      // What says the same as before is said again only when it has doubled.
      state.withLock { $0.journalSizeMax = max($0.journalSizeMax, 2 * newSize) }
    }
  }

  /// Waits until all that was written before the call is on the disk.
  func makeDurable() async throws(DiskFailure) {
    try await environment.transfers.disk.run { [self] () throws(DiskFailure) in
      try writeJournal(all: true)
      try staged.synchronize()
    }
  }

  /// What closing a descriptor means: `publish`, or, with `Drafts.Settings.writeBackDelay`, `journaled`.
  package func flush() async -> Result<Void, FileError> {
    guard isDirty else { return .success(()) }
    if environment.settings.writeBackDelay != nil { return await journaled() }
    return await publish().map { _ in }
  }

  /// Returns when all that was written before the call is safe on the local disk, and has it published
  /// within `Drafts.Settings.writeBackDelay`.
  ///
  /// What can't be made safe is published at once instead. `DraftObserver` is told what becomes of it.
  package func journaled() async -> Result<Void, FileError> {
    do throws(DiskFailure) {
      try await makeDurable()
    } catch {
      environment.transfers.log.write(
        .warning,
        "a closed file can't be kept on the local disk and is stored at once: \(error)",
        ["key": "\(key)"]
      )
      return await publish().map { _ in }
    }
    environment.background.schedule(self, after: environment.settings.writeBackDelay ?? .zero)
    return .success(())
  }
}

extension Draft {
  /// There is an upload at the store that nobody but its checkpoint knows.
  var hasUpload: Bool {
    // What can't be looked at may be there.
    (try? Disk.status(of: staged.checkpointPath)) != .some(nil)
  }
}
