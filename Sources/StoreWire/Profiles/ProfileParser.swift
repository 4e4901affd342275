internal import Core

/// Reads a profile file line by line.
struct ProfileParser {
  /// What is wrong with a line.
  struct LineError: Error {
    let message: String
  }

  /// Where properties go.
  private enum Place: Hashable {
    /// Before the first section.
    case nowhere
    /// In a section that isn't ours: read over.
    case ignored
    /// In a profile. The config file knows `[default]` and, preferred, `[profile default]`.
    case profile(String, isPlainDefault: Bool)
    /// In another section.
    case other(kind: String, name: String)
  }

  private let kind: ProfileFile.Kind
  private var file = ProfileFile()
  private var plainDefault: ProfileFile.Section?
  private var place = Place.nowhere
  private var property: String?

  init(kind: ProfileFile.Kind) {
    self.kind = kind
  }

  /// Splits a file into lines, whichever system it was written on.
  static func lines(of bytes: [UInt8]) -> [String] {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = bytes.starts(with: mark) ? bytes[3...] : bytes[...]
    return text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
      String(decoding: $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0, as: UTF8.self)
    }
  }

  /// Takes the next line.
  mutating func read(_ line: String) throws(LineError) {
    let trimmed = line.trimmingWhitespace
    guard let first = trimmed.first, first != "#", first != ";" else { return }
    if let start = line.first, start.isBlank {
      try readContinuation(trimmed)
    } else if first == "[" {
      try readHeader(trimmed)
    } else {
      try readProperty(trimmed)
    }
  }

  /// Ends the file and returns it.
  consuming func finish() -> ProfileFile {
    if let plainDefault, file.profiles["default"] == nil {
      file.profiles["default"] = plainDefault
    }
    return file
  }

  private mutating func readHeader(_ line: String) throws(LineError) {
    property = nil
    guard let end = line.firstIndex(of: "]") else {
      throw LineError(message: "the section's name has no \"]\"")
    }
    let rest = line[line.index(after: end)...].drop { $0.isBlank }
    guard rest.isEmpty || rest.first == "#" || rest.first == ";" else {
      throw LineError(message: "there is something behind the section's \"]\"")
    }
    let words = line[line.index(after: line.startIndex)..<end].split(
      maxSplits: 1,
      whereSeparator: { $0.isBlank }
    ).map { String($0).trimmingWhitespace }
    guard let first = words.first else { throw LineError(message: "the section has no name") }
    switch (kind, words.count) {
    case (.credentials, 1): place = .profile(first, isPlainDefault: false)
    case (.config, 1) where first == "default": place = .profile(first, isPlainDefault: true)
    case (.config, 2) where first == "profile": place = .profile(words[1], isPlainDefault: false)
    case (.config, 2): place = .other(kind: first, name: words[1])
    default: place = .ignored
    }
    edit { _ in }
  }

  private mutating func readProperty(_ line: String) throws(LineError) {
    guard place != .nowhere else {
      throw LineError(message: "there is a property before the first section")
    }
    let (name, value) = try split(line)
    property = name
    edit {
      $0.properties[name] = value.isEmpty ? nil : value
      $0.nested[name] = value.isEmpty ? [:] : nil
    }
  }

  /// A line that begins with white space continues the property above: it is a property below it
  /// if that has no value, else one more line of the value.
  private mutating func readContinuation(_ line: String) throws(LineError) {
    guard let property else {
      throw LineError(message: "the line is indented, but there is no property above it")
    }
    var isNested = false
    edit { isNested = $0.properties[property] == nil }
    if isNested {
      let (name, value) = try split(line)
      edit { $0.nested[property, default: [:]][name] = value }
    } else {
      edit { $0.properties[property]? += "\n" + line }
    }
  }

  /// Splits `name = value`, without a comment that follows white space.
  private func split(_ line: String) throws(LineError) -> (name: String, value: String) {
    guard let equals = line.firstIndex(of: "=") else {
      throw LineError(message: "the line is neither a section nor a property with \"=\"")
    }
    let name = String(line[..<equals]).trimmingWhitespace.lowercased()
    guard !name.isEmpty else { throw LineError(message: "the property has no name") }
    var value = line[line.index(after: equals)...]
    var isAfterBlank = false
    for index in value.indices {
      if isAfterBlank, value[index] == "#" || value[index] == ";" {
        value = value[..<index]
        break
      }
      isAfterBlank = value[index].isBlank
    }
    return (name, String(value).trimmingWhitespace)
  }

  private mutating func edit(_ change: (inout ProfileFile.Section) -> Void) {
    switch place {
    case .nowhere: break
    case .ignored:
      var section = ProfileFile.Section()
      change(&section)
    case .profile(_, isPlainDefault: true):
      var section = plainDefault ?? ProfileFile.Section()
      change(&section)
      plainDefault = section
    case .profile(let name, isPlainDefault: false):
      change(&file.profiles[name, default: ProfileFile.Section()])
    case .other(let kind, let name):
      change(&file.others[kind, default: [:]][name, default: ProfileFile.Section()])
    }
  }
}

extension Character {
  /// True for a space and a tab.
  fileprivate var isBlank: Bool { self == " " || self == "\t" }
}

extension String {
  /// The text without white space at its ends.
  var trimmingWhitespace: String {
    let start = drop { $0.isWhitespace }
    guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...last])
  }
}
