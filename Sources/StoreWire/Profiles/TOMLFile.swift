internal import Core

/// A configuration file in TOML, as far as configuration needs it: strings, whole numbers and truth
/// values by table and key.
///
/// Other values (fractions, dates, lists) are read over. Our own, because Debian 12 has no TOML
/// reader with an interface for C.
///
/// Source: TOML v1.0.0.
package struct TOMLFile: Hashable, Sendable {
  /// A value that configuration can have.
  package enum Value: Hashable, Sendable {
    case string(String)
    case integer(Int)
    case boolean(Bool)
    /// Something that is valid but not kept.
    case other
  }

  /// The values by key, by the path of their table; values before the first table have the path [].
  package var tables: [[String]: [String: Value]] = [:]

  /// Creates a file without tables.
  package init() {}

  /// Reads a file.
  ///
  /// - Throws: `ProfileFileError` with the number of the line that can't be read.
  package init(parsing bytes: [UInt8]) throws(ProfileFileError) {
    var parser = TOMLParser(bytes)
    self = try parser.parse()
  }

  /// The text at a key; nil if there is none, or something else.
  package func string(_ key: String, in path: [String]) -> String? {
    guard case .string(let text)? = tables[path]?[key] else { return nil }
    return text
  }

  /// Adds what `other` has; where both have a value, `other`'s holds.
  package mutating func merge(_ other: TOMLFile) {
    for (path, values) in other.tables {
      tables[path, default: [:]].merge(values) { _, new in new }
    }
  }
}
