/// How a store encrypts an object at rest, with keys that the client never sees.
package enum ServerSideEncryption: Hashable, Sendable {
  /// With keys that the store keeps (SSE-S3, SSE-TOS).
  case storeKeys
  /// With a key of the provider's key management service; nil is the bucket's, or the account's own.
  case keyService(keyID: String?)
}

/// What guards an object at the store: how it is encrypted there, and who may reach it.
///
/// A store takes neither over when it copies, so every write must say it anew.
///
/// Source: Amazon S3 API Reference, "CopyObject"; TOS API reference, "CopyObject".
package struct ObjectProtection: Hashable, Sendable {
  /// How it is encrypted; nil leaves it to the bucket.
  package var encryption: ServerSideEncryption?
  /// A canned access control list, in the store's spelling; nil leaves it to the bucket.
  package var acl: String?

  /// Creates protection of which none is said.
  package init() {}
}
