import Core
import HTTP
import StoreClient
import StoreWire
import Support
import Testing

@Suite struct CallTests {
  let object = SampleObject()

  private static let head = ScriptedAnswer.answer(
    200,
    ["ETag": "\"v1\"", "Content-Length": "1000", "Last-Modified": "Mon, 30 Nov 2026 08:00:00 GMT"]
  )

  private func head(
    _ bench: Bench,
    _ context: RequestContext? = nil
  ) async throws(StoreError)
    -> ObjectMetadata
  {
    try await bench.store.head(
      object.key,
      versionID: nil,
      ifMatch: nil,
      context: context ?? bench.context()
    )
  }

  @Test(arguments: [
    ScriptedAnswer.error(503, "SlowDown"), .error(500, "InternalError"), .answer(502),
    .answer(504), .error(429, "TooManyRequests"), .failure(.unreachable), .failure(.interrupted),
    .failure(.stalled), .error(408, "RequestTimeout"), .answer(503),
  ])
  func passingFaultIsTriedAgain(_ fault: ScriptedAnswer) async throws {
    let bench = try Bench([fault, fault, fault, Self.head])
    let metadata = try await head(bench)
    #expect(metadata.size == 1000)
    #expect(bench.client.requests.count == 4)
    // Full jitter with the dice at their highest: the bounds themselves.
    #expect(bench.time.sleeps == [.milliseconds(100), .milliseconds(200), .milliseconds(400)])
    #expect(bench.metrics.snapshot.requests[.headObject] == 4)
    #expect(bench.metrics.snapshot.retryCount == 3)
  }

  @Test func passingConflictIsTriedAgain() async throws {
    let bench = try Bench([.error(409, "OperationAborted"), .answer(204)])
    try await bench.store.delete(object.key, ifMatch: nil, context: bench.context())
    #expect(bench.client.requests.count == 2)
  }

  @Test func retryAfterIsObeyed() async throws {
    let bench = try Bench([.error(429, "SlowDown", ["Retry-After": "7"]), Self.head])
    _ = try await head(bench)
    #expect(bench.time.sleeps == [.seconds(7)])
  }

  @Test func retryAfterBeyondTheDeadlineEndsAtOnce() async throws {
    let bench = try Bench([.error(503, "SlowDown", ["Retry-After": "3600"])])
    let error = await Bench.failure { () throws(StoreError) in try await head(bench) }
    #expect(error?.kind == .timedOut)
    #expect(error?.code == nil || error?.code == "SlowDown")
    #expect(bench.time.sleeps == [])
  }

  @Test func deadlineEndsTheTriesAndSaysWhy() async throws {
    let bench = try Bench([.error(503, "SlowDown", extra: "")])
    let start = bench.time.now
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.list(
        ListRequest(prefix: ObjectKey(""), isDelimited: false),
        context: bench.context(60)
      )
    }
    #expect(error?.kind == .timedOut)
    #expect(error?.code == "SlowDown")
    #expect(error?.message.contains("scripted") == true)
    #expect(error?.operation == .listObjects)
    #expect(bench.time.now - start <= .seconds(60))
    #expect(bench.client.requests.count > 5)
  }

  @Test func slowAnswerPastTheDeadlineIsTimedOut() async throws {
    let bench = try Bench([Self.head.lasting(.seconds(61))])
    let error = await Bench.failure { () throws(StoreError) in try await head(bench) }
    #expect(error?.kind == .timedOut)
    #expect(bench.client.requests.count == 1)
  }

  @Test func zeroRetriesMeansOneTry() async throws {
    let bench = try Bench([.error(503, "SlowDown")])
    let error = await Bench.failure { () throws(StoreError) in
      try await head(bench, bench.context(retries: 0))
    }
    #expect(error?.kind == .throttled)
    #expect(bench.client.requests.count == 1)
    #expect(bench.time.sleeps == [])
  }

  @Test func exhaustedRetriesKeepTheReason() async throws {
    let bench = try Bench([.failure(.interrupted)])
    let error = await Bench.failure { () throws(StoreError) in
      try await head(bench, bench.context(retries: 2))
    }
    #expect(error?.kind == .unreachable)
    #expect(error?.message.contains("3 tries") == true)
    #expect(bench.client.requests.count == 3)
  }

  @Test func untrustedCertificateIsFinal() async throws {
    let bench = try Bench([.failure(.untrusted)])
    let error = await Bench.failure { () throws(StoreError) in try await head(bench) }
    #expect(error?.kind == .untrusted)
    #expect(bench.client.requests.count == 1)
  }

  @Test func nthFailureLoopEnds() async throws {
    // The n-th request fails, for n = 1, 2, 3 ... until the run completes without a failure.
    for failing in 0..<4 {
      let bench = try Bench { _, index in index == failing ? .failure(.interrupted) : Self.head }
      for _ in 0..<3 { _ = try await head(bench) }
      #expect(bench.client.requests.count == (failing < 3 ? 4 : 3))
    }
  }

  @Test func cancellationEndsTheWaitAtOnce() async throws {
    // Real clocks: the store asks for an hour, the caller gives up as soon as it waits.
    let time = ManualTime()
    let asked = Gate()
    let client = ScriptedClient(time: time) { _, _ in
      asked.open()
      return .error(503, "SlowDown", ["Retry-After": "3600"])
    }
    let store = try RemoteStore(
      bucket: "data",
      settings: StoreSettings(endpoint: Endpoint("http://127.0.0.1:9000"), region: "us-east-1"),
      credentials: CredentialChain([AnonymousCredentials()]),
      surroundings: RemoteStore.Surroundings(client: client, log: Log(level: .error))
    )
    let key = object.key
    let task = Task { () async -> StoreError? in
      await Bench.failure { () throws(StoreError) in
        try await store.head(
          key,
          versionID: nil,
          ifMatch: nil,
          context: RequestContext(deadline: SystemClock().now + .seconds(7200))
        )
      }
    }
    await asked.wait()
    task.cancel()
    #expect(await task.value?.kind == .cancelled)
    #expect(client.requests.count == 1)
  }

  @Test func cancelledTaskSendsNothing() async throws {
    let bench = try Bench([Self.head])
    let context = bench.context()
    let key = object.key
    let gate = Gate()
    let task = Task { () async -> StoreError? in
      await gate.wait()
      return await Bench.failure { () throws(StoreError) in
        try await bench.store.head(key, versionID: nil, ifMatch: nil, context: context)
      }
    }
    task.cancel()
    gate.open()
    #expect(await task.value?.kind == .cancelled)
    #expect(bench.client.requests.isEmpty)
  }

  @Test func headChecksTheVersionItself() async throws {
    let bench = try Bench([Self.head])
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.head(
        object.key,
        versionID: nil,
        ifMatch: ETag("v0"),
        context: bench.context()
      )
    }
    #expect(error?.kind == .preconditionFailed)
  }

  private func head(
    versionID: String,
    _ answer: ScriptedAnswer
  ) async throws -> Result<ObjectMetadata, StoreError> {
    let bench = try Bench([answer])
    do throws(StoreError) {
      return .success(
        try await bench.store.head(
          object.key,
          versionID: versionID,
          ifMatch: nil,
          context: bench.context()
        )
      )
    } catch {
      return .failure(error)
    }
  }

  private static func head(answeredVersion: String?) -> ScriptedAnswer {
    var answer = head
    answer.fields["x-amz-version-id"] = answeredVersion
    return answer
  }

  @Test(arguments: [("A", "A"), ("null", "null"), ("null", nil)] as [(String, String?)])
  func aVersionThatTheStoreAnswersWithIsTaken(asked: String, answered: String?) async throws {
    let result = try await head(versionID: asked, Self.head(answeredVersion: answered))
    #expect(try result.get().size == 1000)
  }

  @Test(
    arguments: [
      ("A", nil, .unsupported), ("A", "B", .preconditionFailed), ("null", "B", .preconditionFailed),
      ("A", "null", .unsupported),
    ] as [(String, String?, StoreError.Kind)]
  )
  func aVersionThatTheStoreDoesNotAnswerWithIsNotTaken(
    asked: String,
    answered: String?,
    kind: StoreError.Kind
  ) async throws {
    let result = try await head(versionID: asked, Self.head(answeredVersion: answered))
    #expect(throws: StoreError.self) { try result.get() }
    guard case .failure(let error) = result else { return }
    #expect(error.kind == kind)
  }

  @Test func aRefusalWithoutAReasonNamesTheVersionThatWasAskedFor() async throws {
    let result = try await head(versionID: "no-id", .answer(400))
    #expect(throws: StoreError.self) { try result.get() }
    guard case .failure(let error) = result else { return }
    #expect(error.message.contains("\"no-id\" is no id of a version"))
  }
}
