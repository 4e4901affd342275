import Core
import HTTP
import Simulation
import Support
import Testing

/// What a broken server or network does to an answer.
@Suite struct CurlFaultTests {
  let weather: WeatherServer
  let client: CurlClient

  init() async throws {
    weather = try await .shared
    client = try CurlClient()
  }

  @Test(arguments: ["close", "reset"])
  func aBodyThatEndsEarlyIsInterrupted(_ ending: String) async throws {
    let receiver = Collector()
    let url = weather.url("/broken?size=100000&after=30000&then=\(ending)")
    let error = await client.failure(of: .get(url), receiver: receiver)
    #expect(error?.kind == .interrupted)
    #expect(error?.message.contains("127.0.0.1:\(weather.port)") == true)
    #expect(receiver.size <= 30_000 && receiver.isPattern)
  }

  @Test(arguments: ["close", "reset"])
  func noAnswerAtAllIsInterrupted(_ ending: String) async throws {
    let error = await client.failure(of: .get(weather.url("/silent?then=\(ending)")))
    #expect(error?.kind == .interrupted)
  }

  @Test func aBodyThatGoesOnIsCutOffAndNotTheNextAnswer() async throws {
    for round in 0..<3 {
      let (head, body) = try await client.get(weather.url("/longer?size=1000&count=5000"))
      #expect(body.size == 1000 && body.isPattern)
      #expect(head.fields["X-Request"] == "1", "round \(round)")
    }
    #expect(try await client.get(weather.url("/bytes?size=3")).body.size == 3)
  }

  @Test func excessThatComesLateIsNotTheNextAnswer() async throws {
    let (head, body) = try await client.get(weather.url("/longer?size=1000&late=1&key=late1"))
    #expect(body.size == 1000 && body.isPattern)
    try await weather.reported("late late1")
    let (nextHead, next) = try await client.get(weather.url("/bytes?size=3"))
    #expect(next.size == 3 && next.isPattern)
    #expect(nextHead.fields["X-Connection"] != head.fields["X-Connection"])
  }

  @Test(arguments: [
    "garbage%0D%0A%0D%0A",
    "SSH-2.0-OpenSSH_9%0D%0A",
    "HTTP/1.1%20abc%20OK%0D%0A%0D%0A",
    "HTTP/1.1%20099%20OK%0D%0A%0D%0A",
    "HTTP/1.1%20200%20OK%0D%0Ano-colon%0D%0AContent-Length:%200%0D%0A%0D%0A",
    "HTTP/1.1%20200%20OK%0D%0AContent-Length:%205%0D%0AContent-Length:%206%0D%0A%0D%0Ahello!",
    "HTTP/1.1%20200%20OK%0D%0AContent-Length:%20-5%0D%0A%0D%0A",
    "HTTP/1.1%20200%20OK%0D%0AContent-Length:%20abc%0D%0A%0D%0A",
    "HTTP/1.1%20101%20Switch%0D%0AUpgrade:%20x%0D%0A%0D%0A",
  ])
  func whatIsNotHTTPIsInvalid(_ answer: String) async throws {
    let receiver = Collector()
    let error = await client.failure(
      of: .get(weather.url("/raw?data=\(answer)")),
      receiver: receiver
    )
    #expect(error?.kind == .invalid, "\(String(describing: error)) \(receiver.text)")
    #expect(receiver.size == 0)
  }

  @Test func aHeadThatEndsEarlyIsInterrupted() async throws {
    let answer = "HTTP/1.1%20200%20OK%0D%0AContent-Le"
    let error = await client.failure(of: .get(weather.url("/raw?data=\(answer)")))
    #expect(error?.kind == .interrupted)
  }

  @Test func aLargeHeadIsTakenUpToItsLimit() async throws {
    let (head, body) = try await client.get(weather.url("/headers?count=140&size=2000"))
    #expect(head.fields.fields.count == 143)
    #expect(body.text == "ok")
    for script in ["count=200&size=2000", "count=1&size=200000", "count=2000&size=1"] {
      let error = await client.failure(of: .get(weather.url("/headers?\(script)")))
      #expect(error?.kind == .invalid, "\(script)")
    }
  }

  @Test func chunksWithoutTheirEndAreInterrupted() async throws {
    let url = weather.url("/chunked?size=50000&then=close")
    let receiver = Collector()
    #expect(await client.failure(of: .get(url), receiver: receiver)?.kind == .interrupted)
    #expect(receiver.isPattern)
    let broken = "HTTP/1.1%20200%20OK%0D%0ATransfer-Encoding:%20chunked%0D%0A%0D%0Axyz%0D%0A"
    let error = await client.failure(of: .get(weather.url("/raw?data=\(broken)")))
    #expect(error?.kind == .interrupted)
  }

  @Test func aRefusedConnectionIsUnreachable() async throws {
    // Nothing listens on port 1, and binding it takes root.
    let error = await client.failure(of: .get("http://127.0.0.1:1/"))
    #expect(error?.kind == .unreachable)
    #expect(error?.message.contains("127.0.0.1:1: ") == true)
  }

  @Test func aNameThatDoesNotResolveIsUnreachable() async throws {
    // The name is too long for any resolver to ask about.
    let name = String(repeating: "a", count: 64) + ".invalid"
    // Twice, because the second try gets what the first has left.
    for _ in 1...2 {
      #expect(await client.failure(of: .get("http://\(name)/"))?.kind == .unreachable)
    }
  }

  @Test func aConnectionThatIsNotMadeInTimeIsUnreachable() async throws {
    var configuration = CurlClient.Configuration()
    configuration.connectTimeout = .milliseconds(200)
    let client = try CurlClient(configuration)
    let start = SystemClock().now
    let error = await client.failure(of: .get("http://127.0.0.1:\(weather.fullPort)/"))
    #expect(error?.kind == .unreachable)
    #expect(SystemClock().now - start >= .milliseconds(190))
  }

  @Test func aFullDiskIsReportedAsItself() async throws {
    let receiver = Collector(sizeMax: 50_000)
    let error = await client.failure(
      of: .get(weather.url("/bytes?size=10000000")),
      receiver: receiver
    )
    #expect(
      error?.kind
        == .refused(
          DiskFailure(errno: 28, action: "write the cache", reason: "no space left")
        )
    )
    #expect(receiver.size <= 50_000 && receiver.isPattern)
  }

  @Test func aReceiverThatHasSeenEnoughStopsAtTheHead() async throws {
    let receiver = Collector(wantsBody: false)
    let error = await client.failure(
      of: .get(weather.url("/bytes?size=10000000")),
      receiver: receiver
    )
    #expect(error?.kind == .stopped)
    #expect(receiver.heads.count == 1 && receiver.size == 0)
  }
}
