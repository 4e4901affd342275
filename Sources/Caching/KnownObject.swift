package import Core

/// An object that the cache knows without its store: what its checkpoint says.
package struct KnownObject: Hashable, Sendable {
  /// The version whose bytes the cache has.
  package let version: ObjectVersion
  /// Bytes of it on the disk, about.
  package let cachedByteCount: Int
  /// When it was last opened, or grew.
  package let lastUsed: Timestamp

  /// Creates what is known.
  package init(version: ObjectVersion, cachedByteCount: Int, lastUsed: Timestamp) {
    self.version = version
    self.cachedByteCount = cachedByteCount
    self.lastUsed = lastUsed
  }

  /// Memory that one takes in a list, about: the key's bytes, and 256 for all else.
  var byteCount: Int { version.key.bytes.count + 256 }
}
