import Core
import Glibc
import HTTP
import StoreClient
import StoreWire
import Support
import Testing

// Real servers, over the network. `scripts/servers exec swift test` sets what they are found by.
extension Conformer {
  /// The servers that `DIPPER_TEST_SERVERS` names, as `NAME=URL,NAME=URL`; none if it isn't set.
  static let servers: [Conformer] = {
    guard let list = environment("DIPPER_TEST_SERVERS") else { return [] }
    return list.split(separator: ",").compactMap { entry in
      let parts = entry.split(separator: "=", maxSplits: 1).map(String.init)
      return parts.count == 2 ? server(parts[0], url: parts[1]) : nil
    }
  }()

  private static func server(_ name: String, url: String) -> Conformer {
    Conformer(name) { deviations in
      let endpoint = try Endpoint(url)
      let credentials = Credentials(
        accessKey: environment("DIPPER_TEST_ACCESS_KEY") ?? "dipper-test-key",
        secretKey: environment("DIPPER_TEST_SECRET_KEY") ?? "dipper-test-secret"
      )
      let client = try client.get()
      let bucket = "dipper-contract-\(getpid())"
      try await makeBucket(bucket, at: endpoint, credentials, client)
      return ObjectStoreContract.Setting(
        store: try RemoteStore(
          bucket: bucket,
          settings: StoreSettings(endpoint: endpoint, region: "us-east-1"),
          credentials: CredentialChain([FixedCredentials(credentials)]),
          surroundings: RemoteStore.Surroundings(client: client)
        ),
        prefix: "claim-\(UInt64.random(in: 0 ... .max))/",
        deviations: deviations,
        // Few retries, because some answer 500 to what can't succeed.
        context: RequestContext(deadline: SystemClock().now + .seconds(120), retryCountMax: 2)
      )
    }
  }

  private static let client = Result { () throws(HTTPError) in try CurlClient() }

  /// Makes a bucket, or finds it made by another claim.
  private static func makeBucket(
    _ name: String,
    at endpoint: Endpoint,
    _ credentials: Credentials,
    _ client: CurlClient
  ) async throws {
    let request = WireRequest(.headBucket, .put)
    let target = endpoint.target(of: request, bucket: name)
    let fields = Signer(dialect: .s3, region: "us-east-1")
      .fields(of: request, to: target, credentials: credentials, at: SystemClock().wallTime)
    let head = try await client.perform(
      HTTPRequest(
        method: "PUT",
        url: target.url,
        fields: fields,
        deadline: SystemClock().now + .seconds(30)
      ),
      receiver: Discard()
    )
    #expect(head.status == 200 || head.status == 409, "the bucket can't be made")
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
