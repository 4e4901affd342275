import Caching
import Core
import ObjectFiles
import Simulation
import Support
import Testing
import Transfer

/// A simulated store, a real cache directory, and the drafts of a mount.
struct DraftBench {
  let directory: TestDirectory
  let store: SimulatedStore
  let cache: ObjectCache
  let drafts: Drafts
  let observer = DraftObservations()

  init(
    settings: Drafts.Settings = DraftBench.settings,
    behaviour: SimulatedStore.Behaviour = .init(),
    faults: FaultPlan = FaultPlan()
  ) throws {
    let store = SimulatedStore(time: SystemClock(), faults: faults, behaviour: behaviour)
    try self.init(settings, store, TestDirectory())
  }

  /// A mount of `store` whose drafts lie in `directory`.
  init(
    _ settings: Drafts.Settings,
    _ store: SimulatedStore,
    _ directory: TestDirectory,
    diskFaults: PartFile.DiskFaults? = nil
  ) throws {
    self.directory = directory
    self.store = store
    let log = Log(
      level: .error,
      target: .descriptor(try FileDescriptor.open("/dev/null", .readWrite))
    )
    let transfers = TransferEnvironment(
      scheduler: FetchScheduler(parallel: 4, budget: MemoryBudget(limit: 64 << 20)),
      timers: testTimers,
      log: log
    )
    cache = try ObjectCache(
      ObjectCache.Settings(
        // Of its own: the mount before may still have the other one.
        root: directory.file("cache-\(UInt64.random(in: 0 ... .max))"),
        storeName: store.name,
        holder: "a test",
        byteCountMax: 1 << 30
      ),
      of: store,
      in: transfers
    )
    drafts = Drafts(
      Drafts.Environment(
        store: store,
        storeName: store.name,
        staging: try StagingArea(at: directory.file("staged"), log: log, faults: diskFaults),
        transfers: transfers,
        files: ObjectFile.Environment(
          cache: cache,
          timers: testTimers,
          time: SystemClock(),
          patience: .seconds(20)
        ),
        observer: observer,
        settings: settings
      )
    )
  }

  /// What tests of crashes and faults need: nothing is tried twice.
  static var settings: Drafts.Settings {
    var settings = Drafts.Settings()
    settings.retryCountMax = 0
    return settings
  }

  /// The next mount, after this one has ended somehow.
  func remounted(
    _ settings: Drafts.Settings = DraftBench.settings,
    diskFaults: PartFile.DiskFaults? = nil
  ) throws -> DraftBench {
    try DraftBench(settings, store, directory, diskFaults: diskFaults)
  }
}

/// Waits until `condition` holds; false if it does not within a minute.
func eventually(_ condition: () -> Bool) async -> Bool {
  let clock = SystemClock()
  let deadline = clock.now + .seconds(60)
  while !condition() {
    if clock.now > deadline { return false }
    await testTimers.sleep(until: clock.now + .milliseconds(1))
  }
  return true
}

/// A disk that fails from some step on, as if the process had been killed there.
final class DyingDisk: Sendable {
  private let stepCount = Lock(0)
  private let lastStep: Int

  init(after lastStep: Int) { self.lastStep = lastStep }

  /// It has failed.
  var isDead: Bool { stepCount.withLock { $0 } > lastStep }

  var faults: PartFile.DiskFaults {
    { [self] (step) throws(DiskFailure) in
      let count = stepCount.withLock { count in
        count += 1
        return count
      }
      if count > lastStep {
        throw DiskFailure(errno: 28, action: "\(step)", reason: "No space left on device")
      }
    }
  }
}

/// The timers of all tests: each would have a thread of its own.
let testTimers = Timers()

/// Collects what goes wrong.
final class DraftObservations: DraftObserver {
  let failures = Lock([FileError]())
  let published = Lock([ObjectKey]())
  func readFailed(_ error: FileError) { failures.withLock { $0.append(error) } }
  func published(_ draft: Draft, _ object: ObjectMetadata) {
    published.withLock { $0.append(object.key) }
  }
  func publishFailed(_ draft: Draft, _ error: FileError) { failures.withLock { $0.append(error) } }
}

extension Draft {
  func write(_ text: String, at offset: Int) throws(FileError) {
    try write(Array(text.utf8), at: offset)
  }

  func write(_ bytes: [UInt8], at offset: Int) throws(FileError) {
    try bytes.span.bytes.withUnsafeBytes { (buffer) throws(FileError) in
      try write(buffer, at: offset)
    }
  }

  /// Reads a range to its end.
  func bytes(_ range: ByteRange) async throws -> [UInt8] {
    let asked = AskedBytes()
    read(range, reply: asked.reply)
    return try await asked.outcome()
  }

  /// All of it as text.
  func text() async throws -> String {
    String(decoding: try await bytes(ByteRange(0, 1 << 20)), as: UTF8.self)
  }
}

/// A read that stands in for the kernel's.
final class AskedBytes: ReplyPort {
  private let gate = Gate()
  private let result = Lock(Result<[UInt8], FileError>?.none)

  var reply: Reply<DataAnswer> {
    Reply(RequestToken(1), port: self) { [self] _, _, answer in
      switch answer {
      case .bytes(let bytes): end(.success(bytes))
      case .file(let descriptor, let range):
        // While it is answered, as the bridge does it.
        let bytes = try? FileDescriptor.bytes(range, of: descriptor)
        end(bytes.map { .success($0) } ?? .failure(FileError(.inputOutput, "not to be read")))
      }
      return true
    }
  }

  func fail(_ request: RequestToken, _ error: FileError) { end(.failure(error)) }
  func whenInterrupted(_ request: RequestToken, _ action: @escaping @Sendable () -> Void) {}

  func outcome() async throws -> [UInt8] {
    await gate.wait()
    return try #require(result.withLock { $0 }).get()
  }

  private func end(_ outcome: Result<[UInt8], FileError>) {
    result.withLock { $0 = outcome }
    gate.open()
  }
}
