internal import Core
internal import Crypto

/// Names the cache's entry of one object version: a hash of the key, and one of the version.
///
/// Keys are bytes of any kind and up to 1,024 long, so they can't name files themselves; the checkpoint
/// inside says which key it is. Kept as numbers, since a cache may have a million entries.
struct EntryID: Hashable, Sendable {
  /// SHA-256 of the key.
  let key: SIMD4<UInt64>
  /// The first half of SHA-256 of tag, size and version id.
  let version: SIMD2<UInt64>

  private static let keyDigitCount = 64
  private static let versionDigitCount = 32

  /// The entry of a version.
  init(_ version: ObjectVersion) {
    key = Self.hash(of: version.key)
    // NUL is in none of them, so no two versions spell the same.
    let text = "\(version.etag?.value ?? "")\0\(version.size)\0\(version.versionID ?? "")"
    let words = Self.words(SHA256.digest(of: Array(text.utf8)))
    self.version = SIMD2(words[0], words[1])
  }

  /// The entry with these names on disk; nil if they are not an entry's.
  init?(keyName: String, versionName: String) {
    guard let key = Self.words(keyName, digitCount: Self.keyDigitCount),
      let version = Self.words(versionName, digitCount: Self.versionDigitCount)
    else { return nil }
    self.key = SIMD4(key[0], key[1], key[2], key[3])
    self.version = SIMD2(version[0], version[1])
  }

  /// The directory of all versions of the key: 64 hex digits.
  var keyName: String { Self.keyName(key) }
  /// The directory of the version in it: 32 hex digits.
  var versionName: String { Self.digits(version[0]) + Self.digits(version[1]) }
  /// The directory above: the first two digits of `keyName`, so that no directory gets too large.
  var shardName: String { String(keyName.prefix(2)) }

  /// The path of the key's directory below `objects`.
  var keyPath: String { shardName + "/" + keyName }
  /// The path of the entry's directory below `objects`.
  var path: String { keyPath + "/" + versionName }

  /// The name of the directory of all versions of `key`.
  static func keyName(of key: ObjectKey) -> String { keyName(hash(of: key)) }

  /// The path of that directory below `objects`.
  static func keyPath(keyName: String) -> String { keyName.prefix(2) + "/" + keyName }

  private static func keyName(_ hash: SIMD4<UInt64>) -> String {
    (0..<4).map { digits(hash[$0]) }.joined()
  }

  private static func hash(of key: ObjectKey) -> SIMD4<UInt64> {
    let words = words(SHA256.digest(of: key.bytes))
    return SIMD4(words[0], words[1], words[2], words[3])
  }

  private static func digits(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  private static func words(_ bytes: [UInt8]) -> [UInt64] {
    stride(from: 0, to: bytes.count, by: 8).map { start in
      bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  private static func words(_ name: String, digitCount: Int) -> [UInt64]? {
    let bytes = Array(name.utf8)
    let isHex = bytes.allSatisfy { byte in
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
    guard bytes.count == digitCount, isHex else { return nil }
    return stride(from: 0, to: digitCount, by: 16).map { start in
      UInt64(String(decoding: bytes[start..<start + 16], as: UTF8.self), radix: 16) ?? 0
    }
  }
}
