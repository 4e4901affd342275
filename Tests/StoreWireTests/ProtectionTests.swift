import Core
import StoreWire
import Testing

/// What goes along with a write beside its bytes and what they are: encryption, access, checksums.
@Suite struct ProtectionTests {
  private let put = PutRequest(key: ObjectKey("k"))
  private let upload = UploadReference(key: ObjectKey("k"), uploadID: "id")

  private func protection(_ encryption: ServerSideEncryption?, _ acl: String?) -> ObjectProtection {
    var protection = ObjectProtection()
    protection.encryption = encryption
    protection.acl = acl
    return protection
  }

  private func digest(_ kind: ChecksumKind, of text: String) -> BodyDigest? {
    guard var builder = BodyDigest.Builder(kind) else { return nil }
    builder.update(Array(text.utf8).span.bytes)
    return builder.finish()
  }

  @Test func eachProtocolHasItsOwnWords() throws {
    let wanted = protection(.keyService(keyID: "key/1"), "public-read")
    let s3 = S3Dialect(bucket: "b", isAmazons: false)
    let s3Fields = try s3.protected(s3.createMultipartUpload(put), by: wanted).request.fields
    #expect(s3Fields["x-amz-acl"] == "public-read")
    #expect(s3Fields["x-amz-server-side-encryption"] == "aws:kms")
    #expect(s3Fields["x-amz-server-side-encryption-aws-kms-key-id"] == "key/1")
    let tos = TOSDialect(bucket: "bucket")
    let tosFields = try tos.protected(tos.createMultipartUpload(put), by: wanted).request.fields
    #expect(tosFields["x-tos-acl"] == "public-read")
    #expect(tosFields["x-tos-server-side-encryption"] == "kms")
    #expect(tosFields["x-tos-server-side-encryption-kms-key-id"] == "key/1")
  }

  @Test func keysOfTheStoreAreNamedByTheirCipher() throws {
    let dialect = S3Dialect(bucket: "b", isAmazons: false)
    let call = try dialect.protected(
      dialect.putObject(put, bodyHash: .unsigned),
      by: protection(.storeKeys, nil)
    )
    #expect(call.request.fields["x-amz-server-side-encryption"] == "AES256")
    #expect(call.request.fields["x-amz-server-side-encryption-aws-kms-key-id"] == nil)
    #expect(call.request.fields["x-amz-acl"] == nil)
  }

  @Test func aValueThatEndsTheFieldIsRefused() throws {
    let dialect = S3Dialect(bucket: "b", isAmazons: false)
    #expect(throws: StoreError.self) {
      try dialect.protected(
        dialect.putObject(put, bodyHash: .unsigned),
        by: protection(nil, "private\r\nx: y")
      )
    }
  }

  // "123456789": the published check values, with the most significant byte first, in base64.
  @Test(
    arguments: [
      (.crc64nvme, "x-amz-checksum-crc64nvme", "rosUhgp5mIg="),
      (.crc32c, "x-amz-checksum-crc32c", "4waSgw=="),
      (.md5, "Content-MD5", "JfnnlDI7RTiF9RgfG2JNCw=="),
    ] as [(ChecksumKind, String, String)]
  )
  func aDigestHasItsField(_ kind: ChecksumKind, _ field: String, _ text: String) throws {
    let dialect = S3Dialect(bucket: "b", isAmazons: false)
    let call = try dialect.checked(
      dialect.uploadPart(upload, partNumber: 1, bodyHash: .unsigned),
      by: #require(digest(kind, of: "123456789"))
    )
    #expect(call.request.fields[field] == text)
  }

  @Test func anAnswerWithAnotherChecksumIsNone() throws {
    let dialect = S3Dialect(bucket: "b", isAmazons: false)
    let call = try dialect.checked(
      dialect.putObject(put, bodyHash: .unsigned),
      by: #require(digest(.crc32c, of: "123456789"))
    )
    func answer(_ checksum: String?) -> WireAnswer {
      var fields: HeaderFields = HeaderFields(["ETag": "\"e\""])
      fields["x-amz-checksum-crc32c"] = checksum
      return WireAnswer(status: 200, fields: fields, body: [])
    }
    #expect(try call.read(answer(nil)).etag == ETag("\"e\""))
    #expect(try call.read(answer("4waSgw==")).etag == ETag("\"e\""))
    #expect {
      try call.read(answer("AAAAAA=="))
    } throws: { error in
      (error as? StoreError)?.kind == .invalidAnswer
    }
  }

  /// Only of the whole object's checksum need the parts' not be named when the upload is completed.
  @Test func anUploadInPartsKeepsTheChecksumOfTheWhole() throws {
    let dialect = S3Dialect(bucket: "b", isAmazons: true)
    let begun = dialect.keeping(.crc64nvme, try dialect.createMultipartUpload(put)).request.fields
    #expect(begun["x-amz-checksum-algorithm"] == "CRC64NVME")
    #expect(begun["x-amz-checksum-type"] == "FULL_OBJECT")
    let plain = dialect.keeping(.md5, try dialect.createMultipartUpload(put)).request.fields
    #expect(plain["x-amz-checksum-algorithm"] == nil)
    let copy = CopyRequest(source: CopySource(key: ObjectKey("a")), target: put)
    let copied = dialect.keeping(.crc32c, try dialect.copyObject(copy)).request.fields
    #expect(copied["x-amz-checksum-algorithm"] == "CRC32C")
    #expect(copied["x-amz-checksum-type"] == nil)
  }

  @Test func onlyAmazonIsKnownToTakeMoreThanATag() {
    #expect(S3Dialect(bucket: "b", isAmazons: true).usualChecksum == .crc64nvme)
    #expect(S3Dialect(bucket: "b", isAmazons: false).usualChecksum == nil)
    #expect(TOSDialect(bucket: "bucket").usualChecksum == nil)
  }
}
