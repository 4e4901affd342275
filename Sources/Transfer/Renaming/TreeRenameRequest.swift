package import Core
internal import Crypto

/// The renaming of all keys that begin with a prefix.
package struct TreeRenameRequest: Hashable, Sendable {
  /// The bucket as the user named it, with its endpoint.
  package var storeName: String
  /// The old beginning; a directory's ends in `/`.
  package var source: ObjectKey
  /// The new beginning.
  package var target: ObjectKey
  /// Where journals lie; it exists.
  package var journalDirectory: String
  /// Copies in flight.
  package var parallel = 16
  /// Up to this size one request copies an object; nil leaves it to what the store takes.
  package var wholeSizeMax: Int?
  /// Bytes of a part of a larger one; 0 is the usual size.
  package var partSize = 0
  /// How large parts may be; only tests need others.
  package var limits = PartLimits()
  /// How often the store retries each request; nil leaves it to the deadline.
  package var retryCountMax: Int?

  /// How a journal's name ends.
  static let suffix = ".rename"

  /// Creates a request.
  package init(
    from source: ObjectKey,
    to target: ObjectKey,
    of storeName: String,
    journalDirectory: String
  ) {
    self.source = source
    self.target = target
    self.storeName = storeName
    self.journalDirectory = journalDirectory
  }

  /// The journal's path, named after what becomes what.
  var journalPath: String {
    let digest = SHA256.digest(of: source.bytes + [0] + target.bytes)
    return journalDirectory + "/" + digest.prefix(16).hexadecimal + Self.suffix
  }
}
