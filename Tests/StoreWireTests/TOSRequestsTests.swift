import Core
import StoreWire
import Testing

/// The requests of TOS as they go on the wire, some of them against what the vendor's own client sends.
@Suite struct TOSRequestsTests {
  private let key = ObjectKey("dir/a b")
  private let upload = UploadReference(key: ObjectKey("k"), uploadID: "U+1")

  private func url(_ request: WireRequest) throws -> String {
    try Endpoint("https://tos-cn-beijing.volces.com").target(of: request, bucket: "examplebucket")
      .url.replacing("https://examplebucket.tos-cn-beijing.volces.com", with: "")
  }

  private func text(_ request: WireRequest) -> String {
    String(decoding: request.document, as: UTF8.self)
  }

  private func fieldNames(_ request: WireRequest) -> Set<String> {
    Set(request.fields.fields.map { $0.name.lowercased() })
  }

  // The recorded requests, each built here and changed only in what the vendor's client does by habit.
  private static let vendorTag = ETag("0f343b0931126a20f133d67c2b018a3b")
  private static let vendorSource = ObjectKey("目录/my file (1)+é.txt")

  private static func built(_ name: Substring) throws -> WireRequest {
    let file = ObjectKey("dir/file.bin")
    switch name {
    case "T1":
      return try TOSRequests.getObject(
        GetRequest(key: file, range: ByteRange(0, 1 << 20), ifMatch: vendorTag)
      )
    case "T2":
      var request = TOSRequests.listObjects(
        ListRequest(
          prefix: ObjectKey("照片/a b+c"),
          isDelimited: true,
          continuationToken: "tok+/=~1"
        )
      )
      request.query.append(WireRequest.QueryItem("fetch-owner", "true"))
      return request
    case "T3":
      var request = try TOSRequests.copyObject(
        CopyRequest(
          source: CopySource(bucket: "srcbucket", key: vendorSource, ifMatch: vendorTag),
          target: PutRequest(key: ObjectKey("backup/dst.txt"))
        ),
        bucket: "examplebucket"
      )
      request.fields["x-tos-acl"] = "private"
      request.fields["x-tos-metadata-directive"] = nil
      // It sends tags without their quotes, we with them; TOS takes both.
      request.fields["x-tos-copy-source-if-match"] = vendorTag.value
      return request
    case "T4":
      return try TOSRequests.putObject(
        PutRequest(
          key: ObjectKey("a b+c%d/é中~=&?#!'()*@:,;$.txt"),
          condition: .ifAbsent,
          contentType: "text/plain",
          userMetadata: ["mtime": "1767225600"]
        )
      )
    case "T5":
      return try TOSRequests.getObject(GetRequest(key: file, range: ByteRange(0, 1), ifMatch: nil))
    case "T6":
      return try TOSRequests.createMultipartUpload(
        PutRequest(key: file, contentType: "application/octet-stream")
      )
    case "T7":
      var request = try TOSRequests.deleteObjects([ObjectKey("a")])
      request.fields["Content-Type"] = nil
      return request
    case "T8":
      return try TOSRequests.putObject(
        PutRequest(key: ObjectKey("hello.txt"), contentType: "text/plain"),
        bodyHash: .document(Array("hello".utf8))
      )
    case "T9":
      return try TOSRequests.uploadPartCopy(
        UploadReference(key: ObjectKey("backup/dst.bin"), uploadID: "uploadid123"),
        partNumber: 7,
        source: CopySource(
          bucket: "srcbucket",
          key: ObjectKey("目录/my file.bin"),
          ifMatch: ETag("etag")
        ),
        range: ByteRange(0, 20 << 20),
        bucket: "examplebucket"
      )
    case "T10":
      return try TOSRequests.renameObject(
        RenameRequest(
          source: ObjectKey("old name/é"),
          target: ObjectKey("new/dir+name"),
          replaces: false
        ),
        makesDirectories: true
      )
    default: return TOSRequests.headBucket()
    }
  }

  @Test(arguments: try SignatureVector.all(in: "tos-vectors.json").prefix(11))
  func whatTheBuildersMakeIsSignedAsTheVendorsClientDoes(_ vector: SignatureVector) throws {
    let name = try #require(vector.name.split(separator: " ").first)
    let request = try Self.built(name)
    let target = try Endpoint("https://tos-cn-beijing.volces.com")
      .target(of: request, bucket: "examplebucket")
    let signer = Signer(
      dialect: TOSDialect(bucket: "examplebucket").signature,
      region: "cn-beijing"
    )
    let fields = signer.fields(
      of: request,
      to: target,
      credentials: vector.credentials,
      at: SignatureVector.time
    )
    #expect(fields["Authorization"] == vector.headers["Authorization"])
    // The same fields, in values too, but for the ones that every transport adds.
    for (field, value) in vector.headers where field.lowercased().hasPrefix("x-tos-") {
      #expect(fields[field] == value, "\(field)")
    }
  }

  @Test func conditionsOfWritesAreTOSsOwn() throws {
    let create = try TOSRequests.putObject(PutRequest(key: key, condition: .ifAbsent))
    #expect(create.fields["x-tos-forbid-overwrite"] == "true")
    #expect(create.condition == .ifAbsent)
    #expect(!create.isIdempotent)
    let replace = try TOSRequests.putObject(PutRequest(key: key, condition: .ifMatch(ETag("e"))))
    #expect(replace.fields["x-tos-if-match"] == "\"e\"")
    #expect(replace.fields["If-Match"] == nil)
    #expect(!replace.isIdempotent)
    let complete = try TOSRequests.completeMultipartUpload(upload, parts: [], condition: .ifAbsent)
    #expect(complete.fields["x-tos-forbid-overwrite"] == "true")
  }

  @Test func completingOnAConditionThatTOSWouldIgnoreIsRefused() {
    let error = #expect(throws: StoreError.self) {
      try TOSRequests.completeMultipartUpload(upload, parts: [], condition: .ifMatch(ETag("e")))
    }
    #expect(error?.kind == .unsupported)
  }

  @Test func userMetadataIsPercentEncodedInNameAndValue() throws {
    let request = try TOSRequests.putObject(
      PutRequest(
        key: key,
        userMetadata: ["Größe": "1 + 2 = 100%", "plain": "a-b_c.d~e", "x:y": ""]
      )
    )
    #expect(request.fields["x-tos-meta-gr%C3%B6%C3%9Fe"] == "1%20%2B%202%20%3D%20100%25")
    #expect(request.fields["x-tos-meta-plain"] == "a-b_c.d~e")
    #expect(request.fields["x-tos-meta-x%3Ay"] == "")
  }

  @Test func headersTagsAndClassGoAlong() throws {
    var put = PutRequest(key: key, contentType: "text/plain", storageClass: "IA")
    put.headers.cacheControl = "no-cache"
    put.tags = ["a": "1 2"]
    for request in [
      try TOSRequests.putObject(put), try TOSRequests.createMultipartUpload(put),
    ] {
      #expect(request.fields["Content-Type"] == "text/plain")
      #expect(request.fields["Cache-Control"] == "no-cache")
      #expect(request.fields["x-tos-storage-class"] == "IA")
      #expect(request.fields["x-tos-tagging"] == "a=1%202")
    }
  }

  @Test func aCopyNamesItsConditionsAndDirectives() throws {
    var source = CopySource(key: ObjectKey("s"), versionID: "v", ifMatch: ETag("e"))
    source.conditions.ifUnmodifiedSince = Timestamp(seconds: 0)
    var copy = CopyRequest(source: source, target: PutRequest(key: key, condition: .ifAbsent))
    let plain = try TOSRequests.copyObject(copy, bucket: "b")
    #expect(plain.fields["x-tos-copy-source"] == "b/s?versionId=v")
    #expect(plain.fields["x-tos-copy-source-if-match"] == "\"e\"")
    #expect(
      plain.fields["x-tos-copy-source-if-unmodified-since"] == "Thu, 01 Jan 1970 00:00:00 GMT"
    )
    #expect(plain.fields["x-tos-metadata-directive"] == "COPY")
    #expect(plain.fields["x-tos-forbid-overwrite"] == "true")
    copy.replacesMetadata = true
    copy.replacesTags = true
    copy.target.tags = ["t": "1"]
    let replacing = try TOSRequests.copyObject(copy, bucket: "b")
    #expect(replacing.fields["x-tos-metadata-directive"] == "REPLACE")
    #expect(replacing.fields["x-tos-tagging-directive"] == "REPLACE")
    #expect(replacing.fields["x-tos-tagging"] == "t=1")
  }

  @Test func documentsAreJSONOfOneSpelling() throws {
    let complete = try TOSRequests.completeMultipartUpload(
      upload,
      parts: [
        UploadedPart(partNumber: 2, etag: ETag("\"b\"")),
        UploadedPart(partNumber: 1, etag: ETag("a/\"x\"")),
      ],
      condition: .none
    )
    #expect(complete.method == .post)
    #expect(try url(complete) == "/k?uploadId=U%2B1")
    #expect(
      text(complete)
        == #"{"Parts":[{"ETag":"a/\"x\"","PartNumber":1},{"ETag":"b","PartNumber":2}]}"#
    )
    #expect(!complete.isIdempotent)
    let delete = try TOSRequests.deleteObjects([ObjectKey("a/\"\\\n"), ObjectKey("é\u{1f600}")])
    #expect(
      text(delete) == #"{"Objects":[{"Key":"a/\"\\\n"},{"Key":"é😀"}],"Quiet":true}"#
    )
    #expect(try url(delete) == "/?delete")
    // Computed with openssl dgst -md5 -binary | base64 over the text above.
    #expect(delete.fields["Content-MD5"] == "ht2guh5tPF3iGL/mUCvrgA==")
    let restore = try TOSRequests.restoreObject(key, days: 3, tier: .bulk)
    #expect(restore.method == .post)
    #expect(try url(restore) == "/dir/a%20b?restore")
    #expect(text(restore) == #"{"Days":3,"RestoreJobParameters":{"Tier":"Bulk"}}"#)
    #expect(restore.fields["Content-MD5"] == "E26gjaDFVpw612FiiTejiQ==")
  }

  @Test func aKeyThatIsNoTextIsNotRemovedTogetherWithOthers() {
    #expect(!TOSRequests.canDeleteTogether(ObjectKey([0x61, 0xFF])))
    #expect(!TOSRequests.canDeleteTogether(ObjectKey("")))
    #expect(TOSRequests.canDeleteTogether(ObjectKey("a\n\u{FFFD}")))
    let error = #expect(throws: StoreError.self) {
      try TOSRequests.deleteObjects([ObjectKey([0xFF])])
    }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func whatS3HasNotIsAFlagInTheQuery() throws {
    let rename = RenameRequest(source: ObjectKey("a/"), target: ObjectKey("b c/"))
    let plain = try TOSRequests.renameObject(rename, makesDirectories: false)
    #expect(plain.method == .put)
    #expect(try url(plain) == "/a/?rename&name=b%20c%2F")
    #expect(fieldNames(plain) == [])
    #expect(!plain.isIdempotent)
    var put = PutRequest(key: key, contentType: "a/b", userMetadata: ["m": "1"], storageClass: "IA")
    put.tags = ["t": "1"]
    let metadata = try TOSRequests.setObjectMeta(put)
    #expect(metadata.method == .post)
    #expect(try url(metadata) == "/dir/a%20b?metadata")
    #expect(
      fieldNames(metadata) == ["content-type", "x-tos-meta-m", "x-tos-metadata-directive"]
    )
    #expect(metadata.fields["x-tos-metadata-directive"] == "REPLACE")
    let time = try TOSRequests.setObjectTime(key, to: Timestamp(nanoseconds: 1_500_000_007))
    #expect(try url(time) == "/dir/a%20b?time")
    #expect(time.fields["x-tos-modify-timestamp"] == "1")
    #expect(time.fields["x-tos-modify-timestamp-ns"] == "500000007")
    let before = try TOSRequests.setObjectTime(key, to: Timestamp(nanoseconds: -1))
    #expect(before.fields["x-tos-modify-timestamp"] == "-1")
    #expect(before.fields["x-tos-modify-timestamp-ns"] == "999999999")
    #expect(try url(TOSRequests.getFileStatus(key)) == "/dir/a%20b?stat")
    for name in ["dir", "dir/"] {
      let delete = try TOSRequests.deleteDirectory(ObjectKey(name))
      #expect(delete.method == .delete)
      #expect(try url(delete) == "/dir/?recursive=true")
    }
    let link = try TOSRequests.putSymlink(key, to: LinkTarget(bucket: "o", key: ObjectKey("t/é ")))
    #expect(link.method == .put)
    #expect(try url(link) == "/dir/a%20b?symlink")
    #expect(link.fields["x-tos-symlink-target"] == "t/%C3%A9%20")
    #expect(link.fields["x-tos-symlink-bucket"] == "o")
    #expect(try url(TOSRequests.getSymlink(key)) == "/dir/a%20b?symlink")
  }

  @Test func noRequestAboutAnObjectBecomesOneAboutTheBucket() {
    let none = ObjectKey("")
    let builders: [() throws -> WireRequest] = [
      { try TOSRequests.headObject(none) }, { try TOSRequests.putObject(PutRequest(key: none)) },
      { try TOSRequests.deleteObject(none) }, { try TOSRequests.getFileStatus(none) },
      { try TOSRequests.deleteDirectory(none) },
      { try TOSRequests.setObjectMeta(PutRequest(key: none)) },
      { try TOSRequests.setObjectTime(none, to: Timestamp(seconds: 0)) },
      { try TOSRequests.restoreObject(none, days: 1, tier: .standard) },
      { try TOSRequests.putSymlink(none, to: LinkTarget(key: ObjectKey("t"))) },
      { try TOSRequests.putSymlink(ObjectKey("k"), to: LinkTarget(key: none)) },
      { try TOSRequests.getSymlink(none) },
      {
        try TOSRequests.renameObject(
          RenameRequest(source: none, target: ObjectKey("t")),
          makesDirectories: false
        )
      },
      {
        try TOSRequests.renameObject(
          RenameRequest(source: ObjectKey("s"), target: none),
          makesDirectories: false
        )
      },
    ]
    for (index, build) in builders.enumerated() {
      let error = #expect(throws: StoreError.self) { try build() }
      #expect(error?.kind == .invalidRequest, "\(index)")
    }
  }

  @Test func noValueEndsItsField() {
    let error = #expect(throws: StoreError.self) {
      try TOSRequests.putSymlink(
        key,
        to: LinkTarget(bucket: "b\r\nx-tos-acl: public-read", key: ObjectKey("t"))
      )
    }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func whoSignsNothingSendsNeitherADateNorAnAuthorization() throws {
    let request = try TOSRequests.headObject(key)
    #expect(fieldNames(request).isEmpty)
  }
}
