internal import Core
internal import Support
internal import Transfer

extension ObjectCache {
  /// Evicting stops this far below the limit, so that it has to be done seldom: a tenth.
  private static let slackDivisor = 10

  /// An open entry has grown.
  func grew(_ id: EntryID, by count: Int) {
    let (isOver, asks) = state.withLock { state in
      state.index.grew(id, by: count)
      state.roomTold -= count
      return (state.index.byteCount > settings.byteCountMax, state.roomTold < 0)
    }
    if isOver || (asks && missingFreeByteCount() > 0) { startEviction() }
  }

  /// Of the room that a look found, this much is used before the next look, as others use it too.
  private static let roomShare = 16
  /// And no more than this.
  private static let roomToldMax = 16 << 20

  /// Evicts, on a thread that may take long, what is too much; if that is under way it is done once more.
  func startEviction() {
    let starts = state.withLock { !$0.isClosed && $0.evictionTurn.wanted() }
    guard starts else { return }
    environment.disk.submit { [weak self] in self?.runEviction() }
  }

  /// Evicts until nobody has wanted it since it looked.
  private func runEviction() {
    repeat { evictExcess() } while state.withLock { $0.evictionTurn.ended() }
  }

  /// Evicts until the cache and the file system have room again, or nothing is left to evict.
  private func evictExcess() {
    let missing = missingFreeByteCount()
    if missing > 0 { try? directory.trimAside(to: 0) }
    let (victims, isLacking) = state.withLock { state in
      let limit = settings.byteCountMax
      let excess = state.index.byteCount - limit
      let count = max(excess > 0 ? excess + limit / Self.slackDivisor : 0, missing)
      let victims = state.index.victims(toFree: count)
      return (victims, missing > 0 && victims.isEmpty)
    }
    for id in victims { evict(id) }
    // What is open fills the disk: it goes on, but adds nothing more.
    if isLacking { for download in openDownloads { download.pauseKeeping() } }
  }

  /// Removes an entry that nobody has open.
  ///
  /// - Returns: bytes freed on the disk; nil if it stays.
  @discardableResult
  func evict(_ id: EntryID) -> Int? {
    guard case .mine = claim(id) else { return nil }
    return evictClaimed(id)
  }

  /// Removes an entry of which a crash left a half.
  ///
  /// Who saw the half may have seen it being made: what has become whole since then stays.
  func evictHalf(_ id: EntryID) {
    guard case .mine = claim(id) else { return }
    let isWhole: Bool
    do throws(DiskFailure) {
      isWhole = try status(of: id) != nil
    } catch {
      isWhole = true
    }
    guard isWhole else {
      evictClaimed(id)
      return
    }
    state.withLock(wakingAll: true) { state in
      state.slots[id] = nil
      // The use that made it whole can no longer say that it has ended.
      state.index.closed(id, at: environment.time.wallTime)
    }
  }

  /// What an entry takes and when it was used last; nil if it is no more than a half.
  private func status(
    of id: EntryID
  ) throws(DiskFailure) -> (byteCount: Int, lastUsed: Timestamp)? {
    let paths = directory.paths(of: id)
    guard let data = try Disk.status(of: paths.data), let checkpoint = paths.checkpoint,
      let record = try Disk.status(of: checkpoint)
    else { return nil }
    return (data.allocatedByteCount, record.modified)
  }

  /// Removes an entry that this thread has claimed, and lets go of it.
  @discardableResult
  private func evictClaimed(_ id: EntryID) -> Int? {
    let freed: Int?
    do throws(DiskFailure) {
      freed = try removeUnlessKept(id)
    } catch {
      environment.log.write(.warning, "a cache entry could not be evicted: \(error)")
      freed = nil
    }
    state.withLock(wakingAll: true) { state in
      state.slots[id] = nil
      state.verified[id] = nil
      if freed == nil { state.index.kept(id) } else { state.index.forget(id) }
    }
    return freed
  }

  /// Removes the files of an entry that this thread has claimed; nil if they aren't ours to remove.
  private func removeUnlessKept(_ id: EntryID) throws(DiskFailure) -> Int? {
    if let name = try directory.intruder(above: id) {
      try directory.setAsideIntruder(name)
      return 0
    }
    let paths = directory.paths(of: id)
    guard !PartFile.hasUnknownFormat(paths) else { return nil }
    let byteCount = try Disk.status(of: paths.data)?.allocatedByteCount ?? 0
    try directory.remove(id)
    return byteCount
  }

  /// How many bytes more should be free in the file system.
  private func missingFreeByteCount() -> Int {
    guard let space = try? Disk.space(at: directory.path) else { return 0 }
    let floor = settings.freeByteCountMin ?? min(space.total / 20, 1 << 30)
    let room = space.free - floor
    state.withLock { $0.roomTold = min(max(0, room) / Self.roomShare, Self.roomToldMax) }
    return max(0, -room)
  }

  /// Looks through what is on disk: sizes and last uses of entries; what isn't an entry is set aside.
  func scan() {
    walk { (id) throws(DiskFailure) in
      guard let status = try status(of: id) else {
        evictHalf(id)
        return
      }
      state.withLock { state in
        state.index.found(id, byteCount: status.byteCount, lastUsed: status.lastUsed)
      }
    }
    let isOver = state.withLock { $0.index.byteCount > settings.byteCountMax }
    if isOver { startEviction() }
  }

  /// Calls `visit` with each entry on disk until the cache is closed; what isn't an entry is set aside.
  ///
  /// What can't be looked at is passed over, with one line in the log for the first of it.
  func walk(_ visit: (EntryID) throws(DiskFailure) -> Void) {
    var failure: DiskFailure?
    func attempt<Answer>(_ body: () throws(DiskFailure) -> Answer) -> Answer? {
      do throws(DiskFailure) {
        return try body()
      } catch {
        failure = failure ?? error
        return nil
      }
    }
    let shards = attempt { () throws(DiskFailure) in
      try directory.hasObjects() ? Disk.names(in: directory.objects) : []
    }
    for shard in shards ?? [] {
      let keys = attempt { () throws(DiskFailure) in try names(below: shard) }
      for key in keys ?? [] {
        let versions = attempt { () throws(DiskFailure) in try names(below: shard + "/" + key) }
        for version in versions ?? [] {
          if state.withLock({ $0.isClosed }) { return }
          _ = attempt { () throws(DiskFailure) in
            if let id = try entry(shard: shard, key: key, version: version) { try visit(id) }
          }
        }
      }
    }
    if let failure {
      environment.log.write(.warning, "a part of the cache could not be looked at: \(failure)")
    }
  }

  /// The names in a directory below `objects`; what is no directory of ours is set aside.
  func names(below path: String) throws(DiskFailure) -> [String] {
    guard let status = try Disk.status(of: directory.objects + "/" + path) else { return [] }
    guard status.isOwnDirectory else {
      try directory.setAsideIntruder(path)
      return []
    }
    return try Disk.names(in: directory.objects + "/" + path)
  }

  /// The entry with these names; what has them and is none is set aside.
  private func entry(
    shard: String,
    key: String,
    version: String
  ) throws(DiskFailure) -> EntryID? {
    let path = shard + "/" + key + "/" + version
    guard let id = EntryID(keyName: key, versionName: version), id.shardName == shard else {
      try directory.setAside(path, because: "this is no entry's name") { true }
      return nil
    }
    // Who opens or evicts it may be at it: what is gone since its name was read is nothing wrong.
    guard let status = try Disk.status(of: directory.objects + "/" + path) else { return nil }
    guard status.isOwnDirectory else {
      try directory.setAsideIntruder(path)
      return nil
    }
    return id
  }
}
