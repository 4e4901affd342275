import Core
import StoreWire
import Testing

@Suite struct TOSAnswersTests {
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

  private func kind(_ body: () throws -> Void) -> StoreError.Kind? {
    do {
      try body()
      return nil
    } catch {
      return (error as? StoreError)?.kind
    }
  }

  private func head(
    _ fields: KeyValuePairs<String, String>,
    key: String = "k"
  ) throws -> ObjectMetadata {
    var all = HeaderFields(fields)
    if all["Content-Length"] == nil { all["Content-Length"] = "5" }
    return try TOSAnswers.headedObject(
      WireAnswer(status: 200, fields: all),
      to: TOSRequests.headObject(ObjectKey(key)),
      versionID: nil
    )
  }

  @Test func aHeadIsReadWhole() throws {
    let metadata = try head([
      "Content-Length": "1234", "ETag": "\"abc-2\"",
      "Last-Modified": "Mon, 30 Nov 2026 08:30:00 GMT", "x-tos-last-modified-ns": "123000007",
      "Content-Type": "text/plain", "Cache-Control": "no-cache", "x-tos-version-id": "v1",
      "x-tos-storage-class": "IA", "x-tos-hash-crc64ecma": "18446744073709551615",
      "x-tos-tagging-count": "2", "X-Tos-Meta-Gr%C3%B6%c3%9fe": "1%20%2B%202",
      "x-tos-meta-plain": "100%", "x-tos-meta-odd": "%FF",
    ])
    #expect(metadata.size == 1234)
    #expect(metadata.version.etag == ETag("abc-2"))
    #expect(
      metadata.version.lastModified
        == Timestamp(nanoseconds: Self.november.nanoseconds + 123_000_007)
    )
    #expect(metadata.headers.contentType == "text/plain")
    #expect(metadata.headers.cacheControl == "no-cache")
    #expect(metadata.currentVersionID == "v1")
    #expect(metadata.storageClass == "IA")
    #expect(metadata.crc64 == .max)
    #expect(metadata.tagCount == 2)
    // What isn't the encoding of a text is taken as it stands.
    #expect(metadata.userMetadata == ["größe": "1 + 2", "plain": "100%", "odd": "%FF"])
    #expect(!metadata.isArchived)
  }

  @Test(arguments: ["-1", "1000000000", "x", ""])
  func anOddFractionOfASecondIsNone(_ text: String) throws {
    let metadata = try head([
      "Last-Modified": "Mon, 30 Nov 2026 08:30:00 GMT", "x-tos-last-modified-ns": text,
    ])
    #expect(metadata.version.lastModified == Self.november)
  }

  @Test(
    arguments: [
      ("ARCHIVE", nil, true), ("COLD_ARCHIVE", nil, true), ("DEEP_COLD_ARCHIVE", nil, true),
      ("ARCHIVE_FR", nil, false), ("STANDARD", nil, false), ("IA", nil, false),
      ("INTELLIGENT_TIERING", nil, false),
      ("ARCHIVE", "ongoing-request=\"true\"", true),
      (
        "ARCHIVE", "ongoing-request=\"false\", expiry-date=\"Mon, 30 Nov 2026 08:30:00 GMT\"", false
      ),
    ] as [(String, String?, Bool)]
  )
  func archivedObjectsMustBeRestored(_ storage: String, _ restore: String?, _ isArchived: Bool) {
    #expect(TOSAnswers.isArchived(storageClass: storage, restore: restore) == isArchived)
  }

  @Test func theNameOfADirectoryIsNoObject() throws {
    let directory = HeaderFields(["Content-Length": "0", "x-tos-directory": "true"])
    let named = try TOSRequests.headObject(ObjectKey("a/b"))
    let found = WireAnswer(status: 200, fields: directory)
    #expect(
      kind { _ = try TOSAnswers.headedObject(found, to: named, versionID: nil) } == .notFound
    )
    #expect(try TOSAnswers.headedStatus(found, to: named) == .prefix)
    let marked = try TOSRequests.headObject(ObjectKey("a/b/"))
    #expect(try TOSAnswers.headedObject(found, to: marked, versionID: nil).size == 0)
    #expect(try TOSAnswers.headedStatus(answer(404), to: named) == .nothing)
    // A file where the directory should be.
    let file = answer(409, ["x-tos-ec": "0026-00000020"])
    #expect(try TOSAnswers.headedStatus(file, to: marked) == .nothing)
    #expect(kind { _ = try TOSAnswers.headedStatus(answer(403), to: named) } == .accessDenied)
    let object = WireAnswer(status: 200, fields: HeaderFields(["Content-Length": "3"]))
    guard case .object(let metadata) = try TOSAnswers.headedStatus(object, to: named) else {
      Issue.record("the object isn't one")
      return
    }
    #expect(metadata.size == 3)
  }

  @Test func aLinkIsAsLargeAsWhatItLeadsTo() throws {
    let link = try head([
      "Content-Length": "0", "x-tos-object-type": "Symlink", "x-tos-symlink-target-size": "77",
      "ETag": "\"e\"",
    ])
    #expect(link.size == 77)
    #expect(link.version.etag == ETag("e"))
    let other = try head(["x-tos-object-type": "Normal", "x-tos-symlink-target-size": "77"])
    #expect(other.size == 5)
  }

  @Test func aRangeIsCheckedAsItIsWithS3() throws {
    let get = GetRequest(key: key, range: ByteRange(10, 20), ifMatch: ETag("e"), objectSize: 100)
    let request = try TOSRequests.getObject(get)
    let right = answer(
      206,
      [
        "Content-Range": "bytes 10-19/100", "Content-Length": "10", "ETag": "\"e\"",
        "x-tos-hash-crc64ecma": "7",
      ]
    )
    // The checksum is the whole object's, whatever the range.
    #expect(try TOSAnswers.objectRange(right, to: request, get: get).crc64 == 7)
    let other = answer(206, ["Content-Range": "bytes 11-20/100", "ETag": "\"e\""])
    #expect(kind { _ = try TOSAnswers.objectRange(other, to: request, get: get) } == .invalidAnswer)
    let changed = answer(206, ["Content-Range": "bytes 10-19/100", "ETag": "\"f\""])
    #expect(
      kind { _ = try TOSAnswers.objectRange(changed, to: request, get: get) } == .preconditionFailed
    )
  }

  @Test(
    arguments: [
      ("hns", true), ("HNS", true), ("fns", false), (nil, false),
    ] as [(String?, Bool)]
  )
  func aBucketSaysWhatItIs(_ type: String?, _ isHierarchical: Bool) throws {
    for prefix in ["x-tos-", "x-"] {
      var found = answer(200)
      found.fields[prefix + "bucket-region"] = "cn-beijing"
      found.fields[prefix + "bucket-type"] = type
      let facts = try TOSAnswers.bucket(found, to: TOSRequests.headBucket())
      #expect(facts == BucketFacts(region: "cn-beijing", isHierarchical: isHierarchical))
    }
    let missing = answer(404)
    #expect(
      kind { _ = try TOSAnswers.bucket(missing, to: TOSRequests.headBucket()) } == .noSuchBucket
    )
  }

  @Test func anAnswerToAWriteHasItsChecksum() throws {
    let put = try TOSRequests.putObject(PutRequest(key: key))
    let stored = try TOSAnswers.stored(
      answer(200, ["ETag": "\"e\"", "x-tos-hash-crc64ecma": "42", "x-tos-version-id": "v"]),
      to: put
    )
    #expect(stored == WriteAnswer(etag: ETag("e"), versionID: "v", crc64: 42))
  }

  @Test func aSuccessMayHoldAnError() throws {
    let copy = try TOSRequests.copyObject(
      CopyRequest(source: CopySource(key: key), target: PutRequest(key: ObjectKey("t"))),
      bucket: "b"
    )
    let upload = UploadReference(key: key, uploadID: "u")
    let complete = try TOSRequests.completeMultipartUpload(upload, parts: [], condition: .none)
    let late = answer(
      200,
      ["x-tos-request-id": "H"],
      " \r\n {\"Code\":\"InternalError\",\"Message\":\"We failed.\",\"RequestId\":\"R\",\"EC\":\"0017-1\"}"
    )
    let errors = [
      #expect(throws: StoreError.self) { try TOSAnswers.copied(late, to: copy) },
      #expect(throws: StoreError.self) { try TOSAnswers.copiedPart(late, to: copy) },
      #expect(throws: StoreError.self) { try TOSAnswers.completedUpload(late, to: complete) },
      #expect(throws: StoreError.self) { try TOSAnswers.done(late, to: copy) },
      #expect(throws: StoreError.self) { try TOSAnswers.createdUpload(late, to: complete) },
    ]
    for error in errors {
      #expect(error?.kind == .serverFailure)
      #expect(error?.message == "We failed")
      #expect(error?.requestID == "R")
      #expect(error?.subcode == "0017-1")
    }
    for body in [
      "", " ", "{}", "{\"ETag\":\"\"}", "{\"ETag\":null}", "[]", "<html>", "{\"ETag\":1}",
    ] {
      #expect(
        kind { _ = try TOSAnswers.copied(answer(200, [:], body), to: copy) } == .invalidAnswer
      )
    }
    let unknown = answer(200, [:], "{\"Code\":\"Whatever\"}")
    #expect(kind { _ = try TOSAnswers.copied(unknown, to: copy) } == .serverFailure)
    let slow = answer(200, [:], "{\"Code\":\"ExceedBucketQPSLimit\"}")
    #expect(kind { _ = try TOSAnswers.copied(slow, to: copy) } == .throttled)
  }

  @Test func documentsAreReadBehindWhiteSpace() throws {
    let copy = try TOSRequests.copyObject(
      CopyRequest(source: CopySource(key: key), target: PutRequest(key: ObjectKey("t"))),
      bucket: "b"
    )
    let copied = try TOSAnswers.copied(
      answer(
        200,
        ["x-tos-version-id": "v"],
        "\n\n {\"ETag\":\"\\\"e\\\"\",\"LastModified\":\"2026-11-30T08:30:00.000Z\",\"New\":[{}]} \n"
      ),
      to: copy
    )
    #expect(copied == WriteAnswer(etag: ETag("e"), lastModified: Self.november, versionID: "v"))
  }

  @Test func aMultipartUploadIsRead() throws {
    let create = try TOSRequests.createMultipartUpload(PutRequest(key: key))
    let created = answer(200, [:], "{\"Bucket\":\"b\",\"Key\":\"k\",\"UploadId\":\"a+/=\"}")
    #expect(try TOSAnswers.createdUpload(created, to: create) == "a+/=")
    let upper = answer(200, [:], "{\"UploadID\":\"u\"}")
    #expect(try TOSAnswers.createdUpload(upper, to: create) == "u")
    for body in ["{}", "{\"UploadId\":\"\"}", "{\"UploadId\":null}"] {
      #expect(
        kind { _ = try TOSAnswers.createdUpload(answer(200, [:], body), to: create) }
          == .invalidAnswer
      )
    }
    let upload = UploadReference(key: key, uploadID: "u")
    let complete = try TOSRequests.completeMultipartUpload(upload, parts: [], condition: .none)
    let completed = answer(
      200,
      ["x-tos-hash-crc64ecma": "9", "x-tos-version-id": "v"],
      "{\"Bucket\":\"b\",\"Key\":\"k\",\"ETag\":\"\\\"e-1\\\"\",\"Location\":\"l\"}"
    )
    #expect(
      try TOSAnswers.completedUpload(completed, to: complete)
        == CompletedUpload(etag: ETag("e-1"), crc64: 9, versionID: "v")
    )
  }

  @Test func partsAreReadPageByPage() throws {
    let request = try TOSRequests.listParts(UploadReference(key: key, uploadID: "u"))
    func page(_ body: String, after marker: Int? = nil) throws -> PartsPage {
      try TOSAnswers.parts(answer(200, [:], body), to: request, after: marker)
    }
    let parts =
      "\"Parts\":[{\"PartNumber\":3,\"ETag\":\"\\\"e\\\"\",\"Size\":5,\"LastModified\":\"x\"}]"
    let first = try page("{\"IsTruncated\":true,\"NextPartNumberMarker\":3,\(parts)}")
    #expect(first.parts == [UploadedPart(partNumber: 3, etag: ETag("e"), size: 5)])
    #expect(first.nextMarker == 3)
    #expect(try page("{\"IsTruncated\":false,\"Parts\":null}").parts == [])
    #expect(try page("{}").parts == [])
    #expect(kind { _ = try page("{\"IsTruncated\":true,\(parts)}", after: 3) } == .invalidAnswer)
    for body in [
      "{\"Parts\":[{\"PartNumber\":0,\"ETag\":\"e\"}]}",
      "{\"Parts\":[{\"PartNumber\":10001,\"ETag\":\"e\"}]}",
      "{\"Parts\":[{\"PartNumber\":1}]}", "{\"Parts\":[{\"ETag\":\"e\"}]}", "{\"Parts\":{}}",
      "{\"IsTruncated\":true}",
    ] {
      #expect(kind { _ = try page(body) } == .invalidAnswer, "\(body)")
    }
  }

  @Test func uploadsAreReadPageByPage() throws {
    let prefix = ObjectKey("d/")
    let request = TOSRequests.listMultipartUploads(prefix: prefix)
    func page(_ body: String, after marker: UploadReference? = nil) throws -> UploadsPage {
      try TOSAnswers.uploads(
        answer(200, [:], body),
        to: request,
        prefix: prefix,
        after: marker
      )
    }
    let body =
      "{\"EncodingType\":\"url\",\"IsTruncated\":true,\"NextKeyMarker\":\"d%2Fb+c\",\"NextUploadIdMarker\":\"u2\","
      + "\"Uploads\":[{\"Key\":\"d%2Fa\",\"UploadId\":\"u1\",\"Initiated\":\"2026-11-30T08:30:00.000Z\"},"
      + "{\"Key\":\"d%2Fb+c\",\"UploadId\":\"u2\"},{\"Key\":\"e\",\"UploadId\":\"u3\"},{\"Key\":\"d%2Fx\"},"
      + "{\"UploadId\":\"u4\"},5,null],\"CommonPrefixes\":null}"
    let marker = UploadReference(key: ObjectKey("d/b c"), uploadID: "u2")
    let read = try page(body)
    #expect(
      read.uploads == [
        UnfinishedUpload(
          reference: UploadReference(key: ObjectKey("d/a"), uploadID: "u1"),
          initiated: Self.november
        ),
        UnfinishedUpload(reference: marker, initiated: Timestamp(seconds: 0)),
      ]
    )
    #expect(read.nextMarker == marker)
    #expect(kind { _ = try page(body, after: marker) } == .invalidAnswer)
    #expect(kind { _ = try page("{\"IsTruncated\":true}") } == .invalidAnswer)
    #expect(try page("{\"IsTruncated\":false,\"Uploads\":null}") == UploadsPage())
  }

  @Test func aBatchTellsForEachKeyWhyItStayed() throws {
    let keys = ["a", "b\n", "d/"].map { ObjectKey($0) }
    let request = try TOSRequests.deleteObjects(keys)
    func failures(_ body: String) throws -> [ObjectKey: StoreError] {
      try TOSAnswers.deletedObjects(answer(200, [:], body), to: request, keys: keys)
    }
    let found = try failures(
      "{\"Deleted\":[{\"Key\":\"a\"}],\"Error\":[{\"Key\":\"b\\n\",\"Code\":\"AccessDenied\",\"Message\":\"No.\"},"
        + "{\"Key\":\"d/\",\"Code\":\"CannotDelete\",\"Message\":\"not empty\"},{\"Key\":\"a\",\"Code\":\"NoSuchKey\"}]}"
    )
    #expect(found.mapValues(\.kind) == [keys[1]: .accessDenied, keys[2]: .conflict])
    #expect(found[keys[1]]?.message == "No")
    #expect(found[keys[1]]?.key == keys[1])
    #expect(try failures("{}").isEmpty)
    #expect(try failures("{\"Deleted\":null,\"Error\":null}").isEmpty)
    for body in [
      "{\"Error\":[{\"Key\":\"x\",\"Code\":\"AccessDenied\"}]}",
      "{\"Error\":[{\"Code\":\"AccessDenied\"}]}",
      "{\"Error\":[5]}", "", "<html>",
    ] {
      #expect(kind { _ = try failures(body) } == .invalidAnswer, "\(body)")
    }
  }

  @Test func tagsAreRead() throws {
    let request = try TOSRequests.getObjectTagging(key)
    func tags(_ body: String) throws -> [String: String] {
      try TOSAnswers.tags(answer(200, [:], body), to: request)
    }
    #expect(
      try tags(
        "{\"TagSet\":{\"Tags\":[{\"Key\":\"a ü\",\"Value\":\"1\"},{\"Key\":\"e\",\"Value\":\"\"}]}}"
      )
        == ["a ü": "1", "e": ""]
    )
    #expect(try tags("{\"TagSet\":{\"Tags\":null}}") == [:])
    #expect(try tags("{}") == [:])
    #expect(kind { _ = try tags("{\"TagSet\":{\"Tags\":[{\"Value\":\"1\"}]}}") } == .invalidAnswer)
  }

  @Test func aFileStatusIsAnObjectAPrefixOrNothing() throws {
    let request = try TOSRequests.getFileStatus(ObjectKey("a"))
    func status(_ body: String, key: String = "a", code: Int = 200) throws -> KeyStatus {
      try TOSAnswers.fileStatus(answer(code, [:], body), to: request, key: ObjectKey(key))
    }
    let body =
      "{\"Key\":\"a\",\"Size\":5,\"LastModified\":\"2026-11-30T08:30:00.000Z\",\"CRC64\":\"7\",\"ETag\":\"\\\"e\\\"\"}"
    guard case .object(let metadata) = try status(body) else {
      Issue.record("the object isn't one")
      return
    }
    #expect(metadata.version.etag == ETag("e"))
    #expect(metadata.size == 5)
    #expect(metadata.crc64 == 7)
    #expect(metadata.version.lastModified == Self.november)
    #expect(try status("{\"Key\":\"a/b\",\"Size\":5}") == .prefix)
    #expect(try status("{\"Key\":\"a/b\",\"Size\":5}", key: "a/") == .prefix)
    // A key that only begins alike is no directory.
    #expect(try status("{\"Key\":\"ab\",\"Size\":5}") == .nothing)
    #expect(try status("", code: 404) == .nothing)
    #expect(try status("{\"Code\":\"NoSuchKey\"}", code: 404) == .nothing)
    #expect(kind { _ = try status("{\"Code\":\"NoSuchBucket\"}", code: 404) } == .noSuchBucket)
    for body in ["{\"Key\":\"b\"}", "{}", "{\"Key\":\"a\"}", "{\"Key\":\"a\",\"Size\":-1}"] {
      #expect(kind { _ = try status(body) } == .invalidAnswer, "\(body)")
    }
  }

  @Test func aLinkSaysWhereItLeads() throws {
    let request = try TOSRequests.getSymlink(key)
    func target(_ fields: KeyValuePairs<String, String>) throws -> LinkTarget {
      try TOSAnswers.linkTarget(answer(200, fields), to: request)
    }
    #expect(
      try target(["x-tos-symlink-target": "t/%C3%A9%20+", "x-tos-symlink-bucket": "o"])
        == LinkTarget(bucket: "o", key: ObjectKey("t/é +"))
    )
    #expect(try target(["x-tos-symlink-target": "100%"]) == LinkTarget(key: ObjectKey("100%")))
    #expect(kind { _ = try target([:]) } == .invalidAnswer)
  }

  @Test func aRestoreThatIsGoingOnIsNoError() throws {
    let request = try TOSRequests.restoreObject(key, days: 1, tier: .standard)
    try TOSAnswers.restored(answer(202), to: request)
    try TOSAnswers.restored(answer(200), to: request)
    try TOSAnswers.restored(
      answer(409, [:], "{\"Code\":\"RestoreAlreadyInProgress\"}"),
      to: request
    )
    #expect(kind { try TOSAnswers.restored(answer(405), to: request) } == .unsupported)
  }
}
