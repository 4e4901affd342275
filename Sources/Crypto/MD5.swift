internal import COpenSSL

/// An MD5 digest in the making: for `Content-MD5` and ETags, never for anything secret.
package struct MD5: ~Copyable {
  /// The number of bytes of a digest.
  package static let byteCount = 16

  private static let algorithm = DigestAlgorithm("MD5")
  private var context: DigestContext

  /// Starts a digest; nil where the administrator has taken MD5 away.
  package init?() {
    guard let algorithm = Self.algorithm.pointer,
      let context = DigestContext(algorithm, byteCount: Self.byteCount)
    else { return nil }
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

  /// Ends the digest and returns its 16 bytes.
  package consuming func finish() -> [UInt8] {
    context.finish()
  }

  /// Returns the digest of `bytes`; nil where the administrator has taken MD5 away.
  package static func digest(of bytes: [UInt8]) -> [UInt8]? {
    guard var digest = MD5() else { return nil }
    digest.update(bytes)
    return digest.finish()
  }
}
