import Core
import HTTP
import Simulation
import StoreClient
import Support
import Testing

@Suite struct GetTests {
  let object = SampleObject()

  @Test func rangeArrivesInOneRequest() async throws {
    let bench = try Bench([object.part(100..<300)])
    let sink = CollectingSink()
    let answer = try await bench.store.get(
      object.get(100..<300),
      into: sink,
      context: bench.context()
    )
    #expect(sink.bytes == Array(object.bytes[100..<300]))
    #expect(sink.isContiguous)
    #expect(answer.retryCount == 0)
    #expect(answer.metadata.size == 1000)
    #expect(answer.metadata.version.etag == ETag("v1"))
    #expect(answer.metadata.headers.contentType == "text/plain")
    let request = try #require(bench.client.requests.first)
    #expect(request.method == "GET")
    #expect(request.url == "http://127.0.0.1:9000/data/a/b.bin")
    #expect(request.fields["Range"] == "bytes=100-299")
    #expect(request.fields["If-Match"] == "\"v1\"")
    #expect(request.fields["Authorization"]?.contains("Credential=AKID/") == true)
    #expect(request.fields["Accept-Encoding"] == nil)
    let counts = bench.metrics.snapshot
    #expect(counts.requests == [.getObject: 1])
    #expect(counts.receivedByteCount == 200)
    #expect(counts.retryCount == 0)
  }

  @Test func twoHundredForTheWholeObjectIsTaken() async throws {
    let answer = ScriptedAnswer.answer(200, ["ETag": "\"v1\""], object.bytes)
    let bench = try Bench([answer])
    let sink = CollectingSink()
    _ = try await bench.store.get(object.get(0..<1000), into: sink, context: bench.context())
    #expect(sink.bytes == object.bytes)
  }

  @Test func objectStoredEncodedIsServedAsStored() async throws {
    var answer = object.part(0..<100)
    answer.fields["Content-Encoding"] = "gzip"
    let bench = try Bench([answer])
    let sink = CollectingSink()
    let got = try await bench.store.get(object.get(0..<100), into: sink, context: bench.context())
    #expect(sink.bytes == Array(object.bytes[0..<100]))
    #expect(got.metadata.headers.contentEncoding == "gzip")
  }

  /// Answers to a request for bytes 100..<300 of version v1 that must not give a single byte.
  static let hostileAnswers: [(name: String, answer: ScriptedAnswer)] = {
    let object = SampleObject()
    var encoded = object.part(100..<300)
    encoded.fields["Content-Encoding"] = "gzip"
    encoded.fields["Content-Length"] = nil
    var shrunk = object.part(100..<300)
    shrunk.fields["Content-Encoding"] = "gzip"
    shrunk.fields["Content-Length"] = "120"
    var untagged = object.part(100..<300)
    untagged.fields["ETag"] = nil
    var unranged = object.part(100..<300)
    unranged.fields["Content-Range"] = nil
    var longer = object.part(100..<300)
    longer.fields["Content-Length"] = "201"
    return [
      ("200 with the whole object", .answer(200, ["ETag": "\"v1\""], object.bytes)),
      (
        "200 with as many bytes as asked for",
        .answer(200, ["ETag": "\"v1\""], Array(object.bytes[100..<300]))
      ),
      ("another start", object.part(100..<300, contentRange: "bytes 0-199/1000")),
      ("another end", object.part(100..<300, contentRange: "bytes 100-298/1000")),
      ("garbage for a range", object.part(100..<300, contentRange: "bytes x-y/z")),
      (
        "a range that ends before it begins",
        object.part(100..<300, contentRange: "bytes 299-100/1000")
      ),
      ("a range beyond the total", object.part(100..<300, contentRange: "bytes 100-299/200")),
      (
        "huge numbers",
        object.part(100..<300, contentRange: "bytes 100-299/99999999999999999999999")
      ),
      ("no range", unranged),
      ("compressed on the way, no length", encoded),
      ("compressed on the way, another length", shrunk),
      ("no tag", untagged),
      ("a length that isn't the range's", longer),
      ("204", .answer(204, ["ETag": "\"v1\""])),
      ("another unit", object.part(100..<300, contentRange: "items 100-299/1000")),
    ]
  }()

  @Test(arguments: hostileAnswers.indices)
  func hostileHeadGivesNoByte(_ index: Int) async throws {
    let (name, answer) = Self.hostileAnswers[index]
    let bench = try Bench([answer])
    let sink = CollectingSink()
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(object.get(100..<300), into: sink, context: bench.context())
    }
    #expect(sink.bytes == [], "\(name)")
    #expect(bench.metrics.snapshot.receivedByteCount == 0, "\(name)")
    #expect(
      error?.kind == .invalidAnswer || error?.kind == .serverFailure,
      "\(name): \(String(describing: error))"
    )
    #expect(bench.client.requests.count > 1, "\(name) is tried again")
  }

  @Test(arguments: hostileAnswers.indices)
  func hostileHeadIsForgivenOnce(_ index: Int) async throws {
    let (name, answer) = Self.hostileAnswers[index]
    let bench = try Bench([answer, object.part(100..<300)])
    let sink = CollectingSink()
    let got = try await bench.store.get(object.get(100..<300), into: sink, context: bench.context())
    #expect(sink.bytes == Array(object.bytes[100..<300]), "\(name)")
    #expect(got.retryCount == 1)
  }

  @Test func invalidAnswersEndAfterFourTriesWhateverTheDeadline() async throws {
    let bench = try Bench([object.part(100..<300, contentRange: "bytes 0-199/1000")])
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(
        object.get(100..<300),
        into: CollectingSink(),
        context: bench.context(100_000)
      )
    }
    #expect(error?.kind == .invalidAnswer)
    #expect(bench.client.requests.count == 4)
  }

  @Test func ignoredIfMatchIsFoundByTheTag() async throws {
    let bench = try Bench([object.part(100..<300, etag: "\"v2\"")])
    let sink = CollectingSink()
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(object.get(100..<300), into: sink, context: bench.context())
    }
    #expect(error?.kind == .preconditionFailed)
    #expect(sink.bytes == [])
    #expect(bench.client.requests.count == 1)
  }

  @Test func wrongTotalGivesNoByte() async throws {
    let bench = try Bench([object.part(100..<300, total: 1001)])
    let sink = CollectingSink()
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(object.get(100..<300), into: sink, context: bench.context())
    }
    #expect(error?.kind == .invalidAnswer)
    #expect(sink.bytes == [])
  }

  @Test func anotherVersionThanTheOneAskedForByItsIdGivesNoByte() async throws {
    var (other, right) = (object.part(0..<1000), object.part(0..<1000))
    other.fields["x-amz-version-id"] = "B"
    other.body.reverse()
    right.fields["x-amz-version-id"] = "A"
    let bench = try Bench([other, right])
    let sink = CollectingSink()
    var request = object.get(0..<1000)
    request.versionID = "A"
    _ = try await bench.store.get(request, into: sink, context: bench.context())
    #expect(sink.bytes == object.bytes)
    #expect(bench.client.requests.map { $0.url.hasSuffix("?versionId=A") } == [true, true])
  }

  @Test func bytesBeyondTheRangeAreNeverHandedOn() async throws {
    var answer = object.part(100..<300)
    answer.fields["Content-Length"] = nil
    answer.body += [1, 2, 3]
    let bench = try Bench([answer])
    let sink = CollectingSink()
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(object.get(100..<300), into: sink, context: bench.context())
    }
    #expect(sink.bytes == Array(object.bytes[100..<300]))
    #expect(error?.kind == .invalidAnswer)
    #expect(bench.client.requests.count == 1)
  }

  @Test func rangeBeyondTheEndIsRefused() async throws {
    let bench = try Bench([object.part(900..<1000)])
    var request = object.get(900..<1100)
    request.objectSize = nil
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(request, into: CollectingSink(), context: bench.context())
    }
    #expect(error?.kind == .rangeNotSatisfiable)
    #expect(bench.client.requests.count == 1)
  }

  @Test(arguments: [
    (404, "NoSuchKey", StoreError.Kind.notFound), (412, "PreconditionFailed", .preconditionFailed),
    (403, "AccessDenied", .accessDenied), (403, "InvalidObjectState", .archived),
    (416, "InvalidRange", .rangeNotSatisfiable), (403, "SignatureDoesNotMatch", .badCredentials),
    (404, "NoSuchBucket", .noSuchBucket),
  ])
  func refusalIsFinal(_ status: Int, _ code: String, _ kind: StoreError.Kind) async throws {
    let bench = try Bench([.error(status, code)])
    let sink = CollectingSink()
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(object.get(0..<10), into: sink, context: bench.context())
    }
    #expect(error?.kind == kind)
    #expect(error?.code == code)
    #expect(error?.requestID == "R1")
    #expect(error?.key == object.key)
    #expect(sink.bytes == [])
    #expect(bench.client.requests.count == 1)
  }

  @Test func refusingSinkEndsTheReadWithItsErrno() async throws {
    let bench = try Bench([object.part(0..<1000)])
    let sink = CollectingSink(refusesAfter: 50)
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(object.get(0..<1000), into: sink, context: bench.context())
    }
    #expect(error?.kind == .sinkRefused)
    #expect(error?.errno == 28)
    #expect(bench.client.requests.count == 1)
  }

  @Test func endlessErrorPageIsCutOff() async throws {
    let page = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    let bench = try Bench([.answer(403, [:], page)])
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.get(
        object.get(0..<10),
        into: CollectingSink(),
        context: bench.context()
      )
    }
    #expect(error?.kind == .accessDenied)
    #expect(error?.status == 403)
    #expect(error.map { $0.message.utf8.count < 1000 } == true)
  }
}
