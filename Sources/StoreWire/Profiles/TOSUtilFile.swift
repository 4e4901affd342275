internal import Core

/// The file of TOS's older command line, `~/.tosutilconfig`: `key=value`, a line each.
///
/// Its format is nowhere written down; the keys `ak`, `sk`, `token`, `endpoint` and `region` are those
/// that programs read which borrow it. What isn't a pair is read over.
package struct TOSUtilFile: Hashable, Sendable {
  /// The values by lower-case key, but for empty ones.
  package var values: [String: String] = [:]

  /// Reads a file; bytes that are not UTF-8 become replacement characters.
  package init(parsing bytes: [UInt8]) {
    for line in ProfileParser.lines(of: bytes) {
      let trimmed = line.trimmingWhitespace
      guard let equals = trimmed.firstIndex(of: "="), trimmed.first != "#" else { continue }
      let key = String(trimmed[..<equals]).trimmingWhitespace.lowercased()
      let value = String(trimmed[trimmed.index(after: equals)...]).trimmingWhitespace
      if !key.isEmpty, !value.isEmpty { values[key] = value }
    }
  }
}
