import Core
import HTTP
import StoreClient
import StoreWire
import Support

/// A store on a scripted network, with a clock that moves only when somebody waits.
struct Bench {
  static let keys = Credentials(accessKey: "AKID", secretKey: "secret-of-the-tests")

  let time = ManualTime()
  let client: ScriptedClient
  let metrics = Metrics()
  let store: RemoteStore

  /// A store that gets these answers in order, the last one again and again.
  init(
    _ answers: [ScriptedAnswer],
    credentials: CredentialChain = CredentialChain([FixedCredentials(keys)]),
    settings: StoreSettings? = nil
  ) throws {
    try self.init(credentials: credentials, settings: settings) { _, index in
      answers[min(index, answers.count - 1)]
    }
  }

  /// A store that gets the answers that `script` gives.
  init(
    credentials: CredentialChain = CredentialChain([FixedCredentials(keys)]),
    settings: StoreSettings? = nil,
    script: @escaping ScriptedClient.Script
  ) throws {
    let time = time
    client = ScriptedClient(time: time, script: script)
    store = try RemoteStore(
      bucket: "data",
      settings: settings
        ?? StoreSettings(endpoint: Endpoint("http://127.0.0.1:9000"), region: "us-east-1"),
      credentials: credentials,
      surroundings: RemoteStore.Surroundings(
        client: client,
        time: time,
        sleep: { await time.sleep(until: $0) },
        random: { 1 },
        metrics: metrics,
        log: Log(level: .error)
      )
    )
  }

  /// Settings of a store that speaks TOS's own protocol.
  static func tos(_ endpoint: String = "http://127.0.0.1:9000") throws -> StoreSettings {
    StoreSettings(endpoint: try Endpoint(endpoint), region: "cn-beijing", dialect: .tos)
  }

  /// A context that leaves `seconds` from now.
  func context(_ seconds: Int = 60, retries: Int? = nil) -> RequestContext {
    RequestContext(deadline: time.now + .seconds(seconds), retryCountMax: retries)
  }

  /// The `Range` field of every request so far.
  var ranges: [String?] { client.requests.map { $0.fields["Range"] } }

  /// The method of every request so far.
  var methods: [String] { client.requests.map(\.method) }

  /// Runs `body`, which must fail, and returns how.
  static func failure<Answer>(
    _ body: () async throws(StoreError) -> Answer
  ) async -> StoreError? {
    do throws(StoreError) {
      _ = try await body()
      return nil
    } catch {
      return error
    }
  }
}

/// An object and the answers of a store that behaves.
struct SampleObject {
  var key = ObjectKey("a/b.bin")
  var bytes: [UInt8] = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 256) }
  var etag = "\"v1\""
  var lastModified = "Mon, 30 Nov 2026 08:00:00 GMT"

  /// The right answer to a request for `range`.
  func part(
    _ range: Range<Int>,
    status: Int = 206,
    contentRange: String? = nil,
    total: Int? = nil,
    etag: String? = nil
  ) -> ScriptedAnswer {
    .answer(
      status,
      [
        "Content-Range":
          contentRange
          ?? "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total ?? bytes.count)",
        "ETag": etag ?? self.etag,
        "Last-Modified": lastModified,
        "Content-Type": "text/plain",
      ],
      Array(bytes[range])
    )
  }

  /// Answers a request by its `Range` field, as a store does.
  func part(for request: HTTPRequest) -> ScriptedAnswer {
    let bounds = (request.fields["Range"] ?? "").dropFirst("bytes=".count).split(separator: "-")
    guard bounds.count == 2, let first = Int(bounds[0]), let last = Int(bounds[1]) else {
      return .error(400, "InvalidRange")
    }
    return part(first..<last + 1)
  }

  /// A request for `range` of this version.
  func get(_ range: Range<Int>) -> GetRequest {
    GetRequest(
      key: key,
      range: ByteRange(range.lowerBound, range.upperBound),
      ifMatch: ETag(etag),
      objectSize: bytes.count
    )
  }
}

/// Files in a dictionary, which a test may change.
final class MemoryFiles: FileReader {
  private let files: Lock<[String: String]>
  private let areOpenToOthers: Bool

  init(_ files: [String: String], areOpenToOthers: Bool = false) {
    self.files = Lock(files)
    self.areOpenToOthers = areOpenToOthers
  }

  func write(_ text: String, to path: String) {
    files.withLock { $0[path] = text }
  }

  func contents(of path: String) -> FileContents? {
    files.withLock {
      $0[path].map { FileContents(Array($0.utf8), isOpenToOthers: areOpenToOthers) }
    }
  }
}
