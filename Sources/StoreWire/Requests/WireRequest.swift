package import Core

/// A request to a bucket before it has an address and a signature.
///
/// The builders make it, `Endpoint` gives it an address, `Signer` signs it; each try of a request
/// is signed anew from the same value. The bytes of a large body are not here: the caller sends
/// them and says with `bodyHash` what the signature shall promise about them.
package struct WireRequest: Hashable, Sendable {
  /// What a request does, in HTTP's word.
  package enum Method: String, Hashable, Sendable {
    case get = "GET"
    case head = "HEAD"
    case put = "PUT"
    case post = "POST"
    case delete = "DELETE"
  }

  /// One item of the query, percent-encoded exactly once.
  package struct QueryItem: Hashable, Sendable {
    /// The name as it goes on the wire.
    package let name: String
    /// The value as it goes on the wire; empty for a flag such as `uploads`.
    package let value: String

    /// Creates an item from plain text.
    package init(_ name: String, _ value: String = "") {
      self.name = PercentEncoding.query(name)
      self.value = PercentEncoding.query(value)
    }

    /// Creates an item from plain bytes.
    package init(_ name: String, bytes: [UInt8]) {
      self.name = PercentEncoding.query(name)
      value = PercentEncoding.query(bytes)
    }
  }

  /// What the signature says of the body.
  package enum BodyHash: Hashable, Sendable {
    /// There is no body.
    case empty
    /// The lower-case hexadecimal SHA-256 of the body.
    case sha256(String)
    /// Nothing: `UNSIGNED-PAYLOAD`.
    case unsigned
    /// Nothing, and without a header that says so; the signature then covers the hash of no bytes.
    /// Only TOS takes that.
    case undeclared
  }

  /// The operation, for errors and counters.
  package var operation: StoreOperation
  /// The key, for errors; nil for an operation on the bucket.
  package var key: ObjectKey?
  /// The method.
  package var method: Method
  /// The percent-encoded path within the bucket, which begins with `/`.
  package var path: String
  /// The query.
  package var query: [QueryItem]
  /// The header fields except those that signing adds.
  package var fields: HeaderFields
  /// The body, if the operation's own document is one (CompleteMultipartUpload); the caller's
  /// bytes are not here.
  package var document: [UInt8]
  /// What the signature says of the body.
  package var bodyHash: BodyHash
  /// On what condition it writes.
  package var condition = WriteCondition.none
  /// True if a repeat after a lost answer has the same outcome as the first try.
  ///
  /// False for conditional writes and for completing an upload: their repeat may find the first
  /// try's own work and fail.
  package var isIdempotent: Bool

  /// Creates a request.
  package init(
    _ operation: StoreOperation,
    _ method: Method,
    key: ObjectKey? = nil,
    query: [QueryItem] = [],
    fields: HeaderFields = HeaderFields(),
    document: [UInt8] = [],
    bodyHash: BodyHash = .empty,
    isIdempotent: Bool = true
  ) {
    self.operation = operation
    self.key = key
    self.method = method
    path = "/" + PercentEncoding.path(key?.bytes ?? [])
    self.query = query
    self.fields = fields
    self.document = document
    self.bodyHash = bodyHash
    self.isIdempotent = isIdempotent
  }
}
