internal import Core
internal import Crypto

/// User metadata in header fields: how each protocol writes what a field can't carry.
///
/// A header field carries printable ASCII.
enum UserMetadata: Hashable, Sendable {
  /// As an encoded word, which is also how S3 returns values that other clients stored with foreign
  /// characters.
  ///
  /// Source: Amazon S3 User Guide, "Working with object metadata"; RFC 2047 sections 2 and 4.
  case encodedWords
  /// Names and values percent-encoded, as all of TOS's own clients do.
  ///
  /// Source: TOS SDK for Python 2.9.3, utils.py, meta_header_encode.
  case percentEncoding

  /// Returns a field as it goes on the wire, its name without the prefix; nil if there can't be one.
  func field(_ name: String, _ value: String) -> (name: String, value: String)? {
    guard !name.isEmpty else { return nil }
    switch self {
    case .percentEncoding:
      return (PercentEncoding.query(name.lowercased()), PercentEncoding.query(value))
    case .encodedWords:
      return Self.isToken(name) ? (name.lowercased(), Self.encodedWord(value)) : nil
    }
  }

  /// Reads all user metadata of an answer, whose fields start with `prefix`.
  func read(_ fields: HeaderFields, prefix: String) -> [String: String] {
    var metadata: [String: String] = [:]
    for field in fields.fields {
      let name = field.name.lowercased()
      guard name.hasPrefix(prefix), name.utf8.count > prefix.utf8.count else { continue }
      let short = String(name.dropFirst(prefix.count))
      switch self {
      case .percentEncoding:
        metadata[Self.percentDecoded(short)] = Self.percentDecoded(field.value)
      case .encodedWords:
        let value = Self.wordsDecoded(field.value)
        metadata[short] = metadata[short].map { "\($0),\(value)" } ?? value
      }
    }
    return metadata
  }

  /// Returns true if `name` is a token of HTTP.
  ///
  /// Source: RFC 9110 section 5.6.2.
  private static func isToken(_ name: String) -> Bool {
    let separators = Set("\"(),/:;<=>?@[\\]{}".utf8)
    return name.utf8.allSatisfy { (0x21...0x7E).contains($0) && !separators.contains($0) }
  }

  /// Returns what percent-encoding stands for; what is none, or stands for no text, as it is.
  private static func percentDecoded(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")), let bytes = PercentEncoding.decode(text.utf8)
    else { return text }
    return String(validating: bytes, as: UTF8.self) ?? text
  }

  /// Returns `value` as a field carries it.
  ///
  /// Encoded too are values that transport or signature would change (spaces at the ends or in
  /// runs) and those that look encoded.
  private static func encodedWord(_ value: String) -> String {
    let isPlain =
      value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      && value.first != " " && value.last != " "
      && !value.contains("  ") && !value.contains("=?")
    return isPlain ? value : "=?UTF-8?B?\(Base64.encode(Array(value.utf8)))?="
  }

  /// Returns the value that a field carries; what is no encoded word of UTF-8 is taken as it stands.
  private static func wordsDecoded(_ text: String) -> String {
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
