package import Core

/// What a store says of an object that it has just been given.
package struct StoredObject: Hashable, Sendable {
  /// The object's key.
  package var key: ObjectKey
  /// Its bytes.
  package var size: Int
  /// Its tag; nil if the store gives none.
  package var etag: ETag?
  /// Its version's id, in a bucket that keeps versions.
  package var versionID: String?
  /// CRC-64/XZ of the whole, where the store tells it.
  package var crc64: UInt64?

  /// Creates what a store says.
  package init(
    key: ObjectKey,
    size: Int,
    etag: ETag?,
    versionID: String? = nil,
    crc64: UInt64? = nil
  ) {
    self.key = key
    self.size = size
    self.etag = etag
    self.versionID = versionID
    self.crc64 = crc64
  }

  /// What HEAD, or a write's answer, says of an object.
  package init(_ metadata: ObjectMetadata) {
    self.init(
      key: metadata.key,
      size: metadata.size,
      etag: metadata.version.etag,
      versionID: metadata.currentVersionID,
      crc64: metadata.crc64
    )
  }
}
