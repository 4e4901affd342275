/// An opaque tag of one version of an object: compared, never interpreted.
///
/// Stores send it with quotes or without; here it is kept without, so that a listing's tag equals
/// a header's.
package struct ETag: Hashable, Sendable {
  /// The tag without its quotes; a weak tag keeps its `W/` and inner quotes.
  package let value: String

  /// Creates a tag from a header's or a listing's spelling.
  package init(_ spelling: String) {
    // By bytes: a listing has a thousand tags, and counting characters would take longer than
    // everything else about them.
    let bytes = spelling.utf8
    let quote = UInt8(ascii: "\"")
    if bytes.count >= 2, bytes.first == quote, bytes.last == quote {
      value = String(Substring(bytes.dropFirst().dropLast()))
    } else {
      value = spelling
    }
  }

  /// The tag as a condition header wants it.
  package var quoted: String { value.hasPrefix("W/") ? value : "\"\(value)\"" }
}

extension ETag: CustomStringConvertible {
  package var description: String { value }
}
