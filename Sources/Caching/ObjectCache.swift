package import Core
internal import Support
package import Transfer

/// The cache of one store: an entry on disk per object version, shared by all who have it open.
///
/// Opening the same version twice gives the same live object; while it lives its entry stays. What is
/// not open is evicted, least recently used first, when the cache takes more than its limit or leaves the
/// file system too little. What can't be cached is read uncached: `open` always gives an object.
package final class ObjectCache: PartCache {
  /// Where the cache lies and how large it may get.
  package struct Settings: Sendable {
    /// The directory of all caches.
    package var root: String
    /// What the bytes belong to: scheme, endpoint and bucket, so that no two stores share a name.
    package var storeName: String
    /// What this process does with it, such as `mount of s3://b on /mnt`, for whoever comes second.
    package var holder: String
    /// Bytes on disk that the cache may take.
    ///
    /// What is open may exceed it.
    package var byteCountMax: Int
    /// Bytes of the file system that stay free; nil is 5 % of it, at most 1 GiB.
    package var freeByteCountMin: Int?
    /// How downloads behave.
    package var download = DownloadSettings()

    /// Creates settings.
    package init(root: String, storeName: String, holder: String, byteCountMax: Int) {
      self.root = root
      self.storeName = storeName
      self.holder = holder
      self.byteCountMax = byteCountMax
    }
  }

  /// What an entry is doing.
  struct Slot {
    /// Tells this use of the entry from an earlier one.
    var number: UInt64
    /// Somebody opens or removes it: wait.
    var isBusy: Bool
    weak var object: Download?
  }

  struct State {
    var index = CacheIndex()
    var slots: [EntryID: Slot] = [:]
    /// Entries that had every byte verified in this process, and their data as it was then.
    var verified: [EntryID: DataStamp] = [:]
    /// Entries that are taken along to another key when nobody has them open any more.
    var following: [EntryID: VersionMove] = [:]
    var nextNumber: UInt64 = 0
    var evictionTurn = EvictionTurn()
    /// What may be added before the file system is asked again how much room it has.
    var roomTold = 0
    /// Entries can't be opened just now, and that was said.
    var isRefused = false
    var isClosed = false
  }

  let settings: Settings
  let directory: CacheDirectory
  let store: any ObjectStore
  let environment: TransferEnvironment
  let state = Monitor(State())
  let faults: PartFile.DiskFaults?

  /// Opens the cache and starts looking, on a thread of its own, through what is there.
  ///
  /// - Throws: `CacheError` if the directory is refused or in use.
  package init(
    _ settings: Settings,
    of store: any ObjectStore,
    in environment: TransferEnvironment,
    faults: PartFile.DiskFaults? = nil
  ) throws(CacheError) {
    self.settings = settings
    self.store = store
    self.environment = environment
    self.faults = faults
    directory = try CacheDirectory.open(
      root: settings.root,
      storeName: settings.storeName,
      holder: settings.holder,
      log: environment.log
    )
    do throws(DiskFailure) {
      try Thread.require("dipper-cache") { [weak self] in self?.scan() }
    } catch {
      throw .disk(error)
    }
  }

  /// True if there is a directory of this store's cache below `root`.
  package static func isThere(root: String, storeName: String) -> Bool {
    (try? Disk.status(of: CacheDirectory.path(root: root, storeName: storeName)))?.kind
      == .directory
  }

  /// The directory of this store's cache.
  package var path: String { directory.path }

  /// Bytes that the cache takes on disk, about.
  package var byteCount: Int { state.withLock { $0.index.byteCount } }

  package func open(_ version: ObjectVersion) -> any CachedObject {
    guard version.etag != nil else { return uncached(version) }
    let id = EntryID(version)
    switch claim(id) {
    case .open(let download): return download
    case .closed: return uncached(version)
    case .mine(let number):
      let download = makeDownload(of: version, id, number)
      state.withLock(wakingAll: true) { state in
        guard let download else {
          state.slots[id] = nil
          return
        }
        state.slots[id] = Slot(number: number, isBusy: false, object: download.object)
        state.index.opened(id, byteCount: download.byteCount, at: environment.time.wallTime)
      }
      guard let download else { return uncached(version) }
      if version.versionID == nil, download.mayHaveOthers { dropOtherVersions(than: id) }
      return download.object
    }
  }

  package func openCached(_ version: ObjectVersion) -> (any CachedObject)? {
    guard version.etag != nil else { return nil }
    let id = EntryID(version)
    let isThere = state.withLock { state in
      !state.isClosed && (state.index.entries[id]?.byteCount ?? 0) > 0
    }
    return isThere ? open(version) : nil
  }

  package func cachedByteCount(of version: ObjectVersion) -> Int {
    let id = EntryID(version)
    if let live = state.withLock({ $0.slots[id]?.object }) { return live.cachedByteCount }
    return recorded(of: version, id).byteCount
  }

  package func map(of version: ObjectVersion) -> CacheMap {
    let id = EntryID(version)
    if let live = state.withLock({ $0.slots[id]?.object }) { return live.map }
    return CacheMap(size: version.size, cached: recorded(of: version, id))
  }

  package func evict(_ version: ObjectVersion) -> Int? {
    evict(EntryID(version))
  }

  package func warm(
    _ version: ObjectVersion,
    progress: @escaping @Sendable (Int) -> Void
  ) async throws(FetchError) {
    guard version.size <= settings.byteCountMax else {
      // ENOSPC.
      throw .disk(
        DiskFailure(
          errno: 28,
          action: "keep all of \(version.key)",
          reason: "it has \(version.size) bytes and the cache may take \(settings.byteCountMax)"
        )
      )
    }
    // Opening may wait for another thread that opens or removes the entry.
    let object = await environment.disk.run { [self] in open(version) }
    guard let download = object as? Download else {
      // ENOTSUP.
      throw .disk(
        DiskFailure(
          errno: 95,
          action: "keep \(version.key)",
          reason: "it is read without the cache; the log says why"
        )
      )
    }
    try await download.warm(progress: progress)
  }

  /// What the checkpoint of an entry that is not open lists.
  private func recorded(of version: ObjectVersion, _ id: EntryID) -> ByteRangeSet {
    guard directory.isClear(above: id) else { return ByteRangeSet() }
    return PartFile.recorded(at: directory.paths(of: id), identity: identity(of: version))
  }

  /// The objects that are open.
  package var openDownloads: [Download] {
    state.withLock { $0.slots.values.compactMap(\.object) }
  }

  /// Ends every flight, records what arrived, and lets go of the cache; what is opened from now on is
  /// read uncached.
  package func close() async {
    state.withLock { $0.isClosed = true }
    for download in openDownloads { await download.close() }
    do throws(DiskFailure) {
      try directory.release()
    } catch {
      environment.log.write(.warning, "the cache's lock file stays behind: \(error)")
    }
  }

  /// What an attempt to use an entry met.
  enum Claim {
    case open(Download)
    case mine(UInt64)
    case closed
  }

  /// Waits until nobody opens or removes the entry; takes it if it is not open.
  func claim(_ id: EntryID) -> Claim {
    state.wait { state, _ in
      if state.isClosed { return .closed }
      if let slot = state.slots[id] {
        if slot.isBusy { return nil }
        if let object = slot.object { return .open(object) }
      }
      state.nextNumber += 1
      state.slots[id] = Slot(number: state.nextNumber, isBusy: true)
      return .mine(state.nextNumber)
    }
  }

  func identity(of version: ObjectVersion) -> CheckpointIdentity {
    CheckpointIdentity(store: settings.storeName, version: version)
  }

  private func uncached(_ version: ObjectVersion) -> UncachedObject {
    UncachedObject(version, from: store, in: environment, settings: settings.download)
  }
}
