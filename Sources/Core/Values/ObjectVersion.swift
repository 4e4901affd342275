/// What cached bytes belong to: one version of one object.
///
/// Two versions are the same if key, ETag and size agree (and the version id, where one was asked
/// for). `lastModified` is carried along for show and for stores whose tags are weak.
package struct ObjectVersion: Hashable, Sendable {
  /// The object's key.
  package let key: ObjectKey
  /// The version's tag; nil only for stores that give none, whose objects are never cached on disk.
  package let etag: ETag?
  /// The object's size in bytes.
  package let size: Int
  /// When the store says that it was last modified.
  package let lastModified: Timestamp
  /// The version id, if the caller asked for a particular one; nil means "the current one".
  package let versionID: String?

  /// Creates a version.
  package init(
    key: ObjectKey,
    etag: ETag?,
    size: Int,
    lastModified: Timestamp,
    versionID: String? = nil
  ) {
    self.key = key
    self.etag = etag
    self.size = size
    self.lastModified = lastModified
    self.versionID = versionID
  }

  /// Returns true if bytes of one may be served as bytes of the other.
  package func isSameContent(as other: ObjectVersion) -> Bool {
    key == other.key && size == other.size && versionID == other.versionID
      && (etag == nil
        ? other.etag == nil && lastModified.wholeSecond == other.lastModified.wholeSecond
        : etag == other.etag)
  }
}

/// The store has made one version of another, byte by byte, on the condition that it was that one.
package struct VersionMove: Hashable, Sendable {
  /// What was copied.
  package let source: ObjectVersion
  /// The copy.
  package let target: ObjectVersion

  /// Creates a move.
  package init(_ source: ObjectVersion, to target: ObjectVersion) {
    self.source = source
    self.target = target
  }
}

/// What a store says of an object: by HEAD in full, by a listing in part.
package struct ObjectMetadata: Hashable, Sendable {
  /// The version these facts belong to.
  package var version: ObjectVersion
  /// The storage class in the store's own spelling; nil means its standard class.
  package var storageClass: String?
  /// What the bytes are served with; empty if it came from a listing, which doesn't say.
  package var headers = ContentHeaders()
  /// The current version's id, in a bucket that keeps versions.
  package var currentVersionID: String?
  /// CRC-64/XZ of the whole object, where the store keeps one (TOS).
  package var crc64: UInt64?
  /// User metadata by lower-case name; nil if it came from a listing.
  package var userMetadata: [String: String]?
  /// How many tags the object has; nil if the store didn't say.
  package var tagCount: Int?
  /// True if the bytes must be restored from an archive before they can be read.
  package var isArchived: Bool

  /// Creates metadata of which only the version is known.
  package init(version: ObjectVersion) {
    self.version = version
    isArchived = false
  }

  /// The object's key.
  package var key: ObjectKey { version.key }
  /// The object's size in bytes.
  package var size: Int { version.size }
}
