/// A multipart upload that is under way.
package struct UploadReference: Hashable, Sendable {
  /// The key that the upload will become.
  package var key: ObjectKey
  /// The store's id for it.
  package var uploadID: String

  /// Creates a reference.
  package init(key: ObjectKey, uploadID: String) {
    self.key = key
    self.uploadID = uploadID
  }
}

/// A part of a multipart upload that the store has.
package struct UploadedPart: Hashable, Sendable {
  /// Its number, 1 to 10,000.
  package var partNumber: Int
  /// The tag that completing must name.
  package var etag: ETag
  /// Its size in bytes; nil if not known.
  package var size: Int?
  /// CRC-64/XZ of its bytes as the store computed it, where it does (TOS).
  package var crc64: UInt64?

  /// Creates a part.
  package init(partNumber: Int, etag: ETag, size: Int? = nil, crc64: UInt64? = nil) {
    self.partNumber = partNumber
    self.etag = etag
    self.size = size
    self.crc64 = crc64
  }
}

/// What a store says of the object that an upload became.
package struct CompletedUpload: Hashable, Sendable {
  /// The object's tag.
  package var etag: ETag
  /// CRC-64/XZ of the whole object, where the store tells it (TOS).
  package var crc64: UInt64?
  /// The version's id, in a bucket that keeps versions.
  package var versionID: String?

  /// Creates what a store says.
  package init(etag: ETag, crc64: UInt64? = nil, versionID: String? = nil) {
    self.etag = etag
    self.crc64 = crc64
    self.versionID = versionID
  }
}

/// A multipart upload that was begun and neither completed nor given up.
package struct UnfinishedUpload: Hashable, Sendable {
  /// Which one.
  package var reference: UploadReference
  /// When it was begun.
  package var initiated: Timestamp

  /// Creates an upload.
  package init(reference: UploadReference, initiated: Timestamp) {
    self.reference = reference
    self.initiated = initiated
  }
}
