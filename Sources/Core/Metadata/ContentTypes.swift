/// Which media type the name of a file stands for.
///
/// Read from a table in the form of `mime.types`: a type, white space, and the endings that mean it; `#`
/// begins a comment.
/// Source: mime.types(5), Debian package media-types.
package struct ContentTypes: Sendable {
  private var types: [Substring: Substring] = [:]

  /// Creates an empty table.
  package init() {}

  /// Reads a table; the first line that names an ending counts.
  package init(parsing text: String) {
    for line in text.split(whereSeparator: \.isNewline) {
      let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
      guard let type = words.first, type.contains("/") else { continue }
      for ending in words.dropFirst() {
        let ending = Substring(ending.lowercased())
        if types[ending] == nil { types[ending] = type }
      }
    }
  }

  /// The type of a file with this name; nil if the table doesn't know its ending.
  ///
  /// The longest ending that is known counts, so that a table may tell `tar.gz` from `gz`; a name that only
  /// begins with a dot has none.
  package func type(ofFileNamed name: some StringProtocol) -> String? {
    var rest = Substring(name).drop { $0 == "." }
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      if let type = types[Substring(rest.lowercased())] { return String(type) }
    }
    return nil
  }
}
