internal import Crypto

/// The paths of files that lie beside another one and are named after it.
enum CompanionPath {
  /// How long a name may be, in bytes.
  ///
  /// Source: NAME_MAX in limits.h.
  private static let nameSizeMax = 255
  private static let digestSize = 8

  /// Returns the path of the file beside `path` that is named after it, with `suffix` behind.
  ///
  /// A name that would be too long then is cut, and ends with a digest of all of it.
  ///
  /// - Parameters:
  ///   - path: the path of a file.
  ///   - suffix: what to put behind its name.
  ///   - longestSuffix: the longest of those that are put behind the same name, so that all are cut alike.
  /// - Returns: the path; its name has at most 255 bytes.
  static func path(_ path: String, _ suffix: String, longestSuffix: String) -> String {
    let bytes = Array(path.utf8)
    let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    let name = bytes[start...]
    let sizeMax = nameSizeMax - longestSuffix.utf8.count
    guard name.count > sizeMax else { return path + suffix }
    let digest = "~" + SHA256.digest(of: Array(name)).prefix(digestSize).hexadecimal
    var end = start + sizeMax - digest.utf8.count
    // Not within a character: what is cut must be text as well.
    while end > start, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    return String(decoding: bytes[..<end], as: UTF8.self) + digest + suffix
  }
}
