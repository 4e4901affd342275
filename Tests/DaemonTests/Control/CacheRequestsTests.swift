import Core
import Daemon
import Simulation
import Support
import Testing

/// A cache whose answers are written down beforehand.
private final class ScriptedCache: PartCache {
  let freedByteCount: Int?
  let warming: @Sendable (@Sendable (Int) -> Void) async -> FetchError?

  init(
    freedByteCount: Int? = nil,
    warming: @escaping @Sendable (@Sendable (Int) -> Void) async -> FetchError? = { _ in nil }
  ) {
    self.freedByteCount = freedByteCount
    self.warming = warming
  }

  func open(_ version: ObjectVersion) throws(DiskFailure) -> any CachedObject {
    throw DiskFailure(errno: 95, action: "open", reason: "this cache is a script")
  }
  func cachedByteCount(of version: ObjectVersion) -> Int { 10 }
  func map(of version: ObjectVersion) -> CacheMap {
    CacheMap(size: version.size, cached: ByteRangeSet([ByteRange(0, 10)]))
  }
  func evict(_ version: ObjectVersion) -> Int? { freedByteCount }
  func warm(
    _ version: ObjectVersion,
    progress: @escaping @Sendable (Int) -> Void
  ) async throws(FetchError) {
    if let error = await warming(progress) { throw error }
  }
}

@Suite
struct CacheRequestsTests {
  private let home: TestDirectory
  private let directory: RuntimeDirectory

  init() throws {
    home = try TestDirectory()
    directory = RuntimeDirectory(path: home.path + "/run")
  }

  private func ask(
    _ command: ControlRequest.Command,
    _ cache: ScriptedCache,
    path: String = "a/b",
    isOpen: Bool = false,
    onProgress: @escaping @Sendable ([Int]) -> Void = { _ in }
  ) async throws -> (outcome: ControlClient.Outcome, progress: [ControlAnswer.Progress]) {
    let requests = CacheRequests(
      cache: cache,
      partSize: 10,
      version: { names in
        guard names == [Array("a".utf8), Array("b".utf8)] else {
          return .failure(FileError(.notFound, "the mount doesn't know it"))
        }
        return .success(
          ObjectVersion(
            key: ObjectKey("a/b"),
            etag: ETag("e"),
            size: 100,
            lastModified: Timestamp(seconds: 0)
          )
        )
      },
      isOpen: { _ in isOpen }
    )
    let server = try ControlServer(
      mountpoint: "/m",
      directories: [directory],
      log: Log(level: .error)
    ) { request, caller in requests.carryOut(request, for: caller) }
    try server.start()
    defer { server.stop() }
    // On a thread of its own: the daemon's side needs those that tests run on.
    return await BlockingPool(threadCount: 1).run { [directory] in
      var progress: [ControlAnswer.Progress] = []
      let outcome = ControlClient(directories: [directory]).follow(
        ControlRequest(command, path: Array(path.utf8)),
        at: "/m",
        patience: .seconds(60)
      ) { answer in
        if let step = answer.progress { progress.append(step) }
        onProgress(progress.map(\.bytesDone))
      }
      return (outcome, progress)
    }
  }

  private func error(_ outcome: ControlClient.Outcome) -> String? {
    if case .answered(let answer) = outcome { answer.error } else { nil }
  }

  @Test
  func warmingTellsHowFarItIsAndWhatItFetched() async throws {
    let gate = Gate()
    let cache = ScriptedCache { progress in
      progress(60)
      await gate.wait()
      return nil
    }
    // Told also while nothing moves, so that the caller knows that somebody is there.
    let (outcome, progress) = try await ask(.warm, cache) { told in
      if told.count(where: { $0 == 60 }) == 2 { gate.open() }
    }
    #expect(outcome == .answered(ControlAnswer(warmed: .init(bytes: 100, fetchedBytes: 90))))
    #expect(progress.last == ControlAnswer.Progress(bytesDone: 60, bytesTotal: 100))
  }

  @Test
  func aFailedFetchIsSaid() async throws {
    let cause = StoreError(.accessDenied, .getObject, code: "AccessDenied", message: "no")
    let (outcome, _) = try await ask(.warm, ScriptedCache { _ in .store(cause) })
    #expect(error(outcome)?.contains("AccessDenied") == true)
  }

  @Test
  func aCallerThatGoesAwayCancels() async throws {
    let isCancelled = Monitor(false)
    let cache = ScriptedCache { _ in
      let gate = Gate()
      await withTaskCancellationHandler {
        await gate.wait()
      } onCancel: {
        gate.open()
      }
      isCancelled.withLock(wakingAll: true) { $0 = true }
      return .cancelled
    }
    let requests = CacheRequests(
      cache: cache,
      partSize: 10,
      version: { _ in
        .success(
          ObjectVersion(
            key: ObjectKey("k"),
            etag: ETag("e"),
            size: 100,
            lastModified: Timestamp(seconds: 0)
          )
        )
      },
      isOpen: { _ in false }
    )
    let server = try ControlServer(
      mountpoint: "/m",
      directories: [directory],
      log: Log(level: .error)
    ) { request, caller in requests.carryOut(request, for: caller) }
    try server.start()
    defer { server.stop() }
    let path = directory.socketPath(for: "/m")
    // On a thread of its own: the daemon's side needs those that tests run on.
    let wasCancelled = try await BlockingPool(threadCount: 1).run { () throws in
      try Self.askAndGo(path)
      let end = SystemClock().now + .seconds(60)
      return isCancelled.wait { isCancelled, deadline -> Bool? in
        if isCancelled { return true }
        deadline = end.nanoseconds
        return SystemClock().now >= end ? false : nil
      }
    }
    #expect(wasCancelled)
  }

  /// Asks for warming, waits for a first sign that it is under way, and hangs up.
  private static func askAndGo(_ path: String) throws {
    let connection = try LocalSocket.connect(to: path, timeout: .seconds(60))
    try connection.write(
      Array((StatusReport.text(of: ControlRequest(.warm, path: [0x6B])) + "\n").utf8)
    )
    var reader = LineReader(connection, lengthMax: 1000)
    #expect(try reader.next() != nil)
  }

  @Test
  func evictionSaysWhatItFreedOrWhyNot() async throws {
    let freed = try await ask(.evict, ScriptedCache(freedByteCount: 4096))
    #expect(freed.outcome == .answered(ControlAnswer(evicted: .init(freedBytes: 4096))))
    let open = try await ask(.evict, ScriptedCache(), isOpen: true)
    guard case .answered(let answer) = open.outcome else { return #expect(Bool(false)) }
    #expect(answer.busy == true)
    #expect(answer.error?.contains("open") == true)
    #expect(error(try await ask(.evict, ScriptedCache()).outcome)?.contains("log") == true)
  }

  @Test
  func aMapComesWithItsParts() async throws {
    guard case .answered(let answer) = try await ask(.map, ScriptedCache()).outcome else {
      return #expect(Bool(false))
    }
    #expect(answer.map?.cachedBytes == 10)
    #expect(answer.map?.partsTotal == 10)
  }

  @Test(arguments: [ControlRequest.Command.warm, .evict, .map])
  func anUnknownPathIsAnError(command: ControlRequest.Command) async throws {
    let outcome = try await ask(command, ScriptedCache(), path: "x").outcome
    #expect(error(outcome) == "the mount doesn't know it")
  }
}
