import Core
import Crypto
import HTTP
import StoreClient
import StoreWire
import Support
import Testing

/// A store that speaks TOS: what is different above the wire.
@Suite struct TOSStoreTests {
  private let key = ObjectKey("k")
  private let hello = BodySource.bytes(Array("hello".utf8))
  // CRC-64/XZ of "hello".
  private let helloChecksum: UInt64 = 11_177_612_005_948_864_433

  private func bench(_ answers: [ScriptedAnswer]) throws -> Bench {
    try Bench(answers, settings: Bench.tos())
  }

  private static func error(
    _ status: Int,
    _ code: String,
    detail: String? = nil,
    _ fields: KeyValuePairs<String, String> = [:]
  ) -> ScriptedAnswer {
    let detail = detail.map { ",\"EC\":\"\($0)\"" } ?? ""
    return .answer(
      status,
      fields,
      text: "{\"Code\":\"\(code)\",\"Message\":\"scripted\",\"RequestId\":\"R1\"\(detail)}"
    )
  }

  private func stored(_ crc64: UInt64?) -> ScriptedAnswer {
    crc64.map { .answer(200, ["ETag": "\"e\"", "x-tos-hash-crc64ecma": "\($0)"]) }
      ?? .answer(200, ["ETag": "\"e\""])
  }

  private func head(
    crc64: UInt64?,
    size: Int = 5,
    _ etag: String = "\"e\""
  ) -> ScriptedAnswer {
    var answer = ScriptedAnswer.answer(
      200,
      [
        "ETag": etag, "Content-Length": "\(size)",
        "Last-Modified": "Mon, 30 Nov 2026 08:30:00 GMT",
      ]
    )
    answer.fields["x-tos-hash-crc64ecma"] = crc64.map { String($0) }
    return answer
  }

  private func put(
    _ bench: Bench,
    _ condition: WriteCondition = .none
  ) async throws(StoreError) -> ObjectMetadata {
    try await bench.store.put(
      PutRequest(key: key, condition: condition),
      body: hello,
      context: bench.context()
    )
  }

  @Test func requestsAreSignedAsTOSWants() async throws {
    let bench = try bench([stored(helloChecksum)])
    let metadata = try await put(bench)
    #expect(metadata.crc64 == helloChecksum)
    let request = bench.client.requests[0]
    #expect(request.fields["Authorization"]?.hasPrefix("TOS4-HMAC-SHA256 Credential=AKID/") == true)
    #expect(request.fields["x-tos-date"] != nil)
    #expect(request.fields["x-amz-date"] == nil)
    #expect(bench.store.name == "tos://data")
  }

  @Test func whoIsNobodySendsNoDateEither() async throws {
    let bench = try Bench(
      [head(crc64: nil)],
      credentials: CredentialChain([AnonymousCredentials()]),
      settings: Bench.tos()
    )
    _ = try await bench.store.head(key, versionID: nil, ifMatch: nil, context: bench.context())
    #expect(bench.client.requests[0].fields.fields.isEmpty)
  }

  // Checksums

  @Test func bytesThatArriveDamagedAreSentAgain() async throws {
    let bench = try bench([stored(1), stored(helloChecksum)])
    let metadata = try await put(bench)
    #expect(metadata.crc64 == helloChecksum)
    #expect(bench.methods == ["PUT", "PUT"])
  }

  @Test func aPartThatArrivesDamagedIsSentAgainAndFailsInTheEnd() async throws {
    let bench = try bench([stored(1)])
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.uploadPart(
        UploadReference(key: key, uploadID: "u"),
        partNumber: 1,
        body: hello,
        context: bench.context()
      )
    }
    #expect(error?.kind == .invalidAnswer)
    #expect(error?.message.contains("other bytes than were sent") == true)
    #expect(bench.methods == ["PUT", "PUT", "PUT", "PUT"])
  }

  @Test func aDamagedCreateIsNotTakenForAnothersObject() async throws {
    let bench = try bench([stored(1), head(crc64: 1)])
    let error = await Bench.failure { () throws(StoreError) in try await put(bench, .ifAbsent) }
    #expect(error?.kind == .invalidAnswer)
    #expect(error?.message.contains("other bytes than were sent") == true)
    #expect(bench.methods == ["PUT", "HEAD"])
  }

  @Test func aStoreThatTellsNoChecksumIsBelieved() async throws {
    let bench = try bench([stored(nil)])
    #expect(try await put(bench).crc64 == nil)
    let part = try await bench.store.uploadPart(
      UploadReference(key: key, uploadID: "u"),
      partNumber: 1,
      body: hello,
      context: bench.context()
    )
    #expect(part == UploadedPart(partNumber: 1, etag: ETag("e"), size: 5))
  }

  @Test func anAnswerThatComesBeforeTheWholeBodyIsNotCompared() async throws {
    var early = stored(1)
    early.leavesBodyUnread = true
    let bench = try bench([early])
    #expect(try await put(bench).crc64 == 1)
  }

  @Test func aLostPutIsFoundByItsChecksum() async throws {
    let ours = try bench([
      .failure(.interrupted), Self.error(409, "DuplicateObject"), head(crc64: helloChecksum),
    ])
    let metadata = try await put(ours, .ifAbsent)
    #expect(metadata.version.etag == ETag("e"))
    for (crc64, size) in [(helloChecksum, 6), (1, 5)] as [(UInt64, Int)] {
      let others = try bench([
        .failure(.interrupted), Self.error(409, "DuplicateObject"),
        head(crc64: crc64, size: size),
      ])
      let error = await Bench.failure { () throws(StoreError) in try await put(others, .ifAbsent) }
      #expect(error?.kind == .alreadyExists)
    }
  }

  @Test func aLostCompletionIsFoundByTheChecksumsOfItsParts() async throws {
    // "hello " and "world", and both together.
    let parts = [
      UploadedPart(
        partNumber: 2,
        etag: ETag("b"),
        size: 5,
        crc64: CRC64.checksum(of: Array("world".utf8))
      ),
      UploadedPart(
        partNumber: 1,
        etag: ETag("a"),
        size: 6,
        crc64: CRC64.checksum(of: Array("hello ".utf8))
      ),
    ]
    let whole: UInt64 = 5_981_764_153_023_615_706
    let lost = [.failure(.interrupted), Self.error(404, "NoSuchUpload")] as [ScriptedAnswer]
    func complete(_ last: ScriptedAnswer) async throws -> CompletedUpload {
      let bench = try bench(lost + [last])
      return try await bench.store.completeMultipartUpload(
        UploadReference(key: key, uploadID: "u"),
        parts: parts,
        condition: .none,
        context: bench.context()
      )
    }
    #expect(
      try await complete(head(crc64: whole, size: 11))
        == CompletedUpload(etag: ETag("e"), crc64: whole)
    )
    for other in [
      head(crc64: whole, size: 12), head(crc64: 1, size: 11), head(crc64: nil, size: 11),
    ] {
      let error = await #expect(throws: StoreError.self) { try await complete(other) }
      #expect(error?.kind == .noSuchUpload)
    }
  }

  // Failures

  @Test(arguments: [
    TOSStoreTests.error(429, "ExceedBucketQPSLimit", ["Retry-After": "2"]),
    TOSStoreTests.error(503, "SlowDown"), TOSStoreTests.error(500, "InternalError"),
    TOSStoreTests.error(400, "InvalidArgument", detail: "0005-00000044"),
    TOSStoreTests.error(409, "X", detail: "0026-00000022"),
    TOSStoreTests.error(400, "BadDigest"), .failure(.interrupted), .answer(502),
  ])
  func whatPassesIsTriedAgain(_ failure: ScriptedAnswer) async throws {
    let bench = try bench([failure, stored(helloChecksum)])
    let start = bench.time.now
    _ = try await put(bench)
    #expect(bench.methods == ["PUT", "PUT"])
    if failure.fields["Retry-After"] != nil { #expect(bench.time.now - start >= .seconds(2)) }
  }

  @Test func aLockIsWaitedForSoManyTimes() async throws {
    let bench = try bench([Self.error(409, "X", detail: "0026-00000022")])
    let error = await Bench.failure { () throws(StoreError) in try await put(bench) }
    #expect(error?.kind == .conflict)
    #expect(error?.subcode == "0026-00000022")
    #expect(bench.methods.count == 9)
  }

  @Test func anErrorInsideASuccessIsTriedAgain() async throws {
    let late = ScriptedAnswer.answer(200, text: "{\"Code\":\"InternalError\",\"Message\":\"late\"}")
    let copied = ScriptedAnswer.answer(200, text: "{\"ETag\":\"\\\"e\\\"\"}")
    let bench = try bench([late, copied, head(crc64: 7)])
    let metadata = try await bench.store.copy(
      CopyRequest(source: CopySource(key: ObjectKey("s")), target: PutRequest(key: key)),
      context: bench.context()
    )
    #expect(metadata.crc64 == 7)
    #expect(bench.methods == ["PUT", "PUT", "HEAD"])
  }

  @Test func aClockThatIsOffIsSetByTheStoresOnce() async throws {
    let skewed = Self.error(
      403,
      "RequestTimeTooSkewed",
      ["Date": "Tue, 01 Dec 2026 12:00:00 GMT"]
    )
    let bench = try bench([skewed, stored(helloChecksum)])
    _ = try await put(bench)
    #expect(bench.client.requests[1].fields["x-tos-date"]?.hasPrefix("20261201T1200") == true)
    let hopeless = try self.bench([skewed])
    let error = await Bench.failure { () throws(StoreError) in try await put(hopeless) }
    #expect(error?.kind == .badCredentials)
    #expect(hopeless.methods.count == 2)
  }

  @Test func anotherRegionsBucketIsFollowedThere() async throws {
    var settings = try Bench.tos("https://tos-cn-beijing.volces.com")
    settings.isEndpointOfRegion = true
    let moved = Self.error(
      301,
      "PermanentRedirect",
      ["Location": "https://data.tos-cn-shanghai.volces.com/k"]
    )
    let bench = try Bench([moved, stored(helloChecksum)], settings: settings)
    _ = try await put(bench)
    #expect(bench.client.requests[1].url == "https://data.tos-cn-shanghai.volces.com/k")
    #expect(
      bench.client.requests[1].fields["Authorization"]?.contains("/cn-shanghai/tos/request") == true
    )
  }

  // What buckets can do

  private let flat = ScriptedAnswer.answer(200, ["x-tos-bucket-region": "cn-beijing"])
  private let tree = ScriptedAnswer.answer(200, ["x-tos-bucket-type": "hns"])

  @Test func theBucketIsAskedOnceWhatItIs() async throws {
    let bench = try bench([tree, head(crc64: nil)])
    #expect(bench.store.capabilities.hasNativeRename == nil)
    #expect(!bench.store.capabilities.hasDirectories)
    try await bench.store.probe(context: bench.context())
    #expect(bench.store.capabilities.hasNativeRename == true)
    #expect(bench.store.capabilities.hasDirectories)
    guard case .object = try await bench.store.status(of: key, context: bench.context()) else {
      Issue.record("the object isn't one")
      return
    }
    #expect(bench.client.requests.map(\.url).last == "http://127.0.0.1:9000/data/k")
    #expect(bench.methods == ["HEAD", "HEAD"])
  }

  @Test func aFlatBucketIsAskedForTheStatus() async throws {
    let bench = try bench([flat, .answer(200, text: "{\"Key\":\"k/a\",\"Size\":1}")])
    #expect(try await bench.store.status(of: key, context: bench.context()) == .prefix)
    _ = try await bench.store.status(of: key, context: bench.context())
    #expect(
      bench.client.requests.map(\.url) == [
        "http://127.0.0.1:9000/data/", "http://127.0.0.1:9000/data/k?stat",
        "http://127.0.0.1:9000/data/k?stat",
      ]
    )
  }

  private let rename = RenameRequest(source: ObjectKey("s"), target: ObjectKey("t"))

  @Test(arguments: [
    TOSStoreTests.error(405, "MethodNotAllowed"), TOSStoreTests.error(400, "InvalidArgument"),
    TOSStoreTests.error(403, "AccessDenied"),
  ])
  func aBucketThatDoesNotRenameIsFoundOut(_ refusal: ScriptedAnswer) async throws {
    let elsewhere = ScriptedAnswer.answer(200, ["x-tos-bucket-region": "cn-shanghai"])
    let bench = try bench([flat, refusal, elsewhere])
    try await bench.store.probe(context: bench.context())
    #expect(bench.store.capabilities.hasNativeRename == nil)
    let first = await Bench.failure { () throws(StoreError) in
      try await bench.store.rename(rename, context: bench.context())
    }
    #expect(first?.kind == .unsupported)
    #expect(bench.store.capabilities.hasNativeRename == false)
    // It stays known, also when the bucket is asked again.
    try await bench.store.probe(context: bench.context())
    #expect(bench.store.capabilities.hasNativeRename == false)
  }

  @Test func aBucketThatRenamesIsFoundOutAndThenEachRefusalIsItsOwn() async throws {
    let bench = try bench([.answer(204), Self.error(403, "AccessDenied")])
    try await bench.store.rename(rename, context: bench.context())
    #expect(bench.store.capabilities.hasNativeRename == true)
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.rename(rename, context: bench.context())
    }
    #expect(error?.kind == .accessDenied)
    #expect(bench.store.capabilities.hasNativeRename == true)
  }

  @Test func aMissingSourceSaysNothingOfTheBucket() async throws {
    let bench = try bench([Self.error(404, "NoSuchKey")])
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.rename(rename, context: bench.context())
    }
    #expect(error?.kind == .notFound)
    #expect(bench.store.capabilities.hasNativeRename == nil)
    #expect(bench.methods == ["PUT"])
  }

  @Test func aLostRenameIsFoundByBothNames() async throws {
    let gone = Self.error(404, "NoSuchKey")
    let done = try bench([.failure(.interrupted), gone, .answer(404), head(crc64: nil)])
    try await done.store.rename(rename, context: done.context())
    #expect(done.methods == ["PUT", "PUT", "HEAD", "HEAD"])
    // Neither name: somebody else's doing.
    let neither = try bench([.failure(.interrupted), gone, .answer(404), .answer(404)])
    let error = await Bench.failure { () throws(StoreError) in
      try await neither.store.rename(rename, context: neither.context())
    }
    #expect(error?.kind == .notFound)
  }

  @Test func aDirectoryIsRemovedAsOneOnlyWhereThereAreDirectories() async throws {
    let bench = try bench([tree, .answer(204)])
    try await bench.store.deleteDirectory(ObjectKey("d"), context: bench.context())
    #expect(bench.client.requests[1].url == "http://127.0.0.1:9000/data/d/?recursive=true")
    let flatBench = try self.bench([flat])
    let error = await Bench.failure { () throws(StoreError) in
      try await flatBench.store.deleteDirectory(ObjectKey("d"), context: flatBench.context())
    }
    #expect(error?.kind == .unsupported)
    #expect(flatBench.methods == ["HEAD"])
  }

  @Test func aBucketThatDoesNotRemoveDirectoriesAsOneIsFoundOut() async throws {
    let bench = try bench([tree, Self.error(409, "CannotDelete", detail: "0026-00000013")])
    try await bench.store.probe(context: bench.context())
    #expect(bench.store.capabilities.hasRecursiveDelete)
    for _ in 0..<2 {
      let error = await Bench.failure { () throws(StoreError) in
        try await bench.store.deleteDirectory(ObjectKey("d"), context: bench.context())
      }
      #expect(error?.kind == .unsupported)
      #expect(!bench.store.capabilities.hasRecursiveDelete)
    }
    #expect(bench.methods == ["HEAD", "DELETE"])
  }

  @Test func aConditionOfADeleteIsLookedAtFirst() async throws {
    func delete(_ answers: [ScriptedAnswer]) async throws -> (Bench, StoreError?) {
      let bench = try bench(answers)
      let error = await Bench.failure { () throws(StoreError) in
        try await bench.store.delete(key, ifMatch: ETag("e"), context: bench.context())
      }
      return (bench, error)
    }
    let (right, none) = try await delete([head(crc64: nil), .answer(204)])
    #expect(none == nil)
    #expect(right.methods == ["HEAD", "DELETE"])
    #expect(right.client.requests[1].fields["If-Match"] == nil)
    let (other, error) = try await delete([head(crc64: nil, "\"f\"")])
    #expect(error?.kind == .preconditionFailed)
    #expect(other.methods == ["HEAD"])
    let (gone, nothing) = try await delete([.answer(404)])
    #expect(nothing == nil)
    #expect(gone.methods == ["HEAD"])
  }

  @Test func whatS3HasNotIsRefusedBeforeAnythingIsSent() async throws {
    let bench = try Bench([.answer(200)])
    let context = bench.context()
    let store = bench.store
    func kind(_ body: () async throws -> Void) async -> StoreError.Kind? {
      do {
        try await body()
        return nil
      } catch {
        return (error as? StoreError)?.kind
      }
    }
    #expect(await kind { try await store.rename(rename, context: context) } == .unsupported)
    let request = PutRequest(key: key)
    #expect(
      await kind { try await store.replaceMetadata(request, context: context) } == .unsupported
    )
    let time = Timestamp(seconds: 0)
    #expect(
      await kind { try await store.setModificationTime(of: key, to: time, context: context) }
        == .unsupported
    )
    #expect(await kind { _ = try await store.status(of: key, context: context) } == .unsupported)
    #expect(await kind { try await store.deleteDirectory(key, context: context) } == .unsupported)
    let target = LinkTarget(key: key)
    #expect(
      await kind { try await store.putLink(key, to: target, context: context) } == .unsupported
    )
    #expect(
      await kind { _ = try await store.linkTarget(of: key, context: context) } == .unsupported
    )
    #expect(bench.client.requests.isEmpty)
    #expect(bench.store.capabilities.hasNativeRename == false)
  }
}
