import Core
import Glibc
import HTTP
import StoreClient
import StoreWire
import Support

extension Conformer {
  /// The servers that `scripts/servers` has started; none without it.
  static let remote: [Conformer] = TestServer.all.map { server in
    Conformer(server.name) { deviations in
      ObjectStoreContract.Setting(
        store: try await server.store(),
        // Unlike any other run's, because SeaweedFS keeps its prefixes for a while.
        prefix: "\(UInt64.random(in: 0...UInt64.max))/",
        deviations: deviations,
        context: RequestContext(deadline: SystemClock().now + .seconds(120))
      )
    }
  }
}

/// An S3 server on this machine, and a bucket in it.
final class TestServer: Sendable {
  let name: String
  private let endpoint: Endpoint
  private let keys: Credentials
  private let bucket = "contract-\(UInt64.random(in: 0...UInt64.max))"
  /// Makes the bucket once; all claims wait for it.
  private let client: Task<CurlClient, any Error>

  /// The servers that the environment names as `moto=URL,seaweedfs=URL`.
  static let all: [TestServer] = {
    guard let servers = variable("DIPPER_TEST_SERVERS"),
      let id = variable("DIPPER_TEST_ACCESS_KEY"),
      let secret = variable("DIPPER_TEST_SECRET_KEY")
    else { return [] }
    let keys = Credentials(accessKey: id, secretKey: secret)
    return servers.split(separator: ",").compactMap { server in
      let words = server.split(separator: "=", maxSplits: 1)
      guard words.count == 2, let endpoint = try? Endpoint(String(words[1])) else { return nil }
      return TestServer(name: String(words[0]), endpoint: endpoint, keys: keys)
    }
  }()

  private init(name: String, endpoint: Endpoint, keys: Credentials) {
    self.name = name
    self.endpoint = endpoint
    self.keys = keys
    let bucket = bucket
    client = Task {
      let client = try CurlClient()
      // The seam has no operation for it: buckets are made by their owners.
      let request = WireRequest(.headBucket, .put)
      let target = endpoint.target(of: request, bucket: bucket)
      let head = try await client.perform(
        HTTPRequest(
          method: "PUT",
          url: target.url,
          fields: Signer(dialect: .s3, region: "us-east-1")
            .fields(of: request, to: target, credentials: keys, at: SystemClock().wallTime),
          deadline: SystemClock().now + .seconds(60)
        ),
        receiver: Discarding()
      )
      guard head.status == 200 else {
        throw StoreError(.invalidAnswer, .headBucket, status: head.status, message: "no bucket")
      }
      return client
    }
  }

  /// Returns a store of the bucket.
  func store() async throws -> RemoteStore {
    try RemoteStore(
      bucket: bucket,
      settings: StoreSettings(endpoint: endpoint, region: "us-east-1"),
      credentials: CredentialChain([FixedCredentials(keys)]),
      surroundings: RemoteStore.Surroundings(client: try await client.value)
    )
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}

/// Takes an answer whose status is all that matters.
private final class Discarding: HTTPReceiver {
  func receive(head: HTTPResponseHead) -> Bool { true }

  func receive(body: RawSpan) {}
}
