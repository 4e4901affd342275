package import Core

extension Bucket {
  /// The full name of an object in its bucket: bytes, which need not be text.
  public struct Key: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a key from its bytes.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Creates the key that a text spells in UTF-8.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// Creates the key that a literal spells in UTF-8.
    public init(stringLiteral text: String) { self.init(text) }

    /// The key for people: what can't be printed is escaped.
    public var description: String { bytes.printable }

    /// The key as everything below names it.
    package var objectKey: ObjectKey { ObjectKey(bytes) }
  }
}
