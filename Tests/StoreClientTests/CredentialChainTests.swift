import Core
import HTTP
import StoreWire
import Support
import Testing

@testable import StoreClient

@Suite struct CredentialChainTests {
  private static let listing = ScriptedAnswer.answer(
    200,
    text: "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
  )

  /// A source that gives what it is told, after a gate has opened.
  private final class SlowSource: CredentialSource {
    let gate = Gate()
    private let results: Lock<[Result<Identity?, ConfigurationError>]>
    private let looks = Lock(0)

    init(_ results: [Result<Identity?, ConfigurationError>]) {
      self.results = Lock(results)
    }

    var place: String { "the slow place" }
    var remedy: String { "wait" }
    var lookCount: Int { looks.withLock { $0 } }

    func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
      let index = looks.withLock { count in
        count += 1
        return count - 1
      }
      await gate.wait()
      let identity = try results.withLock { $0[min(index, $0.count - 1)] }.get()
      return identity.map { .found($0) } ?? .nothing
    }
  }

  private static func keys(_ id: String) -> Identity {
    .keys(Credentials(accessKey: id, secretKey: "s"))
  }

  @Test func manyCallersShareOneLook() async throws {
    let source = SlowSource([.success(Self.keys("A"))])
    let chain = CredentialChain([source])
    let found = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<50 {
        group.addTask { (try? await chain.identity())?.credentials?.accessKey }
      }
      group.addTask {
        source.gate.open()
        return nil
      }
      return await group.reduce(into: [String?]()) { $0.append($1) }
    }
    #expect(found.count { $0 == "A" } == 50)
    #expect(source.lookCount == 1)
  }

  @Test func lookIsWaitedForUntilTheDeadlineAndGoesOn() async throws {
    let source = SlowSource([.success(Self.keys("A"))])
    let chain = CredentialChain([source])
    let clock = SystemClock()
    do throws(ConfigurationError) {
      _ = try await chain.identity(by: clock.now + .milliseconds(50))
      Issue.record("there was nothing to find")
    } catch {
      #expect(error.description.contains("still looking in: the slow place"))
    }
    source.gate.open()
    #expect(try await chain.identity() == Self.keys("A"))
    #expect(source.lookCount == 1)
  }

  @Test func allSourcesHaveOneMinuteTogether() async throws {
    /// Finds nothing for half a minute, and remembers until when it might have looked.
    final class EmptySource: CredentialSource {
      let time: ManualTime
      let deadlines = Lock<[Instant]>([])

      init(_ time: ManualTime) { self.time = time }

      var place: String { "an empty place" }
      var remedy: String { "none" }

      func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
        deadlines.withLock { $0.append(deadline) }
        time.advance(by: .seconds(30))
        return .nothing
      }
    }
    let time = ManualTime()
    let source = EmptySource(time)
    let end = time.now + .seconds(60)
    let chain = CredentialChain(
      [source, source],
      surroundings: CredentialChain.Surroundings(time: time)
    )
    await #expect(throws: ConfigurationError.self) { _ = try await chain.identity() }
    #expect(source.deadlines.withLock { $0 } == [end, end])
  }

  @Test func cancelledCallerDoesNotWait() async {
    let source = SlowSource([.success(Self.keys("A"))])
    let chain = CredentialChain([source])
    let caller = Task { try? await chain.identity() }
    caller.cancel()
    #expect(await caller.value == nil)
    source.gate.open()
  }

  @Test func callOutOfTimeForCredentialsIsTimedOut() async throws {
    let source = SlowSource([.success(Self.keys("A"))])
    let clock = Lock<ManualTime?>(nil)
    let bench = try Bench(
      [Self.listing],
      credentials: CredentialChain(
        [source],
        surroundings: CredentialChain.Surroundings(
          sleep: { deadline in await clock.withLock { $0 }?.sleep(until: deadline) }
        )
      )
    )
    clock.withLock { $0 = bench.time }
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.kind == .timedOut)
    #expect(bench.client.requests.isEmpty)
    source.gate.open()
  }

  // A store whose credentials come from the instance, with a clock that runs

  /// A store that refuses what has expired, and an instance that has new credentials each minute.
  private func rotating(
    isUp: @escaping @Sendable (Timestamp) -> Bool = { _ in true }
  ) throws -> (Bench, CredentialBench) {
    let clock = Lock<ManualTime?>(nil)
    let source = CredentialBench { request, _ in
      let now = clock.withLock { $0?.wallTime } ?? Timestamp(seconds: 0)
      guard isUp(now) else { return .failure(.unreachable) }
      if request.method == "PUT" { return .answer(200, text: "T") }
      if request.url.hasSuffix("/") { return .answer(200, text: "role") }
      let end = Timestamp(seconds: now.seconds / 60 * 60 + 120)
      return CredentialBench.document(id: "ASIA\(end.seconds)", expiration: end.iso8601)
    }
    clock.withLock { $0 = source.time }
    let store = try Bench(credentials: source.chain([:])) { request, _ in
      let id = request.fields["Authorization"]?.split(separator: "ASIA").dropFirst().first
        .flatMap { Int($0.prefix { $0.isNumber }) }
      guard let end = id, source.time.wallTime.seconds < end else {
        return .error(400, "ExpiredToken")
      }
      return Self.listing
    }
    return (store, source)
  }

  private func list(_ bench: Bench) async throws(StoreError) {
    _ = try await bench.store.list(
      ListRequest(prefix: ObjectKey(""), isDelimited: false),
      context: bench.context(retries: 0)
    )
  }

  @Test func rotationIsNotNoticed() async throws {
    let (store, source) = try rotating()
    for _ in 0..<200 {
      try await list(store)
      source.time.advance(by: .seconds(7))
    }
    // No request was refused, and there were about as many looks as rotations.
    #expect(store.client.requests.count == 200)
    #expect(source.client.requests.count < 3 * 60)
  }

  @Test func serviceThatIsDownForAWhileIsNotNoticed() async throws {
    let (store, source) = try rotating { now in (now.seconds + 300) % 600 > 50 }
    for _ in 0..<300 {
      try await list(store)
      source.time.advance(by: .seconds(5))
    }
    #expect(store.client.requests.count == 300)
  }

  @Test func serviceThatStaysDownIsAnErrorThatSaysWhen() async throws {
    let end = ManualTime().wallTime.seconds + 100
    let (store, source) = try rotating { now in now.seconds < end }
    try await list(store)
    source.time.advance(by: .seconds(200))
    let error = await Bench.failure { () throws(StoreError) in try await list(store) }
    #expect(error?.kind == .badCredentials)
    let message = error?.message ?? ""
    for words in ["the credentials expired at 2026-11-30T08:3", "instance metadata", "its role"] {
      #expect(message.contains(words), "\(message)")
    }
    #expect(store.client.requests.count == 1)
  }

  @Test func expiredTokenFromTheStoreForcesOneLook() async throws {
    let source = SlowSource([.success(Self.keys("OLD")), .success(Self.keys("NEW"))])
    source.gate.open()
    let bench = try Bench(credentials: CredentialChain([source])) { request, _ in
      request.fields["Authorization"]?.contains("OLD") == true
        ? .error(400, "ExpiredToken") : Self.listing
    }
    try await list(bench)
    #expect(bench.client.requests.count == 2)
    #expect(source.lookCount == 2)
  }

  @Test func descriptionsOfSourcesKeepSecrets() {
    let bench = CredentialBench()
    var text = ""
    dump(
      ContainerCredentials(
        ["AWS_CONTAINER_AUTHORIZATION_TOKEN": "AGENTTOKEN"],
        services: bench.services
      ),
      to: &text
    )
    dump(
      ProgramCredentials(command: "x --password hidden", owner: "o", services: bench.services),
      to: &text
    )
    #expect(!text.contains("AGENTTOKEN") && !text.contains("hidden"))
  }
}
