import Core
import HTTP
import Simulation
import StoreClient
import Support
import Testing

@Suite struct GetResumeTests {
  let object = SampleObject()

  @Test(arguments: [HTTPError.Kind.interrupted, .stalled, .timedOut])
  func brokenBodyGoesOnBehindTheLastByte(_ kind: HTTPError.Kind) async throws {
    let bench = try Bench([
      object.part(100..<300).cut(after: 70, kind), object.part(170..<300),
    ])
    let sink = CollectingSink()
    let answer = try await bench.store.get(
      object.get(100..<300),
      into: sink,
      context: bench.context()
    )
    #expect(bench.ranges == ["bytes=100-299", "bytes=170-299"])
    #expect(bench.client.requests[1].fields["If-Match"] == "\"v1\"")
    #expect(sink.bytes == Array(object.bytes[100..<300]))
    #expect(sink.isContiguous)
    #expect(answer.retryCount == 1)
    #expect(bench.metrics.snapshot.receivedByteCount == 200)
    #expect(bench.metrics.snapshot.retryCount == 1)
  }

  @Test func shortBodyWithoutLengthGoesOn() async throws {
    var short = object.part(0..<1000)
    short.body = Array(short.body.prefix(400))
    short.fields["Content-Length"] = nil
    let bench = try Bench([short, object.part(400..<1000)])
    let sink = CollectingSink()
    _ = try await bench.store.get(object.get(0..<1000), into: sink, context: bench.context())
    #expect(bench.ranges == ["bytes=0-999", "bytes=400-999"])
    #expect(sink.bytes == object.bytes)
  }

  @Test func failureAfterTheLastByteDoesNotMatter() async throws {
    let bench = try Bench([object.part(0..<1000).cut(after: 1000)])
    let sink = CollectingSink()
    _ = try await bench.store.get(object.get(0..<1000), into: sink, context: bench.context())
    #expect(sink.bytes == object.bytes)
    #expect(bench.client.requests.count == 1)
  }

  @Test func aVersionWithoutATagIsToldByItsTime() async throws {
    var answer = object.part(0..<1000)
    answer.fields["ETag"] = nil
    answer.fields["Last-Modified"] = "Mon, 02 Nov 2026 08:00:00 GMT"
    let time = CalendarTime(year: 2026, month: 11, day: 2, hour: 8, minute: 0, second: 0).timestamp
    for (lastModified, isSame) in [(time, true), (Timestamp(seconds: time.seconds - 10), false)] {
      let bench = try Bench([answer])
      let sink = CollectingSink()
      let version = ObjectVersion(
        key: object.key,
        etag: nil,
        size: 1000,
        lastModified: lastModified
      )
      let request = GetRequest(version: version, range: ByteRange(0, 1000))
      let error = await Bench.failure { () throws(StoreError) in
        try await bench.store.get(request, into: sink, context: bench.context())
      }
      #expect(error?.kind == (isSame ? nil : .preconditionFailed))
      #expect(sink.bytes == (isSame ? object.bytes : []))
    }
  }

  @Test func resumedReadHoldsOnToTheFirstAnswersVersion() async throws {
    let bench = try Bench([
      object.part(0..<1000).cut(after: 10), object.part(10..<1000, etag: "\"v2\""),
    ])
    let sink = CollectingSink()
    let request = GetRequest(key: object.key, range: ByteRange(0, 1000), ifMatch: nil)
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(request, into: sink, context: bench.context())
    }
    #expect(bench.client.requests[0].fields["If-Match"] == nil)
    #expect(bench.client.requests[1].fields["If-Match"] == "\"v1\"")
    #expect(error?.kind == .preconditionFailed)
    #expect(sink.bytes == Array(object.bytes.prefix(10)))
  }

  @Test func resumedReadHoldsOnToTheFirstAnswersSize() async throws {
    let bench = try Bench([
      object.part(0..<500).cut(after: 10), object.part(10..<500, total: 1001),
    ])
    let sink = CollectingSink()
    let request = GetRequest(key: object.key, range: ByteRange(0, 500), ifMatch: nil)
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(request, into: sink, context: bench.context())
    }
    #expect(error?.kind == .invalidAnswer)
    #expect(sink.bytes == Array(object.bytes.prefix(10)))
  }

  @Test func anAnswerThatBroughtNothingHoldsNothing() async throws {
    let bench = try Bench([
      object.part(0..<1000).cut(after: 0), object.part(0..<1000, etag: "\"v2\""),
    ])
    let sink = CollectingSink()
    let request = GetRequest(key: object.key, range: ByteRange(0, 1000), ifMatch: nil)
    let answer = try await bench.store.get(request, into: sink, context: bench.context())
    #expect(bench.client.requests.map { $0.fields["If-Match"] } == [nil, nil])
    #expect(answer.metadata.version.etag == ETag("v2"))
    #expect(sink.bytes == object.bytes)
  }

  @Test func versionWithoutTagIsHeldByItsTime() async throws {
    var first = object.part(0..<1000).cut(after: 10)
    first.fields["ETag"] = nil
    var other = object.part(10..<1000)
    other.fields["ETag"] = nil
    other.fields["Last-Modified"] = "Mon, 30 Nov 2026 08:00:01 GMT"
    let bench = try Bench([first, other])
    let sink = CollectingSink()
    let request = GetRequest(key: object.key, range: ByteRange(0, 1000), ifMatch: nil)
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(request, into: sink, context: bench.context())
    }
    #expect(error?.kind == .preconditionFailed)
    #expect(sink.bytes == Array(object.bytes.prefix(10)))
  }

  @Test func twoHundredForTheRestIsNotTaken() async throws {
    let whole = ScriptedAnswer.answer(200, ["ETag": "\"v1\""], object.bytes)
    let bench = try Bench([object.part(0..<1000).cut(after: 10), whole, object.part(10..<1000)])
    let sink = CollectingSink()
    _ = try await bench.store.get(object.get(0..<1000), into: sink, context: bench.context())
    #expect(sink.bytes == object.bytes)
    #expect(bench.client.requests.count == 3)
  }

  @Test func progressStartsTheCountAnew() async throws {
    // Every try brings 13 bytes and breaks: 77 failures with one retry allowed.
    let object = object
    let bench = try Bench { request, _ in object.part(for: request).cut(after: 13) }
    let sink = CollectingSink()
    let answer = try await bench.store.get(
      object.get(0..<1000),
      into: sink,
      context: bench.context(retries: 1)
    )
    #expect(sink.bytes == object.bytes)
    #expect(answer.retryCount == 76)
  }

  @Test func progressMovesTheDeadline() async throws {
    // Each try takes 40 of the 60 seconds and brings something: the whole takes 400 seconds.
    let object = object
    let bench = try Bench { request, _ in
      object.part(for: request).cut(after: 100).lasting(.seconds(40))
    }
    let sink = CollectingSink()
    _ = try await bench.store.get(object.get(0..<1000), into: sink, context: bench.context(60))
    #expect(sink.bytes == object.bytes)
  }

  @Test func movingBodyOutlivesTheDeadlineOfItsTry() async throws {
    // The transport ends each try at the deadline it was given, in the middle of the body.
    let object = object
    let bench = try Bench { request, _ in
      object.part(for: request).cut(after: 300, .timedOut).lasting(.seconds(59))
    }
    let sink = CollectingSink()
    _ = try await bench.store.get(
      object.get(0..<1000),
      into: sink,
      context: bench.context(60, retries: 0)
    )
    #expect(sink.bytes == object.bytes)
    #expect(bench.client.requests.count == 4)
  }

  @Test func standstillEndsByTheDeadline() async throws {
    // The first try brings bytes after 10 s; then nothing: the end is 60 s after the last byte.
    let object = object
    let bench = try Bench { request, index in
      index == 0
        ? object.part(for: request).cut(after: 100).lasting(.seconds(10))
        : .failure(.interrupted)
    }
    let start = bench.time.now
    let sink = CollectingSink()
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(object.get(0..<1000), into: sink, context: bench.context(60))
    }
    #expect(error?.kind == .timedOut)
    #expect(error?.message.contains("scripted") == true)
    let elapsed = bench.time.now - start
    #expect(elapsed <= .seconds(70))
    #expect(elapsed > .seconds(45))
    #expect(sink.bytes == Array(object.bytes.prefix(100)))
  }

  @Test func nthFailureNeverGivesAWrongByte() async throws {
    // The store fails in every way at every n-th request, for n = 2, 3, ... until nothing fails.
    let object = object
    let faults: [@Sendable (ScriptedAnswer) -> ScriptedAnswer] = [
      { _ in .error(503, "SlowDown") },
      { _ in .failure(.unreachable) },
      { $0.cut(after: 17) },
      { $0.cut(after: 29, .stalled) },
      { _ in .answer(200, ["ETag": "\"v1\""], object.bytes) },
      { _ in object.part(0..<200) },
      { _ in .answer(200, text: "<html>hello</html>") },
      { _ in .error(500, "InternalError") },
    ]
    for (number, fault) in faults.enumerated() {
      for period in 2...6 {
        let bench = try Bench { request, index in
          // Whatever else happens, a body breaks after 200 bytes, so that there are many requests.
          let answer = object.part(for: request).cut(after: 200)
          return index % period == period - 1 ? fault(answer) : answer
        }
        let sink = CollectingSink()
        _ = try await bench.store.get(
          object.get(1..<999),
          into: sink,
          context: bench.context(3600)
        )
        #expect(sink.bytes == Array(object.bytes[1..<999]), "fault \(number) every \(period)")
        #expect(sink.isContiguous)
      }
    }
  }
}
