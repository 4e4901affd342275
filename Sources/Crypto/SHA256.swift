internal import COpenSSL

/// A SHA-256 digest in the making.
package struct SHA256: ~Copyable {
  /// The number of bytes of a digest.
  package static let byteCount = 32

  private static let algorithm = DigestAlgorithm("SHA256")
  private var context: DigestContext

  /// Starts a digest.
  package init() {
    guard let algorithm = Self.algorithm.pointer,
      let context = DigestContext(algorithm, byteCount: Self.byteCount)
    else {
      // Such a library can't do TLS either; no request is possible.
      preconditionFailure("this OpenSSL has no SHA-256, or there is no memory")
    }
    self.context = context
  }

  /// Takes the next bytes.
  package mutating func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { context.update($0) }
  }

  /// Takes the next bytes.
  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { context.update($0) }
  }

  /// Ends the digest and returns its 32 bytes.
  package consuming func finish() -> [UInt8] {
    context.finish()
  }

  /// Returns the digest of `bytes`.
  package static func digest(of bytes: [UInt8]) -> [UInt8] {
    var digest = SHA256()
    digest.update(bytes)
    return digest.finish()
  }

  /// Returns the digest of `bytes`.
  package static func digest(of bytes: RawSpan) -> [UInt8] {
    var digest = SHA256()
    digest.update(bytes)
    return digest.finish()
  }
}
