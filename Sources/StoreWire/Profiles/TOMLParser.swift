internal import Core

/// Reads TOML from first byte to last.
struct TOMLParser {
  private var cursor: TOMLCursor
  private var file = TOMLFile()
  private var path: [String] = []
  /// The tables that have had their header, each of which may have one.
  private var headers: Set<[String]> = []
  /// False inside lists and what stands for one more element of a list of tables: nothing is kept.
  private var keeps = true
  private var depth = 0

  /// Lists in lists in lists are no configuration.
  private static let depthMax = 16

  init(_ bytes: [UInt8]) {
    cursor = TOMLCursor(bytes)
  }

  /// Reads all of it.
  mutating func parse() throws(ProfileFileError) -> TOMLFile {
    while true {
      try cursor.skipBlank(lines: true)
      guard let next = cursor.peek else { return file }
      if next == UInt8(ascii: "[") {
        try header()
      } else {
        try pair(below: path)
      }
      try cursor.endLine()
    }
  }

  private mutating func header() throws(ProfileFileError) {
    try cursor.expect("[")
    // One element of a list of tables, which no configuration of ours has.
    let isList = cursor.skip("[")
    let names = try keyPath()
    try cursor.expect("]")
    if isList { try cursor.expect("]") }
    guard isList || headers.insert(names).inserted else {
      throw cursor.failure("the table is there already")
    }
    path = names
    keeps = !isList
    if keeps { file.tables[names, default: [:]] = file.tables[names] ?? [:] }
  }

  private mutating func pair(below table: [String]) throws(ProfileFileError) {
    let names = try keyPath()
    try cursor.skipBlank()
    try cursor.expect("=")
    try cursor.skipBlank()
    let path = table + names
    let value = try value(at: path)
    guard keeps, let value, let key = path.last else { return }
    let place = Array(path.dropLast())
    guard file.tables[place]?[key] == nil else { throw cursor.failure("the key is there already") }
    file.tables[place, default: [:]][key] = value
  }

  /// Reads `a.b."c d"`.
  private mutating func keyPath() throws(ProfileFileError) -> [String] {
    var names: [String] = []
    repeat {
      try cursor.skipBlank()
      switch cursor.peek {
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        names.append(try cursor.text(isMultiline: false))
      default:
        names.append(try cursor.bareKey())
      }
      try cursor.skipBlank()
    } while cursor.skip(".")
    return names
  }

  /// Reads a value; nil if it was a table, whose values have their own places.
  private mutating func value(at path: [String]) throws(ProfileFileError) -> TOMLFile.Value? {
    switch cursor.peek {
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      return .string(try cursor.text(isMultiline: true))
    case UInt8(ascii: "["):
      try list(path)
      return .other
    case UInt8(ascii: "{"):
      try inlineTable(path)
      return nil
    default:
      return try Self.plain(cursor.word()) ?? .other
    }
  }

  private mutating func list(_ path: [String]) throws(ProfileFileError) {
    let kept = keeps
    keeps = false
    defer { keeps = kept }
    try nested { (parser) throws(ProfileFileError) in
      try parser.cursor.expect("[")
      while true {
        try parser.cursor.skipBlank(lines: true)
        if parser.cursor.skip("]") { return }
        _ = try parser.value(at: path)
        try parser.cursor.skipBlank(lines: true)
        if !parser.cursor.skip(",") {
          try parser.cursor.expect("]")
          return
        }
      }
    }
  }

  private mutating func inlineTable(_ path: [String]) throws(ProfileFileError) {
    try nested { (parser) throws(ProfileFileError) in
      try parser.cursor.expect("{")
      try parser.cursor.skipBlank()
      if parser.cursor.skip("}") { return }
      repeat {
        try parser.pair(below: path)
        try parser.cursor.skipBlank()
      } while parser.cursor.skip(",")
      try parser.cursor.expect("}")
    }
  }

  private mutating func nested(
    _ body: (inout TOMLParser) throws(ProfileFileError) -> Void
  ) throws(ProfileFileError) {
    guard depth < Self.depthMax else { throw cursor.failure("the value is nested too deep") }
    depth += 1
    try body(&self)
    depth -= 1
  }

  /// A word that is a truth value or a decimal number; nil for dates, fractions and the like.
  private static func plain(_ word: String) -> TOMLFile.Value? {
    switch word {
    case "true": .boolean(true)
    case "false": .boolean(false)
    default: Int(word.replacing("_", with: "")).map { .integer($0) }
    }
  }
}
