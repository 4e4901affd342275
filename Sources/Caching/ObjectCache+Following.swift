package import Core
internal import Support
internal import Transfer

// What is cached of an object goes along when the store gives it another key.
extension ObjectCache {
  package func follow(_ moves: [VersionMove]) async {
    await environment.disk.run { [self] in
      for move in moves { follow(move) }
    }
  }

  /// Makes the entry of one version that of another with the same bytes; waits for the disk.
  ///
  /// What can't be taken along is fetched again, which the log says.
  func follow(_ move: VersionMove) {
    let (from, to) = (EntryID(move.source), EntryID(move.target))
    guard move.source.etag != nil, move.target.etag != nil, from != to,
      move.source.size == move.target.size, isOnDisk(from)
    else { return }
    switch claim(from) {
    case .closed: return
    case .open:
      // Its files are being read and written. When nobody does any more they are taken along.
      state.withLock { $0.following[from] = move }
      return
    case .mine: break
    }
    var byteCount: Int?
    if case .mine = claim(to) {
      byteCount = take(move, from, to)
      state.withLock(wakingAll: true) { $0.slots[to] = nil }
    }
    state.withLock(wakingAll: true) { state in
      state.slots[from] = nil
      guard let byteCount else { return }
      state.index.forget(from)
      state.index.found(to, byteCount: byteCount, lastUsed: environment.time.wallTime)
      // The data is the same file as before.
      state.verified[to] = state.verified.removeValue(forKey: from)
    }
  }

  /// Moves the files of an entry that this thread has claimed to another that it has claimed.
  ///
  /// - Returns: bytes that they take on the disk; nil if they stay where they are.
  private func take(_ move: VersionMove, _ from: EntryID, _ to: EntryID) -> Int? {
    let (source, target) = (directory.paths(of: from), directory.paths(of: to))
    do {
      guard directory.isClear(above: from), directory.isClear(above: to) else { return nil }
      try directory.makeDirectory(of: to)
      guard try Disk.status(of: target.data) == nil else { return nil }
      try PartFile.move(
        source,
        identity(of: move.source),
        to: target,
        as: identity(of: move.target),
        faults: faults
      )
      try directory.remove(from)
      return try Disk.status(of: target.data)?.allocatedByteCount ?? 0
    } catch {
      environment.log.write(
        .info,
        "what was cached of an object that has another key now is fetched again: \(error)",
        ["key": "\(move.target.key)"]
      )
      return nil
    }
  }

  private func isOnDisk(_ id: EntryID) -> Bool {
    guard let path = directory.paths(of: id).checkpoint else { return false }
    return (try? Disk.status(of: path)) != nil
  }
}
