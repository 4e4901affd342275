internal import Core

/// One of the two files in which AWS tools keep profiles: `config` or `credentials`.
///
/// A pure parser from bytes to properties by profile; what the properties mean is the caller's.
///
/// Source: AWS SDKs and Tools Reference Guide, "Format of the shared config and credentials files".
package struct ProfileFile: Hashable, Sendable {
  /// Which of the two; they name their sections differently.
  package enum Kind: Hashable, Sendable {
    /// `[default]`, `[profile NAME]`, and sections of other kinds such as `[sso-session NAME]`.
    case config
    /// `[NAME]`.
    case credentials
  }

  /// The properties of one profile or other section, by lower-case name.
  package struct Section: Hashable, Sendable {
    /// The properties that have a value of their own.
    package var properties: [String: String] = [:]
    /// The properties that have properties below them, such as `s3`.
    package var nested: [String: [String: String]] = [:]

    /// Creates an empty section.
    package init() {}

    /// Adds what `other` has; where both have a property, `other`'s holds.
    package mutating func merge(_ other: Section) {
      properties.merge(other.properties) { _, new in new }
      for (name, below) in other.nested {
        nested[name, default: [:]].merge(below) { _, new in new }
      }
    }
  }

  /// The profiles by name; `default` is one of them.
  package var profiles: [String: Section] = [:]
  /// The config file's other sections, by kind and name: `sso-session` and `services`.
  package var others: [String: [String: Section]] = [:]

  /// Creates a file without profiles.
  package init() {}

  /// Reads a file.
  ///
  /// Sections of one name count as one, and the last of two equal properties holds. Bytes that are
  /// not UTF-8 don't matter in comments and become replacement characters elsewhere.
  ///
  /// - Throws: `ProfileFileError` with the number of the line that can't be read.
  package init(parsing bytes: [UInt8], kind: Kind) throws(ProfileFileError) {
    var parser = ProfileParser(kind: kind)
    for (index, line) in ProfileParser.lines(of: bytes).enumerated() {
      do {
        try parser.read(line)
      } catch {
        throw ProfileFileError(line: index + 1, message: error.message)
      }
    }
    self = parser.finish()
  }

  /// Returns the profiles of the config file with those of the credentials file over them.
  package static func merged(config: ProfileFile, credentials: ProfileFile) -> ProfileFile {
    var file = config
    for (name, section) in credentials.profiles {
      file.profiles[name, default: Section()].merge(section)
    }
    return file
  }
}

/// Why a profile file can't be read.
///
/// It never quotes a value, which may be a secret.
package struct ProfileFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The number of the line, from 1.
  package let line: Int
  /// What is wrong there.
  package let message: String

  /// The line and what is wrong there.
  package var description: String { "line \(line): \(message)" }
}
