import Core
import HTTP
import Simulation
import Support
import Testing

/// Deadlines, idle time and cancellation.
@Suite struct CurlTimeTests {
  let weather: WeatherServer

  init() async throws {
    weather = try await .shared
  }

  private func client(
    idleTimeout: Duration = .seconds(30),
    connectionCountMax: Int = 64
  ) throws -> CurlClient {
    var configuration = CurlClient.Configuration()
    configuration.idleTimeout = idleTimeout
    configuration.connectionCountMax = connectionCountMax
    return try CurlClient(configuration)
  }

  private func stallingURL(_ key: String) -> String {
    weather.url("/broken?size=1000&after=10&then=stall&key=\(key)")
  }

  @Test func aStalledAnswerEndsAtItsDeadline() async throws {
    var request = HTTPRequest.get(stallingURL("deadline"))
    request.deadline = soon(.milliseconds(300))
    let receiver = Collector()
    #expect(await (try client()).failure(of: request, receiver: receiver)?.kind == .timedOut)
    let late = SystemClock().now - request.deadline
    #expect(.zero <= late && late < .seconds(15))
    try await weather.reported("gone deadline")
  }

  @Test func aDeadlineThatHasPassedIsNotTried() async throws {
    // A connection to port 1 is refused at once, if it is tried.
    var request = HTTPRequest.get("http://127.0.0.1:1/")
    request.deadline = SystemClock().now
    #expect(await (try client()).failure(of: request)?.kind == .timedOut)
  }

  @Test func aDeadlineHoldsWhileTheRequestWaitsForAConnection() async throws {
    let client = try client(connectionCountMax: 1)
    let first = Collector()
    let stalling = HTTPRequest.get(stallingURL("queue"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { _ = await client.failure(of: stalling, receiver: first) }
      await first.hasBegun.wait()
      var request = HTTPRequest.get(weather.url("/bytes?size=10"))
      request.deadline = soon(.milliseconds(200))
      #expect(await client.failure(of: request)?.kind == .timedOut)
      group.cancelAll()
      try await group.waitForAll()
    }
    #expect(try await client.get(weather.url("/bytes?size=10")).body.size == 10)
  }

  @Test(arguments: ["/broken?size=1000&after=10&then=stall", "/silent"])
  func anAnswerThatDoesNotMoveIsStalled(_ script: String) async throws {
    let client = try client(idleTimeout: .milliseconds(200))
    #expect(await client.failure(of: .get(weather.url(script)))?.kind == .stalled)
  }

  @Test func aRequestMayBringItsOwnPatience() async throws {
    var request = HTTPRequest.get(weather.url("/silent"))
    request.idleTimeout = .milliseconds(200)
    #expect(await (try client()).failure(of: request)?.kind == .stalled)
    request = .get(weather.url("/bytes?size=10&delay=600"))
    request.idleTimeout = .seconds(20)
    #expect(await (try client(idleTimeout: .milliseconds(200))).failure(of: request) == nil)
  }

  @Test func aSlowAnswerIsNotStalled() async throws {
    let client = try client(idleTimeout: .milliseconds(1500))
    let (_, body) = try await client.get(weather.url("/trickle?size=20&interval=100"))
    #expect(body.size == 20 && body.isPattern)
  }

  @Test func allTransfersTogetherKeepToTheRate() async throws {
    var configuration = CurlClient.Configuration()
    configuration.rateMax = 4 << 20
    let client = try CurlClient(configuration)
    let start = SystemClock().now
    let url = weather.url("/bytes?size=\(4 << 20)")
    async let first = client.get(url)
    async let second = client.get(url)
    let bodies = try await [first.1, second.1]
    #expect(bodies.allSatisfy { $0.size == 4 << 20 && $0.isPattern })
    // Two seconds by the rate, less what comes in the first moment.
    #expect(SystemClock().now - start >= .seconds(1))
  }

  @Test func anUploadThatNobodyReadsIsStalled() async throws {
    let client = try client(idleTimeout: .milliseconds(200))
    let request = HTTPRequest(
      method: "PUT",
      url: weather.url("/silent?then=freeze"),
      body: .bytes([UInt8](repeating: 1, count: 32 << 20)),
      deadline: soon()
    )
    #expect(await client.failure(of: request)?.kind == .stalled)
  }

  @Test func cancellingEndsAStalledAnswerAtOnce() async throws {
    let client = try client()
    let receiver = Collector()
    let request = HTTPRequest.get(stallingURL("cancel"))
    await withTaskGroup(of: HTTPError?.self) { group in
      group.addTask { await client.failure(of: request, receiver: receiver) }
      await receiver.hasBegun.wait()
      let start = SystemClock().now
      group.cancelAll()
      for await error in group { #expect(error?.kind == .cancelled) }
      #expect(SystemClock().now - start < .seconds(15))
    }
    // The connection is not kept: the rest of the answer might still come on it.
    try await weather.reported("gone cancel")
  }

  @Test func cancellingEndsAConnectionBeingMadeAtOnce() async throws {
    let client = try client()
    let request = HTTPRequest.get("http://127.0.0.1:\(weather.fullPort)/")
    let later = HTTPRequest.get(weather.url("/bytes?size=10&delay=50"))
    await withTaskGroup(of: HTTPError?.self) { group in
      group.addTask { await client.failure(of: request) }
      // An answer to a request that was submitted later shows that the first one is under way.
      #expect(await client.failure(of: later) == nil)
      let start = SystemClock().now
      group.cancelAll()
      for await error in group { #expect(error?.kind == .cancelled) }
      #expect(SystemClock().now - start < .seconds(15))
    }
  }

  @Test func cancellingBeforeTheCallIsEnough() async throws {
    let client = try client()
    let request = HTTPRequest.get(weather.url("/silent"))
    await withTaskGroup(of: HTTPError?.self) { group in
      group.cancelAll()
      group.addTask { await client.failure(of: request) }
      for await error in group { #expect(error?.kind == .cancelled) }
    }
  }

  @Test func cancellingEndsARequestThatWaitsForAConnection() async throws {
    let client = try client(connectionCountMax: 1)
    let receiver = Collector()
    let first = HTTPRequest.get(stallingURL("waiting"))
    let second = HTTPRequest.get(weather.url("/bytes"))
    await withTaskGroup(of: HTTPError?.self) { group in
      group.addTask { await client.failure(of: first, receiver: receiver) }
      await receiver.hasBegun.wait()
      for _ in 0..<10 { group.addTask { await client.failure(of: second) } }
      group.cancelAll()
      for await error in group { #expect(error?.kind == .cancelled) }
    }
  }

  /// Each call ends exactly once, wherever the cancellation meets it; a call that never ends hangs
  /// the test, one that ends twice traps.
  @Test func cancellingAtAnyMomentEndsEachCallOnce() async throws {
    let client = try client(connectionCountMax: 4)
    let url = weather.url("/bytes?size=300000")
    for round in 0..<40 {
      await withTaskGroup(of: HTTPError?.self) { group in
        for _ in 0..<8 { group.addTask { await client.failure(of: .get(url)) } }
        for _ in 0..<round * 4 { await Task.yield() }
        group.cancelAll()
        for await error in group { #expect(error == nil || error?.kind == .cancelled) }
      }
    }
    #expect(try await client.get(url).body.isPattern)
  }
}
