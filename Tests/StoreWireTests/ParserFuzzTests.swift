import Core
import Simulation
import Testing

@testable import StoreWire

/// Bytes from a generator and damaged answers: whatever comes, a parser answers or throws.
///
/// The seeds are fixed, so that a trap is found again by running the same test.
@Suite struct ParserFuzzTests {
  private static let fixtures = [
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://s3\">"
      + "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
      + "<Contents><Key>p/a+%2B</Key><LastModified>2026-11-30T08:30:00.000Z</LastModified>"
      + "<ETag>&quot;e&quot;</ETag><Size>5</Size><Owner><ID>x</ID></Owner></Contents>"
      + "<Contents><Key>p/b</Key><Size>18446744073709551616</Size></Contents>"
      + "<CommonPrefixes><Prefix>p/c/</Prefix></CommonPrefixes>"
      + "<EncodingType>url</EncodingType></ListBucketResult>",
    "<Error><Code>SlowDown</Code><Message><![CDATA[less]]></Message><RequestId>R</RequestId>"
      + "<Region>eu</Region></Error>",
    "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>"
      + "<Part><PartNumber>1</PartNumber><ETag>e</ETag><Size>5</Size></Part></ListPartsResult>",
    "<CopyObjectResult><ETag>\"e\"</ETag><LastModified>2026-11-30T08:30:00Z</LastModified>"
      + "</CopyObjectResult>",
    "<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY z '&x;&x;'>]><a b='&z;'>&z;</a>",
    "[default]\nregion = x # y\n[profile a]\ns3 =\n  k = v\n",
    "[default]\nregion = \"x\\u0041\" # y\nn = 1_0\n[default.\"ve-tos\"]\nl = [ [1], {a = 'b'},\n]\n"
      + "t = \"\"\"\na\\\n  b\"\"\"\nd = 2026-11-30T08:30:00Z\n[[x]]\n",
    "{\"IsTruncated\":true,\"NextContinuationToken\":\"t\",\"EncodingType\":\"url\",\"Contents\":["
      + "{\"Key\":\"p/a+%2B\",\"Size\":5,\"ETag\":\"\\\"e\\\"\",\"HashCrc64ecma\":\"7\"},"
      + "{\"Key\":\"p/\\u00e9\\ud83d\\ude00\",\"Size\":-1e9}],\"CommonPrefixes\":[{\"Prefix\":\"p/c/\"}]}",
    "{\"Code\":\"SlowDown\",\"Message\":\"less\",\"EC\":\"0004-00000001\",\"RequestId\":\"R\"}",
    "{\"Parts\":[{\"PartNumber\":1,\"ETag\":\"e\",\"Size\":5}],\"IsTruncated\":true,"
      + "\"NextPartNumberMarker\":2,\"Error\":[{\"Key\":\"k\",\"Code\":\"AccessDenied\"}],"
      + "\"Uploads\":[{\"Key\":\"p/k\",\"UploadId\":\"u\"}],\"TagSet\":{\"Tags\":[{\"Key\":\"a\"}]}}",
    "# c\nak=AKLT\nsk = s\n token=a b\nendpoint=tos-cn-beijing.volces.com\n",
  ].map { Array($0.utf8) }

  @Test(arguments: 1...4)
  func noBytesTrapAParser(_ seed: Int) throws {
    var random = Seeded(UInt64(seed))
    for _ in 0..<150 {
      try parse(
        (0..<Int.random(in: 0...200, using: &random)).map { _ in
          UInt8.random(in: .min ... .max, using: &random)
        }
      )
      // Characters of XML come up too seldom among all bytes.
      let alphabet = Array("<>/&;!-[]?='\"aDOCTYPE CDATA%+0123456789\n:#x".utf8)
      try parse(
        (0..<Int.random(in: 0...200, using: &random)).map { _ in
          alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
        }
      )
    }
  }

  @Test(arguments: 1...8)
  func noDamageToAnAnswerTrapsAParser(_ seed: Int) throws {
    var random = Seeded(UInt64(seed) << 32)
    for _ in 0..<40 {
      for fixture in Self.fixtures {
        var bytes = fixture
        for _ in 0..<Int.random(in: 1...8, using: &random) {
          damage(&bytes, using: &random)
        }
        try parse(bytes)
      }
    }
  }

  private func damage(_ bytes: inout [UInt8], using random: inout Seeded) {
    guard !bytes.isEmpty else { return }
    let start = Int.random(in: 0..<bytes.count, using: &random)
    let end = min(bytes.count, start + Int.random(in: 0...40, using: &random))
    switch Int.random(in: 0..<6, using: &random) {
    case 0: bytes[start] = UInt8.random(in: .min ... .max, using: &random)
    case 1: bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 2: bytes.removeSubrange(start..<end)
    case 3: bytes.insert(contentsOf: bytes[start..<end], at: start)
    case 4: bytes.removeSubrange(start...)
    default:
      let other = Self.fixtures[Int.random(in: 0..<Self.fixtures.count, using: &random)]
      bytes.insert(contentsOf: other.suffix(Int.random(in: 0...80, using: &random)), at: start)
    }
  }

  /// Gives the bytes to everything that reads what comes from outside.
  private func parse(_ bytes: [UInt8]) throws {
    _ = try? XMLDocument(bytes)
    let answer = WireAnswer(status: 200, body: bytes)
    try parseListing(answer)
    let upload = UploadReference(key: ObjectKey("k"), uploadID: "u")
    let request = try S3Requests.listParts(upload)
    if let page = try? S3Answers.parts(answer, to: request) {
      #expect(page.parts.allSatisfy { (1...10_000).contains($0.partNumber) })
    }
    _ = try? S3Answers.copied(answer, to: request)
    _ = try? S3Answers.createdUpload(answer, to: request)
    _ = try? S3Answers.location(answer, to: request)
    try parseTOS(answer, request)
    let text = String(decoding: bytes, as: UTF8.self)
    parseErrors(bytes, text: text, request: request)
    _ = try? ProfileFile(parsing: bytes, kind: .config)
    _ = try? TOMLFile(parsing: bytes)
    _ = TOSUtilFile(parsing: bytes)
    _ = try? Endpoint(text)
    _ = TOSHost(text)
    _ = WireDate.http(text)
    _ = WireDate.iso8601(text)
    _ = ContentRange(text)
    if let decoded = PercentEncoding.decodeForm(bytes) {
      #expect(PercentEncoding.decode(PercentEncoding.path(decoded).utf8) == decoded)
    }
  }

  private func parseTOS(_ answer: WireAnswer, _ request: WireRequest) throws {
    let key = ObjectKey("k")
    if let page = try? TOSAnswers.parts(answer, to: request, after: nil) {
      #expect(page.parts.allSatisfy { (1...10_000).contains($0.partNumber) })
    }
    if let page = try? TOSAnswers.uploads(answer, to: request, prefix: key, after: nil) {
      #expect(page.uploads.allSatisfy { $0.reference.key.hasPrefix(key) })
    }
    let failures = try? TOSAnswers.deletedObjects(answer, to: request, keys: [key])
    #expect((failures ?? [:]).keys.allSatisfy { $0 == key })
    _ = try? TOSAnswers.copied(answer, to: request)
    _ = try? TOSAnswers.createdUpload(answer, to: request)
    _ = try? TOSAnswers.completedUpload(answer, to: request)
    _ = try? TOSAnswers.tags(answer, to: request)
    _ = try? TOSAnswers.fileStatus(answer, to: request, key: key)
    _ = try? TOSAnswers.done(answer, to: request)
  }

  private func parseListing(_ answer: WireAnswer) throws {
    let list = ListRequest(
      prefix: ObjectKey("p/"),
      isDelimited: true,
      continuationToken: "s"
    )
    let request = S3Requests.listObjects(list)
    check(try? TOSAnswers.listing(answer, to: request, list: list, isFlat: true), list)
    check(try? S3Answers.listing(answer, to: request, list: list), list)
  }

  private func check(_ listing: ListAnswer?, _ list: ListRequest) {
    guard let listing else { return }
    #expect(listing.page.nextToken != "s")
    for object in listing.page.objects {
      #expect(object.key.hasPrefix(list.prefix))
      #expect((0...1 << 56).contains(object.size))
    }
    for prefix in listing.page.commonPrefixes {
      #expect(prefix.hasPrefix(list.prefix) && prefix.isDirectoryMarker)
    }
  }

  private func parseErrors(_ bytes: [UInt8], text: String, request: WireRequest) {
    for status in [200, 400, 404, 503] {
      var answer = WireAnswer(status: status, body: bytes)
      answer.fields["Retry-After"] = text
      answer.fields["Date"] = text
      answer.fields["x-amz-request-id"] = text
      answer.fields["x-amz-bucket-region"] = text
      _ = TOSAnswers.error(answer, to: request)
      let error = S3Answers.error(answer, to: request)
      #expect(!error.description.contains { $0.isNewline })
      #expect(error.description.utf8.count < 4096)
      _ = S3Answers.regionHint(answer)
    }
  }
}
