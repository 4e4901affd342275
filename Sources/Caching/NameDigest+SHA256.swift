package import Core
internal import Crypto

extension NameDigest {
  /// The first half of SHA-256.
  package static let sha256 = NameDigest { SHA256.digest(of: $0) }
}
