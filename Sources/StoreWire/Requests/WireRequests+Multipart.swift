package import Core

extension WireRequests {
  /// CreateMultipartUpload.
  ///
  /// The condition of `request` isn't sent: it holds at the end, see `completeMultipartUpload`.
  package static func createMultipartUpload(
    _ request: PutRequest
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.createMultipartUpload, .post, request.key)
    wire.query = [WireRequest.QueryItem("uploads")]
    try wire.describe(request, in: spelling)
    wire.tag(request.tags, in: spelling)
    return try wire.checked()
  }

  /// UploadPart; the body is the caller's, and `bodyHash` what the signature says of it.
  package static func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    bodyHash: WireRequest.BodyHash = .unsigned
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.uploadPart, .put, upload.key)
    wire.query = [
      WireRequest.QueryItem("partNumber", String(partNumber)),
      WireRequest.QueryItem("uploadId", upload.uploadID),
    ]
    wire.bodyHash = bodyHash
    return wire
  }

  /// UploadPartCopy of `range` of `source`, which is in `bucket` unless it names another.
  package static func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    bucket: String
  ) throws(StoreError) -> WireRequest {
    var wire = try uploadPart(upload, partNumber: partNumber, bodyHash: spelling.bodyless)
    wire.operation = .uploadPartCopy
    guard !range.isEmpty else {
      throw .unsendable(wire.operation, upload.key, "an empty range can't be copied into a part")
    }
    try wire.copy(from: source, bucket: bucket, in: spelling)
    wire.fields[spelling.prefix + "copy-source-range"] = range.httpSpelling
    return try wire.checked()
  }

  /// AbortMultipartUpload.
  package static func abortMultipartUpload(
    _ upload: UploadReference
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.abortMultipartUpload, .delete, upload.key)
    wire.query = [WireRequest.QueryItem("uploadId", upload.uploadID)]
    return wire
  }

  /// ListParts, of at most 1,000 parts with numbers above `marker`.
  package static func listParts(
    _ upload: UploadReference,
    after marker: Int? = nil
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.listParts, .get, upload.key)
    wire.query = [WireRequest.QueryItem("uploadId", upload.uploadID)]
    if let marker {
      wire.query.append(WireRequest.QueryItem("part-number-marker", String(marker)))
    }
    return wire
  }

  /// ListMultipartUploads, of at most 1,000 uploads behind `marker`; keys come as the document has
  /// them.
  static func uploads(prefix: ObjectKey, after marker: UploadReference?) -> WireRequest {
    var query = [WireRequest.QueryItem("uploads")]
    if !prefix.bytes.isEmpty {
      query.append(WireRequest.QueryItem("prefix", bytes: prefix.bytes))
    }
    if let marker {
      query.append(WireRequest.QueryItem("key-marker", bytes: marker.key.bytes))
      query.append(WireRequest.QueryItem("upload-id-marker", marker.uploadID))
    }
    return bucket(.listMultipartUploads, .get, query)
  }
}
