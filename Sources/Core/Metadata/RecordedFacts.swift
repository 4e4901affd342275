/// User metadata of one version, as it is kept from mount to mount.
package struct RecordedFacts: Hashable, Sendable {
  /// The object's key.
  package var key: ObjectKey
  /// The version's tag; nil is a directory, whose marker may have any.
  package var etag: ETag?
  /// The user metadata by lower-case name.
  package var userMetadata: [String: String]

  /// Creates facts.
  package init(key: ObjectKey, etag: ETag?, userMetadata: [String: String]) {
    self.key = key
    self.etag = etag
    self.userMetadata = userMetadata
  }
}
