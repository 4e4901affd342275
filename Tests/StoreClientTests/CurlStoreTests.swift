import Core
import HTTP
import Simulation
import StoreClient
import StoreWire
import Support
import Testing

/// The store on the real transport, against a server whose keys are kinds of weather.
@Suite struct CurlStoreTests {
  private func store(isSecure: Bool = false, trusts: Bool = true) async throws -> RemoteStore {
    let server = try await WeatherServer.shared
    var configuration = CurlClient.Configuration()
    if trusts { configuration.certificateAuthorityFile = server.certificate }
    let url =
      isSecure
      ? "https://localhost:\(server.securePort)" : "http://localhost:\(server.port)"
    return try RemoteStore(
      bucket: "data",
      settings: StoreSettings(
        endpoint: Endpoint(url, addressing: isSecure ? .path : .virtualHost),
        region: "us-east-1"
      ),
      credentials: CredentialChain([FixedCredentials(Bench.keys)]),
      surroundings: RemoteStore.Surroundings(
        client: CurlClient(configuration),
        log: Log(level: .error)
      )
    )
  }

  private func context(_ duration: Duration, retries: Int? = nil) -> RequestContext {
    RequestContext(deadline: SystemClock().now + duration, retryCountMax: retries)
  }

  private func request(_ key: String, _ range: Range<Int>, size: Int?) -> GetRequest {
    GetRequest(
      key: ObjectKey(key),
      range: ByteRange(range.lowerBound, range.upperBound),
      ifMatch: nil,
      objectSize: size
    )
  }

  @Test func rangeArrives() async throws {
    let sink = CollectingSink()
    let answer = try await store().get(
      request("bytes", 10..<900, size: 1000),
      into: sink,
      context: context(.seconds(60))
    )
    #expect(sink.bytes == WeatherPattern.bytes(10..<900))
    #expect(answer.metadata.version.etag == ETag("weather"))
    #expect(answer.retryCount == 0)
  }

  @Test func resetsInTheBodyAreReadThrough() async throws {
    let sink = CollectingSink()
    let answer = try await store().get(
      request("dropping", 5..<99_995, size: 100_000),
      into: sink,
      context: context(.seconds(60), retries: 1)
    )
    #expect(sink.isContiguous)
    #expect(sink.bytes == WeatherPattern.bytes(5..<99_995))
    #expect(answer.retryCount >= 3)
  }

  @Test func bodyThatNeverComesIsUnreachable() async throws {
    let store = try await store()
    let sink = CollectingSink()
    let error = await Bench.failure { () throws(StoreError) in
      try await store.get(
        request("broken", 0..<1000, size: nil),
        into: sink,
        context: context(.seconds(60), retries: 1)
      )
    }
    #expect(error?.kind == .unreachable)
    #expect(sink.bytes == [])
  }

  @Test func bytesOfTheNextAnswerAreNotTaken() async throws {
    let sink = CollectingSink()
    _ = try? await store().get(
      request("longer", 0..<1000, size: nil),
      into: sink,
      context: context(.seconds(60), retries: 0)
    )
    #expect(sink.bytes == Array(WeatherPattern.bytes(0..<1000).prefix(sink.bytes.count)))
  }

  @Test func chunkedWholeObjectIsNotARange() async throws {
    let store = try await store()
    let sink = CollectingSink()
    let error = await Bench.failure { () throws(StoreError) in
      try await store.get(
        request("chunked", 0..<1000, size: nil),
        into: sink,
        context: context(.seconds(60), retries: 0)
      )
    }
    #expect(error?.kind == .invalidAnswer)
    #expect(sink.bytes == [])
  }

  @Test func silenceEndsByTheDeadline() async throws {
    let store = try await store()
    let error = await Bench.failure { () throws(StoreError) in
      try await store.head(
        ObjectKey("silent"),
        versionID: nil,
        ifMatch: nil,
        context: context(.milliseconds(300))
      )
    }
    #expect(error?.kind == .timedOut)
  }

  @Test func cancellingEndsASilentCall() async throws {
    let store = try await store()
    let context = context(.seconds(3600))
    let task = Task { () async -> StoreError? in
      await Bench.failure { () throws(StoreError) in
        try await store.head(ObjectKey("silent"), versionID: nil, ifMatch: nil, context: context)
      }
    }
    task.cancel()
    #expect(await task.value?.kind == .cancelled)
  }

  @Test func nobodyListeningIsUnreachable() async throws {
    let store = try RemoteStore(
      bucket: "data",
      settings: StoreSettings(endpoint: Endpoint("http://127.0.0.1:1"), region: "us-east-1"),
      credentials: CredentialChain([AnonymousCredentials()]),
      surroundings: RemoteStore.Surroundings(client: CurlClient(), log: Log(level: .error))
    )
    let error = await Bench.failure { () throws(StoreError) in
      try await store.probe(context: context(.seconds(60), retries: 0))
    }
    #expect(error?.kind == .unreachable)
  }

  @Test func untrustedCertificateIsNamed() async throws {
    let store = try await store(isSecure: true, trusts: false)
    let error = await Bench.failure { () throws(StoreError) in
      try await store.probe(context: context(.seconds(60)))
    }
    #expect(error?.kind == .untrusted)
  }
}
