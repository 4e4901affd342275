import Core
import StoreWire
import Testing

@Suite struct S3RequestsTests {
  private let key = ObjectKey("dir/a b")
  private let upload = UploadReference(key: ObjectKey("dir/a b"), uploadID: "id+/=")

  private func url(_ request: WireRequest) throws -> String {
    try Endpoint("http://127.0.0.1").target(of: request, bucket: "b").url
  }

  @Test func aRangeBecomesInclusive() throws {
    let request = try S3Requests.getObject(
      GetRequest(
        key: key,
        range: ByteRange(0, 1_048_576),
        ifMatch: ETag("\"e\""),
        versionID: "v/1"
      )
    )
    #expect(request.method == .get)
    #expect(try url(request) == "http://127.0.0.1/b/dir/a%20b?versionId=v%2F1")
    #expect(request.fields["range"] == "bytes=0-1048575")
    #expect(request.fields["if-match"] == "\"e\"")
    #expect(request.operation == .getObject)
    #expect(request.key == key)
    #expect(request.isIdempotent)
  }

  @Test func aHeadMayNameAVersion() throws {
    let request = try S3Requests.headObject(
      key,
      versionID: "v",
      conditions: ReadConditions(ifMatch: ETag("W/\"weak\""))
    )
    #expect(request.method == .head)
    #expect(request.fields["If-Match"] == "W/\"weak\"")
    #expect(try url(request) == "http://127.0.0.1/b/dir/a%20b?versionId=v")
  }

  @Test func listingsAlwaysAskForEncodedKeys() throws {
    let first = S3Requests.listObjects(
      ListRequest(
        prefix: ObjectKey([0x61, 0x2F, 0xFF]),
        isDelimited: true,
        startAfter: ObjectKey("a/é+"),
        countMax: 50
      )
    )
    #expect(
      try url(first)
        == "http://127.0.0.1/b/?list-type=2&encoding-type=url&max-keys=50&prefix=a%2F%FF"
        + "&delimiter=%2F&start-after=a%2F%C3%A9%2B"
    )
    let next = S3Requests.listObjects(
      ListRequest(
        prefix: ObjectKey(""),
        isDelimited: false,
        continuationToken: "t+/=",
        startAfter: ObjectKey("ignored")
      )
    )
    #expect(
      try url(next)
        == "http://127.0.0.1/b/?list-type=2&encoding-type=url&max-keys=1000"
        + "&continuation-token=t%2B%2F%3D"
    )
  }

  @Test func requestsToTheBucketHaveNoKey() throws {
    #expect(try url(S3Requests.headBucket()) == "http://127.0.0.1/b/")
    #expect(try url(S3Requests.getBucketLocation()) == "http://127.0.0.1/b/?location")
    #expect(S3Requests.headBucket().key == nil)
  }

  @Test func aWriteCarriesItsConditionAndItsFacts() throws {
    let request = try S3Requests.putObject(
      PutRequest(
        key: key,
        condition: .ifAbsent,
        contentType: "text/plain",
        userMetadata: ["mtime": "1.5", "Note": "grün"],
        storageClass: "STANDARD_IA"
      ),
      bodyHash: .sha256("00")
    )
    #expect(request.method == .put)
    #expect(request.fields["If-None-Match"] == "*")
    #expect(request.fields["Content-Type"] == "text/plain")
    #expect(request.fields["x-amz-storage-class"] == "STANDARD_IA")
    #expect(request.fields["x-amz-meta-mtime"] == "1.5")
    #expect(request.fields["x-amz-meta-note"] == "=?UTF-8?B?Z3LDvG4=?=")
    #expect(request.bodyHash == .sha256("00"))
    #expect(!request.isIdempotent)
    let replacing = try S3Requests.putObject(PutRequest(key: key, condition: .ifMatch(ETag("x"))))
    #expect(replacing.fields["If-Match"] == "\"x\"")
    #expect(replacing.bodyHash == .unsigned)
    #expect(try S3Requests.putObject(PutRequest(key: key)).isIdempotent)
  }

  @Test func aCopyEncodesItsSource() throws {
    let request = try S3Requests.copyObject(
      CopyRequest(
        source: CopySource(
          key: ObjectKey("dir/my file (1)+é?.txt"),
          versionID: "v&1",
          ifMatch: ETag("e")
        ),
        target: PutRequest(key: key, contentType: "ignored/type", storageClass: "GLACIER_IR")
      ),
      bucket: "b"
    )
    #expect(
      request.fields["x-amz-copy-source"]
        == "b/dir/my%20file%20%281%29%2B%C3%A9%3F.txt?versionId=v%261"
    )
    #expect(request.fields["x-amz-copy-source-if-match"] == "\"e\"")
    #expect(request.fields["x-amz-metadata-directive"] == "COPY")
    #expect(request.fields["x-amz-storage-class"] == "GLACIER_IR")
    #expect(request.fields["Content-Type"] == nil)
    #expect(request.bodyHash == .empty)
  }

  @Test func aCopyMayReplaceTheFactsAndComeFromElsewhere() throws {
    let request = try S3Requests.copyObject(
      CopyRequest(
        source: CopySource(bucket: "other", key: ObjectKey("/k")),
        target: PutRequest(
          key: key,
          condition: .ifAbsent,
          contentType: "a/b",
          userMetadata: ["x": "y"]
        ),
        replacesMetadata: true
      ),
      bucket: "b"
    )
    #expect(request.fields["x-amz-copy-source"] == "other//k")
    #expect(request.fields["x-amz-metadata-directive"] == "REPLACE")
    #expect(request.fields["Content-Type"] == "a/b")
    #expect(request.fields["x-amz-meta-x"] == "y")
    #expect(request.fields["If-None-Match"] == "*")
    #expect(!request.isIdempotent)
  }

  @Test func aMultipartUploadNamesItsPartsAndItsEnd() throws {
    let create = try S3Requests.createMultipartUpload(PutRequest(key: key, condition: .ifAbsent))
    #expect(create.method == .post)
    #expect(try url(create) == "http://127.0.0.1/b/dir/a%20b?uploads")
    #expect(create.fields["If-None-Match"] == nil)
    let part = try S3Requests.uploadPart(upload, partNumber: 7)
    #expect(
      try url(part) == "http://127.0.0.1/b/dir/a%20b?partNumber=7&uploadId=id%2B%2F%3D"
    )
    #expect(part.bodyHash == .unsigned)
    let copy = try S3Requests.uploadPartCopy(
      upload,
      partNumber: 7,
      source: CopySource(key: ObjectKey("s"), ifMatch: ETag("e")),
      range: ByteRange(5, 20),
      bucket: "b"
    )
    #expect(copy.operation == .uploadPartCopy)
    #expect(copy.fields["x-amz-copy-source-range"] == "bytes=5-19")
    #expect(copy.bodyHash == .empty)
    let abort = try S3Requests.abortMultipartUpload(upload)
    #expect(abort.method == .delete)
    #expect(try url(abort) == "http://127.0.0.1/b/dir/a%20b?uploadId=id%2B%2F%3D")
    let list = try S3Requests.listParts(upload, after: 1000)
    #expect(
      try url(list)
        == "http://127.0.0.1/b/dir/a%20b?uploadId=id%2B%2F%3D&part-number-marker=1000"
    )
  }

  @Test func completingSendsThePartsInOrderAndSignsThem() throws {
    let request = try S3Requests.completeMultipartUpload(
      upload,
      parts: [
        UploadedPart(partNumber: 2, etag: ETag("b&<\u{1}")),
        UploadedPart(partNumber: 1, etag: ETag("\"a\"")),
      ],
      condition: .ifMatch(ETag("old"))
    )
    #expect(
      String(decoding: request.document, as: UTF8.self)
        == "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        + "<Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag></Part>"
        + "<Part><PartNumber>2</PartNumber><ETag>&quot;b&amp;&lt;&quot;</ETag></Part>"
        + "</CompleteMultipartUpload>"
    )
    #expect(request.bodyHash == .document(request.document))
    #expect(request.fields["If-Match"] == "\"old\"")
    #expect(!request.isIdempotent)
  }

  @Test func anEmptyKeyNeverBecomesARequestToTheBucket() {
    let empty = ObjectKey("")
    let reference = UploadReference(key: empty, uploadID: "u")
    let requests: [() throws -> WireRequest] = [
      {
        try S3Requests.getObject(GetRequest(key: empty, range: ByteRange(0, 1), ifMatch: nil))
      },
      { try S3Requests.headObject(empty) },
      { try S3Requests.putObject(PutRequest(key: empty)) },
      { try S3Requests.deleteObject(empty) },
      { try S3Requests.createMultipartUpload(PutRequest(key: empty)) },
      { try S3Requests.abortMultipartUpload(reference) },
      {
        try S3Requests.copyObject(
          CopyRequest(source: CopySource(key: empty), target: PutRequest(key: ObjectKey("k"))),
          bucket: "b"
        )
      },
    ]
    for request in requests {
      #expect { try request() } throws: { ($0 as? StoreError)?.kind == .invalidRequest }
    }
  }

  @Test(arguments: ["a\r\nX-Evil: 1", "a\nb", "a\u{0}", "é", "\u{7F}"])
  func noValueEndsItsField(_ value: String) {
    let isRefused = { (error: any Error) in (error as? StoreError)?.kind == .invalidRequest }
    #expect {
      try S3Requests.getObject(
        GetRequest(key: key, range: ByteRange(0, 1), ifMatch: ETag(value))
      )
    } throws: { isRefused($0) }
    #expect {
      try S3Requests.putObject(PutRequest(key: key, contentType: value))
    } throws: { isRefused($0) }
    #expect {
      try S3Requests.putObject(PutRequest(key: key, storageClass: value))
    } throws: { isRefused($0) }
    #expect {
      try S3Requests.putObject(PutRequest(key: key, userMetadata: [value: "x"]))
    } throws: { isRefused($0) }
  }

  @Test func everyValueOfUserMetadataSurvives() throws {
    for value in [
      "", "plain", "a=b;c", " lead", "trail ", "two  spaces", "tab\t", "line\nfeed", "grün 照片",
      "=?UTF-8?B?eA==?=", "=?", "\u{0}", "50%",
    ] {
      let request = try S3Requests.putObject(
        PutRequest(key: key, userMetadata: ["name": value])
      )
      var fields = HeaderFields(["Content-Length": "1", "ETag": "\"e\""])
      fields.append("X-Amz-Meta-Name", try #require(request.fields["x-amz-meta-name"]))
      let metadata = try S3Answers.object(
        WireAnswer(status: 200, fields: fields),
        to: S3Requests.headObject(key)
      )
      #expect(metadata.userMetadata == ["name": value])
    }
  }
}
