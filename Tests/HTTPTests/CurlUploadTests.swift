import Core
import HTTP
import Simulation
import Support
import Testing

/// Bodies of requests.
@Suite struct CurlUploadTests {
  let weather: WeatherServer
  let client: CurlClient

  init() async throws {
    weather = try await .shared
    client = try CurlClient()
  }

  /// The SHA-256 of the weather pattern's first 64 MiB.
  private static let largeDigest =
    "a0de63756a9873d8be37af85b5268c1219433e05de7f520c6541ece8d57736c1"
  private static let largeSize = 64 << 20

  /// A file of `size` bytes of the pattern, behind `offset` others; it has no name any more.
  private func patternFile(size: Int, offset: Int = 0) throws -> FileDescriptor {
    let file = try UnnamedFile.make()
    let piece = WeatherPattern.bytes(0..<WeatherPattern.period * 16)
    var done = 0
    while done < size {
      let count = min(piece.count, size - done)
      try piece.withUnsafeBytes { bytes in
        try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset + done)
      }
      done += count
    }
    return file
  }

  private func digest(_ method: String, _ body: BodySource) async throws -> String {
    let receiver = Collector()
    let request = HTTPRequest(
      method: method,
      url: weather.url("/digest"),
      body: body,
      deadline: soon()
    )
    _ = try await client.perform(request, receiver: receiver)
    return receiver.text
  }

  @Test func aLargeFileArrivesWhole() async throws {
    let file = try patternFile(size: Self.largeSize, offset: 12_345)
    let range = ByteRange(offset: 12_345, count: Self.largeSize)
    let answer = try await digest("PUT", .file(descriptor: file.number, range: range))
    #expect(answer == "PUT \(Self.largeSize) \(Self.largeDigest)")
  }

  /// Keeps the bytes of a body as they go out.
  private final class Watcher: BodyWatcher {
    private let seen = Lock([UInt8]())
    var bytes: [UInt8] { seen.withLock { $0 } }

    func sent(_ bytes: RawSpan, at offset: Int) {
      seen.withLock { seen in
        seen.removeLast(max(0, seen.count - offset))
        bytes.withUnsafeBytes { seen.append(contentsOf: $0) }
      }
    }
  }

  @Test func bodyIsSeenWholeAndInOrderAsItGoesOut() async throws {
    let size = 3 << 20
    let file = try patternFile(size: size, offset: 5)
    let small = Array("abc".utf8)
    for (body, expected) in [
      (
        BodySource.file(descriptor: file.number, range: ByteRange(offset: 5, count: size)),
        Array(WeatherPattern.bytes(0..<size))
      ), (.bytes(small), small), (.empty, []),
    ] {
      let watcher = Watcher()
      let request = HTTPRequest(
        method: "PUT",
        url: weather.url("/digest"),
        body: body,
        deadline: soon(),
        watcher: watcher
      )
      _ = try await client.perform(request, receiver: Collector())
      #expect(watcher.bytes == expected)
    }
    withExtendedLifetime(file) {}
  }

  @Test(arguments: ["PUT", "POST", "DELETE"])
  func bytesArriveWhole(_ method: String) async throws {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    #expect(try await digest(method, .bytes(Array("abc".utf8))) == "\(method) 3 \(abc)")
  }

  @Test func anEmptyBodyIsSentAsEmpty() async throws {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    for method in ["PUT", "POST", "DELETE"] {
      #expect(try await digest(method, .empty) == "\(method) 0 \(empty)")
    }
  }

  @Test(arguments: ["PUT", "POST"])
  func theHeadSaysTheExactLengthAndNothingUnasked(_ method: String) async throws {
    for (body, length) in [(BodySource.bytes([1, 2, 3]), 3), (.empty, 0)] {
      let receiver = Collector()
      let url = weather.url("/head")
      let request = HTTPRequest(method: method, url: url, body: body, deadline: soon())
      _ = try await client.perform(request, receiver: receiver)
      #expect(
        Set(receiver.text.split(separator: "\r\n")) == [
          "\(method) /head HTTP/1.1", "Host: 127.0.0.1:\(weather.port)", "User-Agent: dipper",
          "Accept: */*", "Content-Length: \(length)",
        ]
      )
    }
  }

  @Test func anAnswerBeforeTheEndOfTheBodyIsTheAnswer() async throws {
    let receiver = Collector()
    let request = HTTPRequest(
      method: "PUT",
      url: weather.url("/early"),
      body: .bytes([UInt8](repeating: 7, count: 16 << 20)),
      deadline: soon()
    )
    let head = try await client.perform(request, receiver: receiver)
    #expect(head.status == 403)
    #expect(receiver.text == "status 403")
  }

  @Test func aConnectionThatWentStaleIsReplacedAndTheBodySentAgain() async throws {
    let file = try patternFile(size: Self.largeSize)
    let range = ByteRange(0, Self.largeSize)
    for connection in 0..<2 {
      let receiver = Collector()
      let request = HTTPRequest(
        method: "PUT",
        url: weather.url("/flaky"),
        body: .file(descriptor: file.number, range: range),
        deadline: soon()
      )
      let head = try await client.perform(request, receiver: receiver)
      #expect(receiver.text == "PUT \(Self.largeSize) \(Self.largeDigest)")
      #expect(head.fields["X-Request"] == "1", "connection \(connection)")
    }
  }

  @Test func aRequestThatWasSentWholeAndNotAnsweredIsNotSentAgain() async throws {
    let request = HTTPRequest(
      method: "PUT",
      url: weather.url("/flaky"),
      body: .bytes(Array("hello".utf8)),
      deadline: soon()
    )
    _ = try await client.perform(request, receiver: Collector())
    // The server may have done it, so whoever asked must find out.
    let error = await #expect(throws: HTTPError.self) {
      try await client.perform(request, receiver: Collector())
    }
    #expect(error?.kind == .interrupted)
  }

  @Test func aFileThatIsTooShortIsReportedAsItself() async throws {
    let file = try patternFile(size: 1000)
    let request = HTTPRequest(
      method: "PUT",
      url: weather.url("/digest"),
      body: .file(descriptor: file.number, range: ByteRange(0, 1001)),
      deadline: soon()
    )
    guard case .refused(let failure) = await client.failure(of: request)?.kind else {
      Issue.record("it was not refused")
      return
    }
    #expect(failure.reason.contains("shorter"))
  }

  @Test func aReadingMethodHasNoBody() async throws {
    let request = HTTPRequest(
      method: "GET",
      url: weather.url("/head"),
      body: .bytes([1]),
      deadline: soon()
    )
    #expect(await client.failure(of: request)?.kind == .invalid)
  }
}
