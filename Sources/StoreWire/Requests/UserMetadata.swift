internal import Crypto

/// User metadata in header fields.
///
/// A header field carries printable ASCII. Any other value is written as an encoded word, which is
/// also how S3 returns values that other clients stored with foreign characters.
///
/// Source: Amazon S3 User Guide, "Working with object metadata"; RFC 2047 sections 2 and 4.
enum UserMetadata {
  /// What a field's name starts with.
  static let headerPrefix = "x-amz-meta-"

  /// Returns true if `name` is a token of HTTP.
  ///
  /// Source: RFC 9110 section 5.6.2.
  static func isValid(name: String) -> Bool {
    let separators = Set("\"(),/:;<=>?@[\\]{}".utf8)
    return !name.isEmpty
      && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && !separators.contains($0) }
  }

  /// Returns `value` as a field carries it.
  ///
  /// Encoded too are values that transport or signature would change (spaces at the ends or in
  /// runs) and those that look encoded.
  static func headerValue(of value: String) -> String {
    let isPlain =
      value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      && value.first != " " && value.last != " "
      && !value.contains("  ") && !value.contains("=?")
    return isPlain ? value : "=?UTF-8?B?\(Base64.encode(Array(value.utf8)))?="
  }

  /// Returns the value that a field carries; what is no encoded word of UTF-8 is taken as it stands.
  static func value(ofHeader text: String) -> String {
    guard text.contains("=?") else { return text }
    var words: [UInt8] = []
    // White space between two encoded words is not part of the text.
    for word in text.split(separator: " ") {
      guard let bytes = decodedWord(word) else { return text }
      words += bytes
    }
    return String(validating: words, as: UTF8.self) ?? text
  }

  private static func decodedWord(_ word: Substring) -> [UInt8]? {
    guard word.hasPrefix("=?"), word.hasSuffix("?="), word.utf8.count > 4 else { return nil }
    let pieces = word.dropFirst(2).dropLast(2).split(
      separator: "?",
      omittingEmptySubsequences: false
    )
    guard pieces.count == 3, pieces[0].lowercased() == "utf-8" else { return nil }
    switch pieces[1].lowercased() {
    case "b": return Base64.decode(String(pieces[2]))
    case "q":
      // The quoted form is percent-encoding with other signs.
      let text = pieces[2].utf8.flatMap { byte -> [UInt8] in
        switch byte {
        case UInt8(ascii: "="): [UInt8(ascii: "%")]
        case UInt8(ascii: "_"): [UInt8(ascii: " ")]
        case UInt8(ascii: "%"): Array("%25".utf8)
        default: [byte]
        }
      }
      return PercentEncoding.decode(text)
    default: return nil
    }
  }
}
