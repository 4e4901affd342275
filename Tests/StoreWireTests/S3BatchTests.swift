import Core
import StoreWire
import Testing

/// Requests about several objects or uploads, and what objects say of themselves.
@Suite struct S3BatchTests {
  private let key = ObjectKey("k")
  private let moment = CalendarTime(
    year: 2026,
    month: 11,
    day: 30,
    hour: 8,
    minute: 30,
    second: 0
  ).timestamp

  private func answer(_ body: String, status: Int = 200) -> WireAnswer {
    WireAnswer(status: status, body: Array(body.utf8))
  }

  private func kind(_ body: () throws -> Void) -> StoreError.Kind? {
    do {
      try body()
      return nil
    } catch {
      return (error as? StoreError)?.kind
    }
  }

  private func query(_ request: WireRequest) -> [String] {
    request.query.map { "\($0.name)=\($0.value)" }
  }

  @Test func aBatchOfRemovalsHasItsChecksumAndItsKeysEscaped() throws {
    let request = try S3Requests.deleteObjects([ObjectKey("a&<b>"), ObjectKey("ü \"")])
    #expect(request.method == .post)
    #expect(query(request) == ["delete="])
    #expect(
      String(decoding: request.document, as: UTF8.self)
        == "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>"
        + "<Object><Key>a&amp;&lt;b&gt;</Key></Object><Object><Key>ü &quot;</Key></Object></Delete>"
    )
    // Computed with openssl dgst -md5 -binary | base64 over the text above.
    #expect(request.fields["Content-MD5"] == "DBvHK/xZnmm0kYCPcMsctg==")
    guard case .sha256 = request.bodyHash else {
      Issue.record("the document is not signed")
      return
    }
  }

  @Test func aKeyThatXMLCannotCarryIsNotInABatch() throws {
    for bytes in [[0x0A], [0x0D], [0x00], [0xFF], Array("\u{FFFF}".utf8)] as [[UInt8]] {
      let odd = ObjectKey(Array("a".utf8) + bytes)
      #expect(!S3Requests.canDeleteTogether(odd))
      #expect(kind { _ = try S3Requests.deleteObjects([odd]) } == .invalidRequest)
    }
    #expect(S3Requests.canDeleteTogether(ObjectKey("\u{e9} \u{1f600}\\")))
    #expect(kind { _ = try S3Requests.deleteObjects([ObjectKey("")]) } == .invalidRequest)
  }

  @Test func aBatchTellsForEachKeyWhyItStayed() throws {
    let keys = ["a", "b&c", "d"].map { ObjectKey($0) }
    let request = try S3Requests.deleteObjects(keys)
    let failures = try S3Answers.deletedObjects(
      answer(
        "<DeleteResult><Deleted><Key>a</Key></Deleted>"
          + "<Error><Key>b&amp;c</Key><Code>AccessDenied</Code><Message>No.</Message></Error>"
          + "<Error><Key>d</Key><Code>NoSuchKey</Code></Error></DeleteResult>"
      ),
      to: request,
      keys: keys
    )
    #expect(failures.keys.map(\.description) == ["b&c"])
    let failure = failures[ObjectKey("b&c")]
    #expect(failure?.kind == .accessDenied)
    #expect(failure?.message == "No")
    #expect(failure?.key == ObjectKey("b&c"))
    #expect(
      try S3Answers.deletedObjects(answer("<DeleteResult/>"), to: request, keys: keys).isEmpty
    )
  }

  @Test(arguments: [
    ("<DeleteResult><Error><Key>x</Key><Code>AccessDenied</Code></Error></DeleteResult>", 200),
    ("<DeleteResult><Error><Code>AccessDenied</Code></Error></DeleteResult>", 200),
    ("", 200), ("<html/>", 200), ("<ListBucketResult/>", 200),
  ])
  func aBatchWhoseAnswerIsAboutSomethingElseIsNotBelieved(_ body: String, _ status: Int) throws {
    let keys = [key]
    let request = try S3Requests.deleteObjects(keys)
    #expect(
      kind {
        _ = try S3Answers.deletedObjects(answer(body, status: status), to: request, keys: keys)
      } == .invalidAnswer
    )
    let denied = answer("<Error><Code>AccessDenied</Code></Error>", status: 403)
    #expect(
      kind { _ = try S3Answers.deletedObjects(denied, to: request, keys: keys) } == .accessDenied
    )
  }

  @Test func tagsAreAFormWhenTheyAreSetAndADocumentWhenTheyAreRead() throws {
    var put = PutRequest(key: key)
    put.tags = ["b": "1+2 =&", "a ü": ""]
    #expect(
      try S3Requests.putObject(put).fields["x-amz-tagging"] == "a%20%C3%BC=&b=1%2B2%20%3D%26"
    )
    #expect(
      try S3Requests.createMultipartUpload(put).fields["x-amz-tagging"]
        == "a%20%C3%BC=&b=1%2B2%20%3D%26"
    )
    let request = try S3Requests.getObjectTagging(key, versionID: "v")
    #expect(query(request) == ["versionId=v", "tagging="])
    let tags = try S3Answers.tags(
      answer(
        "<Tagging><TagSet><Tag><Key>a ü</Key><Value/></Tag>"
          + "<Tag><Key>b</Key><Value>1+2 =&amp;</Value></Tag></TagSet></Tagging>"
      ),
      to: request
    )
    #expect(tags == put.tags)
    #expect(try S3Answers.tags(answer("<Tagging><TagSet/></Tagging>"), to: request) == [:])
    for body in ["<Tagging><TagSet><Tag><Key>a</Key></Tag></TagSet></Tagging>", "<x/>", "", "{}"] {
      #expect(kind { _ = try S3Answers.tags(answer(body), to: request) } == .invalidAnswer)
    }
  }

  @Test func aCopyReplacesTagsOnlyIfAsked() throws {
    var target = PutRequest(key: key)
    target.tags = ["a": "1"]
    var copy = CopyRequest(source: CopySource(key: ObjectKey("s")), target: target)
    let plain = try S3Requests.copyObject(copy, bucket: "b")
    #expect(plain.fields["x-amz-tagging"] == nil)
    #expect(plain.fields["x-amz-tagging-directive"] == nil)
    copy.replacesTags = true
    let replacing = try S3Requests.copyObject(copy, bucket: "b")
    #expect(replacing.fields["x-amz-tagging"] == "a=1")
    #expect(replacing.fields["x-amz-tagging-directive"] == "REPLACE")
    copy.target.tags = [:]
    let clearing = try S3Requests.copyObject(copy, bucket: "b")
    #expect(clearing.fields["x-amz-tagging"] == nil)
    #expect(clearing.fields["x-amz-tagging-directive"] == "REPLACE")
  }

  @Test func conditionsAreFieldsOfAHeadAndOfACopysSource() throws {
    var conditions = ReadConditions(ifMatch: ETag("a"))
    conditions.ifNoneMatch = ETag("W/\"b\"")
    conditions.ifModifiedSince = moment
    conditions.ifUnmodifiedSince = Timestamp(seconds: 0)
    let head = try S3Requests.headObject(key, conditions: conditions)
    var source = CopySource(key: ObjectKey("s"))
    source.conditions = conditions
    let copy = try S3Requests.copyObject(
      CopyRequest(source: source, target: PutRequest(key: key)),
      bucket: "b"
    )
    for (request, prefix) in [(head, ""), (copy, "x-amz-copy-source-")] {
      #expect(request.fields[prefix + "If-Match"] == "\"a\"")
      #expect(request.fields[prefix + "If-None-Match"] == "W/\"b\"")
      #expect(request.fields[prefix + "If-Modified-Since"] == "Mon, 30 Nov 2026 08:30:00 GMT")
      #expect(request.fields[prefix + "If-Unmodified-Since"] == "Thu, 01 Jan 1970 00:00:00 GMT")
    }
  }

  @Test func notModifiedIsAFailedCondition() throws {
    let request = try S3Requests.headObject(key, conditions: ReadConditions())
    let error = S3Answers.error(WireAnswer(status: 304), to: request)
    #expect(error.kind == .preconditionFailed)
    #expect(error.message == "the object has not changed from what the condition excludes")
  }

  @Test func uploadsAreReadPageByPage() throws {
    let prefix = ObjectKey("d/")
    let first = S3Requests.listMultipartUploads(prefix: prefix)
    #expect(query(first) == ["uploads=", "prefix=d%2F", "encoding-type=url"])
    let page = answer(
      "<ListMultipartUploadsResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
        + "<NextKeyMarker>d%2Fb+c</NextKeyMarker><NextUploadIdMarker>u2</NextUploadIdMarker>"
        + "<Upload><Key>d%2Fa</Key><UploadId>u1</UploadId><Owner><ID>o</ID></Owner>"
        + "<Initiated>2026-11-30T08:30:00.000Z</Initiated></Upload>"
        + "<Upload><Key>d%2Fb+c</Key><UploadId>u2</UploadId></Upload>"
        + "<Upload><Key>e</Key><UploadId>u3</UploadId></Upload>"
        + "<Upload><Key>d%2Fx</Key></Upload><Upload><UploadId>u4</UploadId></Upload>"
        + "</ListMultipartUploadsResult>"
    )
    let read = try S3Answers.uploads(page, to: first, prefix: prefix, after: nil)
    let marker = UploadReference(key: ObjectKey("d/b c"), uploadID: "u2")
    #expect(
      read.uploads == [
        UnfinishedUpload(
          reference: UploadReference(key: ObjectKey("d/a"), uploadID: "u1"),
          initiated: moment
        ),
        UnfinishedUpload(reference: marker, initiated: Timestamp(seconds: 0)),
      ]
    )
    #expect(read.nextMarker == marker)
    let second = S3Requests.listMultipartUploads(prefix: prefix, after: marker)
    #expect(
      query(second).contains("key-marker=d%2Fb%20c")
        && query(second).contains("upload-id-marker=u2")
    )
    #expect(
      kind { _ = try S3Answers.uploads(page, to: second, prefix: prefix, after: marker) }
        == .invalidAnswer
    )
    let last = answer(
      "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>"
    )
    #expect(try S3Answers.uploads(last, to: first, prefix: prefix, after: nil).nextMarker == nil)
    let lost = answer(
      "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>"
    )
    #expect(
      kind { _ = try S3Answers.uploads(lost, to: first, prefix: prefix, after: nil) }
        == .invalidAnswer
    )
  }

  @Test func theMarkerOfChunkedSigningIsNoEncodingOfTheObject() throws {
    for (written, read) in [
      ("aws-chunked", nil), ("aws-chunked,gzip", "gzip"), ("gzip, aws-chunked", "gzip"),
      ("gzip", "gzip"), ("gzip,br", "gzip,br"), ("", nil),
    ] {
      let fields = HeaderFields(["Content-Length": "1", "Content-Encoding": written])
      let metadata = try S3Answers.object(
        WireAnswer(status: 200, fields: fields),
        to: S3Requests.headObject(key)
      )
      #expect(metadata.headers.contentEncoding == read, "\(written)")
    }
  }

  @Test func theNumberOfTagsIsReadWithTheHead() throws {
    let fields = HeaderFields(["Content-Length": "1", "x-amz-tagging-count": "2"])
    let request = try S3Requests.headObject(key)
    #expect(
      try S3Answers.object(WireAnswer(status: 200, fields: fields), to: request).tagCount == 2
    )
  }
}
