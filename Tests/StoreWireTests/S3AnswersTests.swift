import Core
import StoreWire
import Testing

@Suite struct S3AnswersTests {
  private let key = ObjectKey("k")
  private static let november = CalendarTime(
    year: 2026,
    month: 11,
    day: 30,
    hour: 8,
    minute: 30,
    second: 0
  ).timestamp

  private func answer(
    _ status: Int,
    _ fields: KeyValuePairs<String, String> = [:],
    _ body: String = ""
  ) -> WireAnswer {
    WireAnswer(status: status, fields: HeaderFields(fields), body: Array(body.utf8))
  }

  private func get(_ range: ByteRange, ifMatch: String? = nil, size: Int? = nil) -> GetRequest {
    GetRequest(key: key, range: range, ifMatch: ifMatch.map { ETag($0) }, objectSize: size)
  }

  private func read(_ answer: WireAnswer, _ get: GetRequest) throws(StoreError) -> ObjectMetadata {
    try S3Answers.objectRange(answer, to: S3Requests.getObject(get), get: get)
  }

  private func kind(_ body: () throws -> Void) -> StoreError.Kind? {
    do {
      try body()
      return nil
    } catch {
      return (error as? StoreError)?.kind
    }
  }

  @Test func aHeadIsReadWhole() throws {
    let metadata = try S3Answers.object(
      answer(
        200,
        [
          "content-length": "1234", "etag": "\"abc-2\"",
          "last-modified": "Mon, 30 Nov 2026 08:30:00 GMT", "content-type": "text/plain",
          "content-encoding": "gzip", "x-amz-version-id": "v1",
          "x-amz-storage-class": "STANDARD_IA", "x-amz-meta-mtime": "1.5", "X-Amz-Meta-UID": "0",
        ]
      ),
      to: S3Requests.headObject(key)
    )
    #expect(metadata.key == key)
    #expect(metadata.size == 1234)
    #expect(metadata.version.etag == ETag("abc-2"))
    #expect(metadata.version.lastModified == Self.november)
    #expect(metadata.headers.contentType == "text/plain")
    #expect(metadata.headers.contentEncoding == "gzip")
    #expect(metadata.currentVersionID == "v1")
    #expect(metadata.version.versionID == nil)
    #expect(metadata.storageClass == "STANDARD_IA")
    #expect(metadata.userMetadata == ["mtime": "1.5", "uid": "0"])
    #expect(!metadata.isArchived)
  }

  @Test(arguments: ["", "-1", "1e3", "99999999999999999999", "0x10", " 5", "72057594037927937"])
  func aHeadWithoutASizeIsInvalid(_ length: String) {
    #expect(
      kind {
        _ = try S3Answers.object(
          answer(200, ["Content-Length": length]),
          to: S3Requests.headObject(key)
        )
      } == .invalidAnswer
    )
  }

  @Test func whatCanNotBeReadCountsAsAbsent() throws {
    let metadata = try S3Answers.object(
      answer(
        200,
        [
          "Content-Length": "0", "ETag": "\"a b\u{1}\"", "Last-Modified": "yesterday",
          "x-amz-version-id": "null", "x-amz-meta-": "x", "Content-Encoding": "aws-chunked",
        ]
      ),
      to: S3Requests.headObject(key)
    )
    #expect(metadata.version.etag == nil)
    #expect(metadata.version.lastModified == Timestamp(seconds: 0))
    #expect(metadata.currentVersionID == nil)
    #expect(metadata.headers.contentEncoding == nil)
    #expect(metadata.userMetadata == [:])
  }

  @Test(
    arguments: [
      ("GLACIER", nil, true), ("DEEP_ARCHIVE", nil, true), ("GLACIER_IR", nil, false),
      ("STANDARD", nil, false), ("GLACIER", "ongoing-request=\"true\"", true),
      (
        "GLACIER", "ongoing-request=\"false\", expiry-date=\"Fri, 21 Dec 2026 00:00:00 GMT\"", false
      ),
    ] as [(String, String?, Bool)]
  )
  func archivedIsWhatMustBeRestoredFirst(
    _ storageClass: String,
    _ restore: String?,
    _ isArchived: Bool
  ) throws {
    var head = answer(200, ["Content-Length": "0", "x-amz-storage-class": storageClass])
    head.fields["x-amz-restore"] = restore
    let metadata = try S3Answers.object(head, to: S3Requests.headObject(key))
    #expect(metadata.isArchived == isArchived)
  }

  @Test func exactlyTheRangeAskedForIsTaken() throws {
    let head = answer(
      206,
      ["Content-Range": "bytes 10-19/100", "Content-Length": "10", "ETag": "\"e\""]
    )
    let metadata = try read(head, get(ByteRange(10, 20), ifMatch: "e", size: 100))
    #expect(metadata.size == 100)
    for range in [ByteRange(10, 19), ByteRange(9, 20), ByteRange(0, 10), ByteRange(10, 21)] {
      #expect(kind { _ = try read(head, get(range)) } == .invalidAnswer, "\(range)")
    }
  }

  @Test(arguments: [
    "", "bytes", "bytes 10-19", "bytes 10-19/", "bytes 10-19/19", "bytes 19-10/100",
    "bytes -10-19/100", "bytes 10-19/x", "bytes */100", "items 10-19/100", "bytes 10-19/100/1",
    "bytes 10-99999999999999999999/*", "bytes 10 - 19/100", "bytes 0-9223372036854775807/*",
  ])
  func aRangeThatMakesNoSenseIsInvalid(_ text: String) {
    let head = answer(206, ["Content-Range": text])
    #expect(kind { _ = try read(head, get(ByteRange(10, 20), size: 100)) } == .invalidAnswer)
  }

  @Test func aRangeWithoutATotalNeedsAKnownSize() throws {
    let head = answer(206, ["Content-Range": "bytes 10-19/*"])
    #expect(try read(head, get(ByteRange(10, 20), size: 100)).size == 100)
    #expect(kind { _ = try read(head, get(ByteRange(10, 20))) } == .invalidAnswer)
  }

  @Test func aStoreThatIgnoresTheRangeIsTakenForWholeObjectsOnly() throws {
    let head = answer(200, ["Content-Length": "100"])
    #expect(try read(head, get(ByteRange(0, 100))).size == 100)
    #expect(kind { _ = try read(head, get(ByteRange(0, 10))) } == .invalidAnswer)
    #expect(kind { _ = try read(head, get(ByteRange(10, 100))) } == .invalidAnswer)
    let behind = get(ByteRange(100, 200))
    #expect(kind { _ = try read(head, behind) } == .invalidAnswer, "as many bytes, but others")
    #expect(kind { _ = try read(answer(200), get(ByteRange(0, 1))) } == .invalidAnswer)
    #expect(kind { _ = try read(answer(204), get(ByteRange(0, 1))) } == .invalidAnswer)
  }

  @Test func aRangeThatIsCutShortIsNotTaken() {
    let head = answer(206, ["Content-Range": "bytes 10-49/50", "Content-Length": "40"])
    #expect(kind { _ = try read(head, get(ByteRange(10, 60))) } == .rangeNotSatisfiable)
    #expect(
      kind { _ = try read(head, get(ByteRange(10, 60), size: 60)) } == .preconditionFailed
    )
    let lying = answer(206, ["Content-Range": "bytes 10-19/50", "Content-Length": "9"])
    #expect(kind { _ = try read(lying, get(ByteRange(10, 20))) } == .invalidAnswer)
  }

  @Test func anotherVersionIsRefusedEvenIfTheStoreIgnoresIfMatch() {
    let head = answer(206, ["Content-Range": "bytes 0-9/10", "ETag": "\"new\""])
    #expect(
      kind { _ = try read(head, get(ByteRange(0, 10), ifMatch: "old")) } == .preconditionFailed
    )
    #expect(kind { _ = try read(head, get(ByteRange(0, 10), size: 11)) } == .preconditionFailed)
    #expect(kind { _ = try read(head, get(ByteRange(0, 10), ifMatch: "new", size: 10)) } == nil)
  }

  @Test func aStoredObjectHasItsTag() throws {
    let stored = try S3Answers.stored(
      answer(
        200,
        ["ETag": "\"e\"", "Date": "Mon, 30 Nov 2026 08:30:00 GMT", "x-amz-version-id": "v"]
      ),
      to: S3Requests.putObject(PutRequest(key: key))
    )
    #expect(stored == WriteAnswer(etag: ETag("e"), date: Self.november, versionID: "v"))
    let request = try S3Requests.uploadPart(UploadReference(key: key, uploadID: "u"), partNumber: 1)
    #expect(try S3Answers.uploadedPart(answer(200, ["ETag": "\"e\""]), to: request) == ETag("e"))
    #expect(
      kind { _ = try S3Answers.uploadedPart(answer(200), to: request) } == .invalidAnswer
    )
  }

  @Test func deletingWhatIsGoneIsDone() throws {
    let request = try S3Requests.deleteObject(key)
    try S3Answers.deleted(answer(204), to: request)
    try S3Answers.deleted(answer(404), to: request)
    #expect(kind { try S3Answers.deleted(answer(403), to: request) } == .accessDenied)
    let conditional = try S3Requests.deleteObject(key, ifMatch: ETag("e"))
    #expect(
      kind { try S3Answers.deleted(answer(404), to: conditional) } == .preconditionFailed
    )
    let upload = UploadReference(key: key, uploadID: "u")
    let abort = try S3Requests.abortMultipartUpload(upload)
    try S3Answers.aborted(answer(204), to: abort)
    try S3Answers.aborted(answer(404, [:], "<Error><Code>NoSuchUpload</Code></Error>"), to: abort)
    #expect(kind { try S3Answers.aborted(answer(500), to: abort) } == .serverFailure)
  }

  @Test func aBucketSaysWhereItIs() throws {
    let head = S3Requests.headBucket()
    #expect(
      try S3Answers.bucket(answer(200, ["x-amz-bucket-region": "eu-west-1"]), to: head)
        == "eu-west-1"
    )
    #expect(try S3Answers.bucket(answer(200), to: head) == nil)
    #expect(kind { _ = try S3Answers.bucket(answer(404), to: head) } == .noSuchBucket)
    let location = S3Requests.getBucketLocation()
    let namespace = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""
    for (body, region) in [
      ("<LocationConstraint \(namespace)/>", "us-east-1"),
      ("<?xml version=\"1.0\"?>\n<LocationConstraint>EU</LocationConstraint>\n", "eu-west-1"),
      ("<LocationConstraint>ap-south-1</LocationConstraint>", "ap-south-1"),
    ] {
      #expect(try S3Answers.location(answer(200, [:], body), to: location) == region)
    }
    #expect(
      kind { _ = try S3Answers.location(answer(200, [:], "<html/>"), to: location) }
        == .invalidAnswer
    )
  }

  @Test func aCopyThatFailsInsideA200IsAnError() throws {
    let request = try S3Requests.copyObject(
      CopyRequest(source: CopySource(key: key), target: PutRequest(key: ObjectKey("t"))),
      bucket: "b"
    )
    let copied = try S3Answers.copied(
      answer(
        200,
        ["x-amz-version-id": "v"],
        "<CopyObjectResult><LastModified>2026-11-30T08:30:00.000Z</LastModified>"
          + "<ETag>&quot;e&quot;</ETag></CopyObjectResult>"
      ),
      to: request
    )
    #expect(copied == WriteAnswer(etag: ETag("e"), lastModified: Self.november, versionID: "v"))
    let late = answer(
      200,
      [:],
      "<?xml version=\"1.0\"?>\n\n<Error><Code>InternalError</Code><Message>We failed.</Message>"
        + "<RequestId>R1</RequestId></Error>"
    )
    let error = #expect(throws: StoreError.self) { try S3Answers.copied(late, to: request) }
    #expect(error?.kind == .serverFailure)
    #expect(error?.requestID == "R1")
    #expect(error?.message == "We failed")
    for body in ["", " ", "<CopyObjectResult/>", "<CopyObjectResult><ETag/></CopyObjectResult>"] {
      #expect(
        kind { _ = try S3Answers.copied(answer(200, [:], body), to: request) } == .invalidAnswer
      )
    }
    let unknown = answer(200, [:], "<Error><Code>Whatever</Code></Error>")
    #expect(kind { _ = try S3Answers.copied(unknown, to: request) } == .serverFailure)
    let slow = answer(200, [:], "<Error><Code>SlowDown</Code></Error>")
    #expect(kind { _ = try S3Answers.copied(slow, to: request) } == .throttled)
  }

  @Test func aMultipartUploadIsRead() throws {
    let upload = UploadReference(key: key, uploadID: "u")
    let create = try S3Requests.createMultipartUpload(PutRequest(key: key))
    let created = answer(
      200,
      [:],
      "<InitiateMultipartUploadResult xmlns=\"x\"><Bucket>b</Bucket><Key>k</Key>"
        + "<UploadId>a&amp;b</UploadId></InitiateMultipartUploadResult>"
    )
    #expect(try S3Answers.createdUpload(created, to: create) == "a&b")
    let empty = answer(200, [:], "<InitiateMultipartUploadResult/>")
    #expect(kind { _ = try S3Answers.createdUpload(empty, to: create) } == .invalidAnswer)
    let complete = try S3Requests.completeMultipartUpload(upload, parts: [], condition: .none)
    let completed = answer(
      200,
      [:],
      " \n<CompleteMultipartUploadResult><ETag>\"e-1\"</ETag></CompleteMultipartUploadResult>"
    )
    #expect(try S3Answers.completedUpload(completed, to: complete).etag == ETag("e-1"))
    let part = try S3Requests.uploadPartCopy(
      upload,
      partNumber: 1,
      source: CopySource(key: key),
      range: ByteRange(0, 1),
      bucket: "b"
    )
    let copied = answer(200, [:], "<CopyPartResult><ETag>e</ETag></CopyPartResult>")
    #expect(try S3Answers.copiedPart(copied, to: part) == ETag("e"))
    let failed = answer(200, [:], "<Error><Code>NoSuchUpload</Code></Error>")
    #expect(kind { _ = try S3Answers.copiedPart(failed, to: part) } == .noSuchUpload)
    #expect(kind { _ = try S3Answers.completedUpload(failed, to: complete) } == .noSuchUpload)
  }

  @Test func partsAreReadAsMotoSpellsThemToo() throws {
    let request = try S3Requests.listParts(UploadReference(key: key, uploadID: "u"))
    let part = "<Part><PartNumber>3</PartNumber><ETag>\"e\"</ETag><Size>5</Size></Part>"
    func parts(_ root: String) throws -> [UploadedPart] {
      try S3Answers.parts(answer(200, [:], "<\(root)>\(part)</\(root)>"), to: request).parts
    }
    #expect(try parts("ListPartsResponse") == parts("ListPartsResult"))
    #expect(kind { _ = try parts("ListObjectsResult") } == .invalidAnswer)
  }

  @Test func partsAreReadPageByPage() throws {
    let request = try S3Requests.listParts(UploadReference(key: key, uploadID: "u"))
    func page(_ content: String) -> WireAnswer {
      answer(200, [:], "<ListPartsResult>\(content)</ListPartsResult>")
    }
    let part = "<Part><PartNumber>3</PartNumber><ETag>\"e\"</ETag><Size>5</Size></Part>"
    let first = try S3Answers.parts(
      page("<IsTruncated>true</IsTruncated><NextPartNumberMarker>3</NextPartNumberMarker>" + part),
      to: request
    )
    #expect(first.parts == [UploadedPart(partNumber: 3, etag: ETag("e"), size: 5)])
    #expect(first.nextMarker == 3)
    #expect(try S3Answers.parts(page("<IsTruncated>false</IsTruncated>"), to: request).parts == [])
    let stuck = page("<IsTruncated>true</IsTruncated>" + part)
    #expect(kind { _ = try S3Answers.parts(stuck, to: request, after: 3) } == .invalidAnswer)
    #expect(try S3Answers.parts(stuck, to: request, after: 2).nextMarker == 3)
    for content in [
      "<Part><PartNumber>0</PartNumber><ETag>e</ETag></Part>",
      "<Part><PartNumber>10001</PartNumber><ETag>e</ETag></Part>",
      "<Part><PartNumber>1</PartNumber></Part>", "<IsTruncated>true</IsTruncated>",
    ] {
      #expect(kind { _ = try S3Answers.parts(page(content), to: request) } == .invalidAnswer)
    }
  }
}
