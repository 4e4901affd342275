/// The text of a Swift file, with and without its comments and string literals.
struct SourceText {
  /// The path below the package's root.
  let path: String
  /// The lines as they are.
  let lines: [String]
  /// The lines with comments and the insides of string literals blanked; columns stay.
  let code: [String]
  /// The lines with only the insides of string literals blanked.
  let codeAndComments: [String]

  init(path: String, text: String) {
    self.path = path
    lines = Self.split(text)
    code = Self.split(Blanker.blank(text, keepsComments: false))
    codeAndComments = Self.split(Blanker.blank(text, keepsComments: true))
  }

  private static func split(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// The target: the second component of the path.
  var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
}

/// Replaces what is not code by spaces, byte by byte.
private struct Blanker {
  private let bytes: [UInt8]
  private var position = 0
  private var result: [UInt8] = []
  private let keepsComments: Bool

  static func blank(_ text: String, keepsComments: Bool) -> String {
    var blanker = Blanker(text, keepsComments: keepsComments)
    blanker.run()
    return String(decoding: blanker.result, as: UTF8.self)
  }

  private init(_ text: String, keepsComments: Bool) {
    bytes = Array(text.utf8)
    self.keepsComments = keepsComments
    result.reserveCapacity(bytes.count)
  }

  private static let quote = UInt8(ascii: "\"")
  private static let hash = UInt8(ascii: "#")

  private mutating func run() {
    while position < bytes.count {
      if starts(with: "//") {
        let end = bytes[position...].firstIndex(of: 0x0A) ?? bytes.count
        if keepsComments { copy(end - position) } else { blank(end - position) }
      } else if starts(with: "/*") {
        take(blank: !keepsComments) { !$0.starts(with: "*/") }
      } else if bytes[position] == Self.quote {
        takeString(hashes: 0)
      } else if bytes[position] == Self.hash {
        let hashes = bytes[position...].prefix { $0 == Self.hash }.count
        if position + hashes < bytes.count, bytes[position + hashes] == Self.quote {
          takeString(hashes: hashes)
        } else {
          copy(1)
        }
      } else {
        let rest = bytes[(position + 1)...]
        copy((rest.firstIndex(where: Self.mayBegin) ?? bytes.count) - position)
      }
    }
  }

  /// Returns true for a byte that a comment or a string literal may begin with.
  private static func mayBegin(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == quote || byte == hash
  }

  private func starts(with text: StaticString) -> Bool {
    guard position + text.utf8CodeUnitCount <= bytes.count else { return false }
    return (0..<text.utf8CodeUnitCount).allSatisfy { bytes[position + $0] == text.utf8Start[$0] }
  }

  private func starts(with text: [UInt8]) -> Bool { bytes[position...].starts(with: text) }

  private mutating func copy(_ count: Int) {
    let end = min(position + count, bytes.count)
    result += bytes[position..<end]
    position = end
  }

  private mutating func blank(_ count: Int) {
    let end = min(position + count, bytes.count)
    while position < end {
      result.append(bytes[position] == 0x0A ? 0x0A : 0x20)
      position += 1
    }
  }

  private mutating func take(blank isBlank: Bool, while goesOn: (Blanker) -> Bool) {
    while position < bytes.count, goesOn(self) {
      if isBlank { blank(1) } else { copy(1) }
    }
  }

  /// Copies the quotes and blanks what is between them, interpolations included.
  private mutating func takeString(hashes: Int) {
    let fence = [UInt8](repeating: Self.hash, count: hashes)
    copy(hashes)
    let quotes = [UInt8](repeating: Self.quote, count: starts(with: "\"\"\"") ? 3 : 1)
    copy(quotes.count)
    let end = quotes + fence
    let escape = [UInt8(ascii: "\\")] + fence
    while position < bytes.count, !starts(with: end) {
      if starts(with: escape + [UInt8(ascii: "(")]) {
        blank(escape.count + 1)
        skipInterpolation()
      } else if starts(with: escape) {
        blank(escape.count + 1)
      } else {
        blank(1)
      }
    }
    copy(end.count)
  }

  private mutating func skipInterpolation() {
    var depth = 1
    while depth > 0, position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "("): depth += 1
      case UInt8(ascii: ")"): depth -= 1
      case Self.quote:
        let start = result.count
        takeString(hashes: 0)
        for index in start..<result.count where result[index] != 0x0A { result[index] = 0x20 }
        continue
      default: break
      }
      blank(1)
    }
  }
}
