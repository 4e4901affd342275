import Caching
import Core
import Simulation
import Support
import Transfer

/// A store, a directory, and caches on both.
struct CacheBench {
  let directory: TestDirectory
  let store: SimulatedStore
  let faults = FaultPlan()
  let environment: TransferEnvironment
  let disk = BlockingPool(threadCount: 2)

  init() throws {
    directory = try TestDirectory()
    var behaviour = SimulatedStore.Behaviour()
    behaviour.bodyChunkSize = 16 << 10
    store = SimulatedStore(time: SystemClock(), faults: faults, behaviour: behaviour)
    environment = TransferEnvironment(
      scheduler: FetchScheduler(parallel: 4, budget: MemoryBudget(limit: 64 << 20)),
      disk: disk,
      log: Log(level: .error)
    )
  }

  var root: String { directory.file("cache") }

  /// An environment whose log can be read with `logLines`.
  var loggingEnvironment: TransferEnvironment {
    get throws {
      let file = try FileDescriptor.open(directory.file("log"), [.readWrite, .create, .append])
      var environment = environment
      environment.log = Log(level: .warning, target: .descriptor(file))
      return environment
    }
  }

  /// What was logged in `loggingEnvironment`.
  func logLines() throws -> [String] {
    let bytes = try directory.bytes(of: "log") ?? []
    return bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
  }

  func open(
    byteCountMax: Int = 1 << 40,
    freeByteCountMin: Int? = 0,
    download: DownloadSettings = DownloadSettings(),
    environment: TransferEnvironment? = nil,
    store: (any ObjectStore)? = nil,
    faults: PartFile.DiskFaults? = nil
  ) throws(CacheError) -> ObjectCache {
    var settings = ObjectCache.Settings(
      root: root,
      storeName: "s3://simulated @ nowhere",
      holder: "a test on /mnt/x",
      byteCountMax: byteCountMax
    )
    settings.freeByteCountMin = freeByteCountMin
    settings.download = download
    return try ObjectCache(
      settings,
      of: store ?? self.store,
      in: environment ?? self.environment,
      faults: faults
    )
  }

  /// Puts an object into the store.
  func place(_ key: String, size: Int, seed: UInt64 = 1) -> ObjectVersion {
    store.place(
      ObjectKey(key),
      .bytes(SimulatedContent.words(size: size, seed: seed).allBytes)
    )
  }

  /// What an object's bytes should be.
  func bytes(_ version: ObjectVersion, seed: UInt64 = 1) -> [UInt8] {
    SimulatedContent.words(size: version.size, seed: seed).allBytes
  }

  /// Reads a whole object through a cache and waits until it is recorded.
  func fill(_ cache: ObjectCache, _ version: ObjectVersion) async {
    let object = cache.open(version)
    _ = await object.bytes(ByteRange(0, version.size))
    await (object as? Download)?.settled()
  }

  /// The paths of all files named `name` below the cache.
  func files(_ name: String) throws -> [String] {
    func walk(_ path: String) throws -> [String] {
      try Disk.names(in: path).flatMap { entry -> [String] in
        let child = path + "/" + entry
        if try Disk.status(of: child)?.kind == .directory { return try walk(child) }
        return entry == name ? [child] : []
      }
    }
    return try walk(root).sorted()
  }
}

/// Waits until `condition` holds.
///
/// - Returns: false if it does not within a minute.
func eventually(_ condition: () throws -> Bool) async throws -> Bool {
  let clock = SystemClock()
  let deadline = clock.now + .seconds(60)
  while try !condition() {
    guard clock.now < deadline else { return false }
    // A pause between two looks, so that those who are waited for get the few threads there are.
    try? await Task.sleep(for: .milliseconds(2))
  }
  return true
}

/// Reads a file whole.
func contents(_ path: String) throws -> [UInt8] {
  let file = try FileDescriptor.open(path, [.read])
  return try file.bytes(ByteRange(0, file.size()))
}

/// Replaces a file's content in place.
func overwrite(_ path: String, _ bytes: [UInt8]) throws {
  let file = try FileDescriptor.open(path, [.readWrite, .create, .truncate])
  try bytes.withUnsafeBytes { try file.write($0, at: 0) }
}
