/// In what the signatures of S3 and TOS differ; their structure is the same.
///
/// Source: AWS Signature Version 4 for Amazon S3; TOS API reference, "Signature" (TOS4). The
/// vectors in Tests/StoreWireTests/Fixtures prove both.
package struct SignatureDialect: Hashable, Sendable {
  /// Which header fields a signature covers.
  enum SignedHeaders: Hashable, Sendable {
    /// All but those that proxies and clients change on the way.
    case allButVolatile
    /// `host`, `content-type`, and those with the dialect's prefix.
    case ownAndContentType
  }

  /// The first line of the string to sign.
  let algorithm: String
  /// What stands before the secret in the first key.
  let keyPrefix: String
  /// The service in the scope.
  let service: String
  /// The last word of the scope.
  let terminator: String
  /// The lower-case prefix of the dialect's own header fields.
  package let headerPrefix: String
  /// The same prefix as query parameters spell it.
  let queryPrefix: String
  /// Which header fields are covered.
  let signedHeaders: SignedHeaders

  /// AWS Signature Version 4 for S3.
  package static let s3 = SignatureDialect(
    algorithm: "AWS4-HMAC-SHA256",
    keyPrefix: "AWS4",
    service: "s3",
    terminator: "aws4_request",
    headerPrefix: "x-amz-",
    queryPrefix: "X-Amz-",
    signedHeaders: .allButVolatile
  )

  /// TOS4.
  package static let tos = SignatureDialect(
    algorithm: "TOS4-HMAC-SHA256",
    keyPrefix: "",
    service: "tos",
    terminator: "request",
    headerPrefix: "x-tos-",
    queryPrefix: "X-Tos-",
    signedHeaders: .ownAndContentType
  )

  /// Returns true if a signature in the header covers the field of this lower-case name.
  func covers(_ name: String) -> Bool {
    switch signedHeaders {
    case .allButVolatile: !Self.volatileNames.contains(name)
    case .ownAndContentType:
      name == "host" || name == "content-type" || name.hasPrefix(headerPrefix)
    }
  }

  // Source: botocore, auth.py, SIGNED_HEADERS_BLACKLIST and what its HTTP library adds later.
  private static let volatileNames: Set<String> = [
    "accept", "accept-encoding", "authorization", "connection", "content-length", "expect",
    "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "x-amzn-trace-id",
  ]
}
