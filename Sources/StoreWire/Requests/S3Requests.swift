package import Core
internal import Crypto

/// The requests of the S3 protocol: the common ones, and those whose documents are XML.
///
/// Source: Amazon S3 API Reference, the operations of the same names.
package enum S3Requests: WireRequests {
  package static let spelling = FieldSpelling.s3

  /// GetBucketLocation.
  package static func getBucketLocation() -> WireRequest {
    bucket(.getBucketLocation, .get, [WireRequest.QueryItem("location")])
  }

  /// CompleteMultipartUpload; the parts go along by ascending number.
  package static func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.completeMultipartUpload, .post, upload.key)
    wire.query = [WireRequest.QueryItem("uploadId", upload.uploadID)]
    wire.require(condition, in: spelling)
    wire.isIdempotent = false
    wire.fields["Content-Type"] = "application/xml"
    wire.document = CompletionDocument.bytes(of: parts)
    wire.bodyHash = .document(wire.document)
    return try wire.checked()
  }

  /// ListMultipartUploads, of at most 1,000 uploads behind `marker`, with encoded keys as in a
  /// listing.
  package static func listMultipartUploads(
    prefix: ObjectKey,
    after marker: UploadReference? = nil
  ) -> WireRequest {
    var wire = uploads(prefix: prefix, after: marker)
    wire.query.append(WireRequest.QueryItem("encoding-type", "url"))
    return wire
  }

  /// Returns true if DeleteObjects can name the key; one that it can't is removed by itself.
  package static func canDeleteTogether(_ key: ObjectKey) -> Bool {
    DeletionDocument.canCarry(key)
  }

  /// DeleteObjects, quiet: the answer names only what could not be removed.
  ///
  /// The checksum of the document is demanded. `Content-MD5` is what every store of the protocol
  /// takes; where this machine has no MD5, the newer SHA-256 goes along instead.
  ///
  /// - Throws: `.invalidRequest` if a key can't stand in XML.
  package static func deleteObjects(_ keys: [ObjectKey]) throws(StoreError) -> WireRequest {
    var wire = bucket(.deleteObjects, .post, [WireRequest.QueryItem("delete")])
    wire.document = try DeletionDocument.bytes(of: keys)
    wire.bodyHash = .document(wire.document)
    wire.fields["Content-Type"] = "application/xml"
    if let digest = MD5.digest(of: wire.document) {
      wire.fields["Content-MD5"] = Base64.encode(digest)
    } else {
      wire.fields["x-amz-checksum-sha256"] = Base64.encode(SHA256.digest(of: wire.document))
    }
    return try wire.checked()
  }
}
