import Core
import HTTP
import StoreClient
import Testing

@Suite struct ListingTests {
  private func page(_ inner: String) -> ScriptedAnswer {
    .answer(
      200,
      text: "<ListBucketResult><EncodingType>url</EncodingType>\(inner)</ListBucketResult>"
    )
  }

  private func entry(_ key: String) -> String {
    "<Contents><Key>\(key)</Key><Size>5</Size><ETag>\"e\"</ETag>"
      + "<LastModified>2026-11-30T08:00:00Z</LastModified></Contents>"
  }

  private func list(
    _ bench: Bench,
    token: String? = nil
  ) async throws(StoreError) -> ListPage {
    try await bench.store.list(
      ListRequest(prefix: ObjectKey("a/"), isDelimited: true, continuationToken: token),
      context: bench.context(retries: 1)
    )
  }

  @Test func pageIsRead() async throws {
    let bench = try Bench([
      page(
        entry("a/x%20y")
          + "<CommonPrefixes><Prefix>a/d/</Prefix></CommonPrefixes><IsTruncated>true</IsTruncated>"
          + "<NextContinuationToken>t/+</NextContinuationToken>"
      ),
      page("<IsTruncated>false</IsTruncated>"),
    ])
    let first = try await list(bench)
    #expect(first.objects.map(\.key) == [ObjectKey("a/x y")])
    #expect(first.commonPrefixes == [ObjectKey("a/d/")])
    #expect(first.nextToken == "t/+")
    let second = try await list(bench, token: first.nextToken)
    #expect(second == ListPage(objects: [], commonPrefixes: [], nextToken: nil))
    #expect(bench.client.requests[1].url.contains("continuation-token=t%2F%2B"))
  }

  @Test func emptyTruncatedPageGoesOn() async throws {
    let bench = try Bench([
      page("<IsTruncated>true</IsTruncated><NextContinuationToken>t2</NextContinuationToken>")
    ])
    let result = try await list(bench, token: "t1")
    #expect(result.objects.isEmpty)
    #expect(result.nextToken == "t2")
  }

  @Test(arguments: [
    "<IsTruncated>true</IsTruncated><NextContinuationToken>t1</NextContinuationToken>",
    "<IsTruncated>true</IsTruncated>",
    "<IsTruncated>perhaps</IsTruncated>",
    "<IsTruncated>false</IsTruncated><Contents>",
  ])
  func pageThatLeadsNowhereIsInvalid(_ inner: String) async throws {
    let bench = try Bench([page(inner)])
    let error = await Bench.failure { () throws(StoreError) in try await list(bench, token: "t1") }
    #expect(error?.kind == .invalidAnswer)
    #expect(bench.client.requests.count == 2)
  }

  @Test(arguments: [
    "", "garbage", "<html><body>welcome</body></html>", "<ListBucketResult>", "{}",
    "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult>&a;</ListBucketResult>",
  ])
  func garbageIsInvalidAndTriedAgain(_ text: String) async throws {
    let bench = try Bench([.answer(200, text: text), page("<IsTruncated>false</IsTruncated>")])
    _ = try await list(bench)
    #expect(bench.client.requests.count == 2)
  }

  @Test func endlessDocumentIsCutOff() async throws {
    let bench = try Bench([.answer(200, [:], [UInt8](repeating: 0x20, count: 33 << 20))])
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.list(
        ListRequest(prefix: ObjectKey(""), isDelimited: false),
        context: bench.context(retries: 0)
      )
    }
    #expect(error?.kind == .invalidAnswer)
  }

  @Test func orderIsLearnedFromAPageOutOfOrder() async throws {
    let bench = try Bench([
      page(entry("a/b/c") + entry("a/b-c") + "<IsTruncated>false</IsTruncated>")
    ])
    #expect(bench.store.capabilities.listsInByteOrder == nil)
    _ = try await list(bench)
    #expect(bench.store.capabilities.listsInByteOrder == false)
  }
}

@Suite struct ProbeTests {
  private static let listing = ScriptedAnswer.answer(
    200,
    text: "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
  )

  private func probe(_ bench: Bench) async throws(StoreError) {
    try await bench.store.probe(context: bench.context(retries: 0))
  }

  @Test func bucketThatAnswersIsThere() async throws {
    let bench = try Bench([.answer(200)])
    try await probe(bench)
    #expect(bench.client.requests[0].url == "http://127.0.0.1:9000/data/")
    #expect(bench.methods == ["HEAD"])
  }

  @Test func missingBucketIsNamed() async throws {
    let bench = try Bench([.answer(404)])
    let error = await Bench.failure { () throws(StoreError) in try await probe(bench) }
    #expect(error?.kind == .noSuchBucket)
  }

  @Test(arguments: [
    (403, "SignatureDoesNotMatch", StoreError.Kind.badCredentials),
    (403, "AccessDenied", .accessDenied), (403, "InvalidAccessKeyId", .badCredentials),
    (400, "ExpiredToken", .badCredentials),
  ])
  func muteRefusalIsAskedForItsCode(
    _ status: Int,
    _ code: String,
    _ kind: StoreError.Kind
  ) async throws {
    let bench = try Bench { request, _ in
      request.method == "HEAD" ? .answer(status) : .error(status, code)
    }
    let error = await Bench.failure { () throws(StoreError) in try await probe(bench) }
    #expect(error?.kind == kind)
    #expect(error?.code == code)
    #expect(bench.client.requests.last?.url.contains("max-keys=1") == true)
  }

  @Test func listingThatWorksIsEnough() async throws {
    let bench = try Bench { request, _ in
      request.method == "HEAD" ? .answer(403) : Self.listing
    }
    try await probe(bench)
    #expect(bench.methods == ["HEAD", "GET"])
  }
}
