import Core
import HTTP
import Simulation
import Support
import Testing

/// What an honest server and an honest caller see of each other.
@Suite struct CurlClientTests {
  let weather: WeatherServer
  let client: CurlClient

  init() async throws {
    weather = try await .shared
    var configuration = CurlClient.Configuration()
    configuration.userAgent = "dipper/test"
    client = try CurlClient(configuration)
  }

  @Test func aBodyArrivesWhole() async throws {
    let (head, body) = try await client.get(weather.url("/bytes?size=100000"))
    #expect(head.status == 200)
    #expect(head.fields["etag"] == "\"weather\"")
    #expect(body.size == 100_000)
    #expect(body.isPattern && body.isInOrder)
    #expect(body.heads == [head])
  }

  @Test func aLargeBodyArrivesInLargePiecesAndASmallOneInOne() async throws {
    let (_, large) = try await client.get(weather.url("/bytes?size=33554432"))
    #expect(large.size == 32 << 20 && large.isPattern && large.isInOrder)
    // libcurl hands over 16 KiB at a time, which would be 2,048.
    #expect(large.pieceCount < 1500)
    let (_, small) = try await client.get(weather.url("/bytes?size=15000"))
    #expect(small.size == 15_000 && small.isPattern && small.pieceCount <= 2)
  }

  @Test func bodiesThatArriveBesideEachOtherAreNotMixedUp() async throws {
    let sizes = [1, 16_384, 16_385, 100_000, 262_144, 262_145, 1_000_003, 5_000_000]
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for size in sizes + sizes {
        group.addTask {
          let (_, body) = try await client.get(weather.url("/bytes?size=\(size)"))
          return body.size == size && body.isPattern && body.isInOrder
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
  }

  @Test func aRangeArrivesAsItsBytes() async throws {
    let (head, body) = try await client.get(
      weather.url("/bytes?size=200000"),
      fields: HeaderFields(["Range": "bytes=65521-131041"])
    )
    #expect(head.status == 206)
    #expect(head.fields["Content-Range"] == "bytes 65521-131041/200000")
    #expect(body.size == 65_521 && body.isPattern)
  }

  @Test func anEmptyBodyStillHasItsHead() async throws {
    let (head, body) = try await client.get(weather.url("/bytes?size=0"))
    #expect(head.status == 200)
    #expect(body.heads.count == 1 && body.size == 0)
  }

  @Test func headHasAHeadAndNoBody() async throws {
    let receiver = Collector()
    let request = HTTPRequest(
      method: "HEAD",
      url: weather.url("/bytes?size=5000000000"),
      deadline: soon()
    )
    let head = try await client.perform(request, receiver: receiver)
    #expect(head.fields["Content-Length"] == "5000000000")
    #expect(receiver.heads == [head] && receiver.size == 0)
  }

  @Test(arguments: [204, 301, 304, 400, 403, 404, 412, 416, 500, 503])
  func everyStatusIsAnAnswer(_ status: Int) async throws {
    let (head, body) = try await client.get(weather.url("/status?code=\(status)"))
    #expect(head.status == status)
    #expect(body.text == (status == 204 || status == 304 ? "" : "status \(status)"))
    #expect(body.heads.count == 1)
  }

  @Test func aRedirectIsNotFollowed() async throws {
    let answer = "HTTP/1.1%20302%20Go%0D%0ALocation:%20/other%0D%0AContent-Length:%200%0D%0A%0D%0A"
    let (head, _) = try await client.get(weather.url("/raw?data=\(answer)"))
    #expect(head.status == 302)
    #expect(head.fields["location"] == "/other")
  }

  @Test func interimAnswersAreNotTheAnswer() async throws {
    let (head, body) = try await client.get(weather.url("/continue"))
    #expect(head.status == 200)
    #expect(head.fields["X-Interim"] == nil && head.fields["Link"] == nil)
    #expect(body.text == "final" && body.heads.count == 1)
  }

  @Test func chunksAreJoinedAndTheTrailerIsLeftOut() async throws {
    let (head, body) = try await client.get(weather.url("/chunked?size=100000"))
    #expect(body.size == 100_000 && body.isPattern && body.isInOrder)
    #expect(head.fields["X-Trailer"] == nil)
  }

  @Test func anEncodedBodyIsPassedOnAsItIs() async throws {
    let answer =
      "HTTP/1.1%20200%20OK%0D%0AContent-Encoding:%20gzip%0D%0AContent-Length:%204%0D%0A%0D%0Aabcd"
    let (_, body) = try await client.get(weather.url("/raw?data=\(answer)"))
    #expect(body.text == "abcd")
  }

  @Test func theURLIsSentAsItStands() async throws {
    let target = "/a/../b//c/./%2E%2e/%C3%A4+~*'()?prefix=%2F..&empty"
    let (_, body) = try await client.get(weather.url(target))
    #expect(body.text.hasPrefix("GET \(target) HTTP/1.1\r\n"))
  }

  @Test func onlyTheCallersFieldsAreSent() async throws {
    let fields = HeaderFields([
      "X-Empty": "", "x-amz-meta-Name": "a, \u{E4}b", "Host": "bucket.test",
    ])
    let (_, body) = try await client.get(weather.url("/head"), fields: fields)
    let lines = Set(body.text.split(separator: "\r\n").dropFirst().map { String($0) })
    let expected: Set = [
      "X-Empty:", "x-amz-meta-Name: a, \u{E4}b", "Host: bucket.test",
      "User-Agent: dipper/test", "Accept: */*",
    ]
    #expect(lines == expected)
  }

  @Test func aConnectionIsUsedAgain() async throws {
    var connections: Set<String?> = []
    for number in 1...3 {
      let (head, _) = try await client.get(weather.url("/bytes?size=100000"))
      connections.insert(head.fields["X-Connection"])
      #expect(head.fields["X-Request"] == "\(number)")
    }
    #expect(connections.count == 1)
  }

  @Test(arguments: [
    "", "example.com/a", "ftp://127.0.0.1/a", "file:///etc/passwd", "http://", "http://:80/",
    "http://user:password@127.0.0.1/", "http://127.0.0.1:0/", "http://127.0.0.1:65536/",
    "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: 1", "http://127.0.0.1/\u{E4}",
    "http://[::1/", "http://127.0.0.1\\@a/",
  ])
  func whatIsNoURLIsInvalid(_ url: String) async throws {
    #expect(await client.failure(of: .get(url))?.kind == .invalid)
  }

  @Test func aFieldCannotBreakOutOfItsLine() async throws {
    let url = weather.url("/head")
    for (name, value) in [
      ("X-A", "1\r\nX-B: 2"), ("X-A\r\nX-B", "2"), ("X-A", "1\u{0}"), ("", "1"), ("X:A", "1"),
      ("Content-Length", "5"), ("transfer-encoding", "chunked"),
    ] {
      var fields = HeaderFields()
      fields.append(name, value)
      #expect(await client.failure(of: .get(url, fields: fields))?.kind == .invalid, "\(name)")
    }
    let request = HTTPRequest(method: "GET / HTTP/1.1\r\nX:", url: url, deadline: soon())
    #expect(await client.failure(of: request)?.kind == .invalid)
  }

  @Test func shuttingDownFailsWhatIsInFlightAndWhatComesLater() async throws {
    let receiver = Collector()
    async let inFlight = client.failure(
      of: .get(weather.url("/broken?size=1000&after=10&then=stall")),
      receiver: receiver
    )
    await receiver.hasBegun.wait()
    await client.shutDown()
    #expect(await inFlight?.kind == .cancelled)
    #expect(await client.failure(of: .get(weather.url("/bytes")))?.kind == .cancelled)
    await client.shutDown()
  }
}
