import Core
import Glibc
import HTTP
import StoreClient
import StoreWire
import Support
import Testing

// Real servers, over the network. `scripts/servers exec swift test` sets what they are found by.
extension Conformer {
  /// The servers that the environment names: those that speak S3, and in front of each a gateway that
  /// speaks TOS, for flat and for hierarchical buckets; none if it names none.
  static let servers: [Conformer] =
    named("DIPPER_TEST_SERVERS").map(s3)
    + named("DIPPER_TEST_TOS_SERVERS").flatMap { name, url in
      [tos("tos-\(name)", url: url, type: "fns"), tos("tos-\(name)-tree", url: url, type: "hns")]
    }

  /// Reads `NAME=URL,NAME=URL`.
  private static func named(_ variable: String) -> [(String, String)] {
    (environment(variable) ?? "").split(separator: ",").compactMap { entry in
      let parts = entry.split(separator: "=", maxSplits: 1).map(String.init)
      return parts.count == 2 ? (parts[0], parts[1]) : nil
    }
  }

  private static let credentials = Credentials(
    accessKey: environment("DIPPER_TEST_ACCESS_KEY") ?? "dipper-test-key",
    secretKey: environment("DIPPER_TEST_SECRET_KEY") ?? "dipper-test-secret"
  )

  private static func s3(_ name: String, url: String) -> Conformer {
    Conformer(name) { deviations in
      let settings = StoreSettings(endpoint: try Endpoint(url), region: "us-east-1")
      let bucket = "dipper-contract-\(getpid())"
      try await makeBucket(bucket, at: settings.endpoint, try client.get())
      return try setting(bucket, settings, deviations)
    }
  }

  private static func tos(_ name: String, url: String, type: String) -> Conformer {
    Conformer(name) { deviations in
      let settings = StoreSettings(
        endpoint: try Endpoint(url),
        region: environment("DIPPER_TEST_TOS_REGION") ?? "cn-beijing",
        dialect: .tos
      )
      let bucket = "dipper-contract-\(type)-\(getpid())"
      let facts = #"{"type":"\#(type)","rename":true,"trash":".Trash/"}"#
      let status = try await ask(
        "PUT",
        "\(url)/-/buckets/\(bucket)",
        body: Array(facts.utf8),
        try client.get()
      )
      #expect((200..<300).contains(status), "the bucket can't be made")
      let setting = try setting(bucket, settings, deviations)
      try await setting.store.probe(context: setting.context)
      return setting
    }
  }

  private static func setting(
    _ bucket: String,
    _ settings: StoreSettings,
    _ deviations: Set<Deviation>
  ) throws -> ObjectStoreContract.Setting {
    ObjectStoreContract.Setting(
      store: try RemoteStore(
        bucket: bucket,
        settings: settings,
        credentials: CredentialChain([FixedCredentials(credentials)]),
        surroundings: RemoteStore.Surroundings(client: try client.get())
      ),
      prefix: "claim-\(UInt64.random(in: 0 ... .max))/",
      deviations: deviations,
      // Few retries, because some answer 500 to what can't succeed.
      context: RequestContext(deadline: SystemClock().now + .seconds(600), retryCountMax: 2)
    )
  }

  private static let client = Result { () throws(HTTPError) in try CurlClient() }

  /// Makes a bucket, or finds it made by another claim.
  private static func makeBucket(
    _ name: String,
    at endpoint: Endpoint,
    _ client: CurlClient
  ) async throws {
    let request = WireRequest(.headBucket, .put)
    let target = endpoint.target(of: request, bucket: name)
    let fields = Signer(dialect: .s3, region: "us-east-1")
      .fields(of: request, to: target, credentials: credentials, at: SystemClock().wallTime)
    let status = try await ask("PUT", target.url, fields: fields, client)
    #expect(status == 200 || status == 409, "the bucket can't be made")
  }

  /// Sends a request whose answer is only its status.
  private static func ask(
    _ method: String,
    _ url: String,
    fields: HeaderFields = HeaderFields(),
    body: [UInt8] = [],
    _ client: CurlClient
  ) async throws -> Int {
    try await client.perform(
      HTTPRequest(
        method: method,
        url: url,
        fields: fields,
        body: .bytes(body),
        deadline: SystemClock().now + .seconds(300)
      ),
      receiver: Discard()
    ).status
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Takes an answer that nobody reads.
  private final class Discard: HTTPReceiver {
    func receive(head: HTTPResponseHead) -> Bool { true }
    func receive(body: RawSpan) throws(DiskFailure) {}
  }
}
