/// A cryptographic hash that tells components apart whose names show only their beginning.
///
/// Core computes none itself: whoever mounts a bucket passes the hash in. Of its bytes 16 are used,
/// so that two components with one name take 2^64 tries, for whoever likes to try.
package struct NameDigest: Sendable {
  /// The digits of a digest.
  package static let digitCount = 32

  private let hash: @Sendable ([UInt8]) -> [UInt8]

  /// Creates a digest of the first 16 bytes of `hash`, which must return as many at least.
  package init(_ hash: @escaping @Sendable ([UInt8]) -> [UInt8]) { self.hash = hash }

  /// Returns the digest of `component`: 32 lower-case hexadecimal digits.
  package func digits(of component: [UInt8]) -> [UInt8] {
    let bytes = hash(component).prefix(Self.digitCount / 2)
    precondition(bytes.count * 2 == Self.digitCount, "a hash of fewer than 16 bytes is none")
    return bytes.flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 0xF)]] }
  }

  /// Returns true if the bytes could be a digest.
  static func isDigest(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.count == digitCount && bytes.allSatisfy(digits.contains)
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
