package import Core

/// What a store says of an object that it has just stored or copied.
package struct WriteAnswer: Hashable, Sendable {
  /// The new version's tag; nil if the store doesn't say.
  package var etag: ETag?
  /// When it says that the object was last modified; copies have it, stored objects mostly don't.
  package var lastModified: Timestamp?
  /// The store's time of the answer, at most a moment later.
  package var date: Timestamp?
  /// The new version's id, in a bucket that keeps versions.
  package var versionID: String?
  /// CRC-64/XZ of the whole object, where the store tells it (TOS).
  package var crc64: UInt64?

  /// Creates an answer.
  package init(
    etag: ETag?,
    lastModified: Timestamp? = nil,
    date: Timestamp? = nil,
    versionID: String? = nil,
    crc64: UInt64? = nil
  ) {
    self.etag = etag
    self.lastModified = lastModified
    self.date = date
    self.versionID = versionID
    self.crc64 = crc64
  }
}
