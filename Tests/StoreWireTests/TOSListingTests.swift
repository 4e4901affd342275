import Core
import Testing

@testable import StoreWire

@Suite struct TOSListingTests {
  private func list(
    _ body: String,
    prefix: String = "p/",
    token: String? = nil
  ) throws -> ListAnswer {
    try list(Array(body.utf8), prefix: prefix, token: token)
  }

  private func list(
    _ body: [UInt8],
    prefix: String = "p/",
    token: String? = nil
  ) throws -> ListAnswer {
    let list = ListRequest(
      prefix: ObjectKey(prefix),
      isDelimited: true,
      continuationToken: token
    )
    return try TOSAnswers.listing(
      WireAnswer(status: 200, body: body),
      to: TOSRequests.listObjects(list),
      list: list,
      isFlat: true
    )
  }

  private func kind(_ body: () throws -> Void) -> StoreError.Kind? {
    do {
      try body()
      return nil
    } catch {
      return (error as? StoreError)?.kind
    }
  }

  /// A flat bucket has no directory that could be missing; a hierarchical one may say so of it.
  @Test(arguments: [
    ("NoSuchKey", true, StoreError.Kind.invalidAnswer), ("NoSuchKey", false, .notFound),
    ("NoSuchBucket", true, .noSuchBucket), ("NoSuchBucket", false, .noSuchBucket),
    ("", true, .noSuchBucket), ("AccessDenied", true, .accessDenied),
  ])
  func nothingMissingIsAnEmptyPage(code: String, isFlat: Bool, expected: StoreError.Kind) {
    let list = ListRequest(prefix: ObjectKey("p/"), isDelimited: true)
    let body = code.isEmpty ? "" : #"{"Code":"\#(code)","Message":"no","RequestId":"R"}"#
    let found = kind {
      _ = try TOSAnswers.listing(
        WireAnswer(status: 404, body: Array(body.utf8)),
        to: TOSRequests.listObjects(list),
        list: list,
        isFlat: isFlat
      )
    }
    #expect(found == expected)
  }

  @Test func aPageIsRead() throws {
    let answer = try list(
      """
      {"Name":"b","Prefix":"p%2F","MaxKeys":1000,"KeyCount":3,"EncodingType":"url","IsTruncated":true,
       "NextContinuationToken":"a+/=","Delimiter":"%2F",
       "CommonPrefixes":[{"Prefix":"p%2Fd+e%2F","LastModified":"2026-11-30T08:30:00.000Z"}],
       "Contents":[
        {"Key":"p%2Fa+b%2Bc","LastModified":"2026-11-30T08:30:00.250Z","ETag":"\\"e\\"","Size":5,
         "StorageClass":"STANDARD","HashCrc64ecma":"18446744073709551615","Type":"Normal",
         "Owner":{"ID":"1","DisplayName":""},"UserMeta":[{"Key":"k","Value":"v"}]},
        {"Key":"p%2F%E7%85%A7","Size":0,"HashCrc64ecma":7}]}
      """
    )
    #expect(answer.skipped == [])
    #expect(answer.page.nextToken == "a+/=")
    #expect(answer.page.commonPrefixes == [ObjectKey("p/d e/")])
    #expect(answer.page.objects.map(\.key) == [ObjectKey("p/a b+c"), ObjectKey("p/照")])
    let first = try #require(answer.page.objects.first)
    #expect(first.version.etag == ETag("e"))
    #expect(first.size == 5)
    #expect(first.crc64 == .max)
    #expect(first.storageClass == "STANDARD")
    #expect(first.version.lastModified.nanoseconds % 1_000_000_000 == 250_000_000)
    #expect(answer.page.objects[1].crc64 == 7)
  }

  @Test func keysAreDecodedOnlyIfTheStoreSaysThatTheyAreEncoded() throws {
    let answer = try list(#"{"IsTruncated":false,"Contents":[{"Key":"p/a+b%20","Size":1}]}"#)
    #expect(answer.page.objects.map(\.key) == [ObjectKey("p/a+b%20")])
  }

  @Test(arguments: [
    #"{"IsTruncated":false}"#, #"{"IsTruncated":false,"Contents":null,"CommonPrefixes":null}"#,
    #"{"IsTruncated":false,"Contents":[],"CommonPrefixes":[]}"#,
  ])
  func listsMayBeMissingNullOrEmpty(_ body: String) throws {
    let page = try list(body).page
    #expect(page == ListPage(objects: [], commonPrefixes: [], nextToken: nil))
  }

  @Test func anEmptyPageMayBeFollowed() throws {
    let page = try list(#"{"IsTruncated":true,"NextContinuationToken":"t"}"#, token: "s").page
    #expect(page.nextToken == "t")
  }

  @Test(arguments: [
    // Leads nowhere: no token, an empty one, the one that was sent.
    #"{"IsTruncated":true}"#, #"{"IsTruncated":true,"NextContinuationToken":""}"#,
    #"{"IsTruncated":true,"NextContinuationToken":"s"}"#,
    // No listing.
    "{}", "", "[]", "null", "\"\"", "5", "<html></html>", "{", #"{"IsTruncated":"maybe"}"#,
    #"{"IsTruncated":false,"Contents":{}}"#, #"{"IsTruncated":false,"Contents":"x"}"#,
    #"{"IsTruncated":false} trailing"#, #"{"IsTruncated":false}{}"#, #"{"Name":"b"}"#,
    // An answer to another question.
    #"{"IsTruncated":false,"Contents":[{"Key":"q/a","Size":1}]}"#,
  ])
  func aPageThatBreaksTheProtocolIsRefused(_ body: String) {
    #expect(kind { _ = try list(body, token: "s") } == .invalidAnswer)
  }

  @Test func anErrorInASuccessIsTheError() {
    let body = #"{"Code":"ExceedBucketQPSLimit","Message":"slow"}"#
    #expect(kind { _ = try list(body) } == .throttled)
  }

  @Test func oneOddEntryLeavesItsNeighbours() throws {
    let good = #"{"Key":"p/good","Size":1}"#
    let long = "p/" + String(repeating: "x", count: 1023)
    let answer = try list(
      """
      {"IsTruncated":false,"Contents":[
       \(good),
       {"Size":1},{"Key":null,"Size":1},{"Key":"","Size":1},{"Key":5,"Size":1},5,null,"p/x",[],
       {"Key":"p/negative","Size":-1},{"Key":"p/large","Size":18446744073709551616},
       {"Key":"p/none"},{"Key":"p/half","Size":1.5},{"Key":"\(long)","Size":1},
       {"Key":"q/other","Size":1},{"Key":"p/\\ud800","Size":1},
       {"Key":"p/text","Size":"12"},{"Key":"p/odd","Size":1,"ETag":5,"LastModified":[],"HashCrc64ecma":"x"}],
       "CommonPrefixes":[{"Prefix":"p/d/"},{"Prefix":"p/"},{"Prefix":"p/e"},{},null,{"Prefix":"q/d/"}]}
      """
    )
    #expect(
      answer.page.objects.map(\.key.description) == ["p/good", "p/text", "p/odd"]
    )
    #expect(answer.page.objects.map(\.size) == [1, 12, 1])
    #expect(answer.page.commonPrefixes == [ObjectKey("p/d/")])
    #expect(answer.skipped.count == 20)
  }

  @Test func aKeyThatIsNotUTF8IsLeftOutAndItsNeighboursStay() throws {
    var body = Array(#"{"IsTruncated":false,"Contents":[{"Key":"p/a","Size":1},{"Key":"p/"#.utf8)
    body += [0xFF, 0xFE]
    body += Array(#"","Size":1},{"Key":"p/c","Size":1}]}"#.utf8)
    let answer = try list(body)
    #expect(answer.page.objects.map(\.key) == [ObjectKey("p/a"), ObjectKey("p/c")])
    #expect(answer.skipped.count == 1)
    // The replacement itself is a character that a key may have.
    let honest = try list(#"{"IsTruncated":false,"Contents":[{"Key":"p/\ufffd","Size":1}]}"#)
    #expect(honest.page.objects.map(\.key) == [ObjectKey("p/\u{FFFD}")])
  }

  @Test func controlCharactersComeEncoded() throws {
    let body =
      #"{"EncodingType":"url","IsTruncated":false,"Contents":[{"Key":"p%2F%0A%00%FF","Size":1}]}"#
    #expect(
      try list(body).page.objects.map(\.key.bytes) == [Array("p/".utf8) + [0x0A, 0x00, 0xFF]]
    )
  }

  @Test func namesThatComeTwiceAreNotATrap() throws {
    let answer = try list(
      #"{"IsTruncated":true,"IsTruncated":false,"NextContinuationToken":"t","Contents":[{"Key":"p/a","Key":"p/b","Size":1,"Size":2}]}"#
    )
    // Which of the two counts doesn't matter; that it is one entry does.
    #expect(answer.page.objects.count == 1)
  }

  @Test func aDocumentThatIsTooDeepOrTooLargeIsRefused() {
    let deep = #"{"IsTruncated":false,"X":"# + String(repeating: "[", count: 100_000)
    #expect(kind { _ = try list(deep) } == .invalidAnswer)
    let nested =
      #"{"IsTruncated":false,"X":"# + String(repeating: "[", count: 5000)
      + String(repeating: "]", count: 5000) + "}"
    #expect(kind { _ = try list(nested) } == .invalidAnswer)
    let large =
      Array(#"{"IsTruncated":false,"X":""#.utf8)
      + [UInt8](repeating: 0x61, count: WireAnswer.documentSizeMax) + Array(#""}"#.utf8)
    #expect(kind { _ = try list(large) } == .invalidAnswer)
  }

  @Test func otherEncodingsOfTextAreRefused() {
    let text = #"{"IsTruncated":false}"#
    let sixteen = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    #expect(kind { _ = try list(sixteen) } == .invalidAnswer)
    #expect(kind { _ = try list([0xFF, 0xFE] + sixteen) } == .invalidAnswer)
  }
}
