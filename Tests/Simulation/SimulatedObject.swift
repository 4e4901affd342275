import Core

extension SimulatedStore.Object {
  /// The object that `request` describes.
  init(
    _ request: PutRequest,
    _ content: SimulatedContent,
    etag: ETag,
    crc64: UInt64?,
    at time: Timestamp
  ) {
    self.content = content
    self.etag = etag
    self.crc64 = crc64
    lastModified = time
    headers = request.headers
    storageClass = request.storageClass
    userMetadata = request.userMetadata
    tags = request.tags
  }

  /// All facts, as HEAD gives them.
  func metadata(_ key: ObjectKey) -> ObjectMetadata {
    var metadata = ObjectMetadata(
      version: ObjectVersion(
        key: key,
        etag: etag,
        size: content.size,
        // Source: RFC 9110 section 5.6.7: a header's date has whole seconds.
        lastModified: lastModified.wholeSecond
      )
    )
    metadata.headers = headers
    metadata.headers.contentType = headers.contentType ?? "binary/octet-stream"
    metadata.storageClass = storageClass
    metadata.userMetadata = userMetadata
    metadata.tagCount = tags.count
    metadata.isArchived = isArchived
    metadata.crc64 = crc64
    return metadata
  }

  /// The facts that a listing gives.
  func listedMetadata(_ key: ObjectKey) -> ObjectMetadata {
    var metadata = metadata(key)
    metadata.headers = ContentHeaders()
    metadata.userMetadata = nil
    metadata.tagCount = nil
    return metadata
  }
}
