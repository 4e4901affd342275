internal import Core

/// Reads the pieces of TOML from left to right, and knows the line.
struct TOMLCursor {
  private let bytes: [UInt8]
  private var position = 0
  private var line = 1

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  /// The next byte; nil at the end.
  var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

  /// What is wrong at this line.
  func failure(_ message: String) -> ProfileFileError {
    ProfileFileError(line: line, message: message)
  }

  /// Takes a byte; true if it was there.
  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard let peek, UInt32(peek) == character.value else { return false }
    position += 1
    return true
  }

  /// Takes a byte that must be there.
  mutating func expect(_ character: Unicode.Scalar) throws(ProfileFileError) {
    guard skip(character) else { throw failure("a \"\(character)\" is missing") }
  }

  /// Takes spaces and tabs, with `lines` also line breaks and comments.
  mutating func skipBlank(lines: Bool = false) throws(ProfileFileError) {
    while let next = peek {
      switch next {
      case UInt8(ascii: " "), UInt8(ascii: "\t"): position += 1
      case UInt8(ascii: "#") where lines: skipComment()
      case UInt8(ascii: "\n") where lines, UInt8(ascii: "\r") where lines: try lineBreak()
      default: return
      }
    }
  }

  /// Takes what may follow a pair or a header: blanks, a comment, and the end of the line.
  mutating func endLine() throws(ProfileFileError) {
    try skipBlank()
    if peek == UInt8(ascii: "#") { skipComment() }
    guard peek != nil else { return }
    try lineBreak()
  }

  private mutating func skipComment() {
    while let next = peek, next != UInt8(ascii: "\n"), next != UInt8(ascii: "\r") { position += 1 }
  }

  private mutating func lineBreak() throws(ProfileFileError) {
    _ = skip("\r")
    guard skip("\n") else {
      throw failure("there is something behind the value or the table's name")
    }
    line += 1
  }

  /// Takes a key without quotes.
  mutating func bareKey() throws(ProfileFileError) -> String {
    let key = take { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    guard !key.isEmpty else {
      throw failure("a key is missing, or has a character that needs quotes")
    }
    return key
  }

  /// Takes a number, a date or a truth value.
  mutating func word() throws(ProfileFileError) -> String {
    let word = take { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "+-_.:".utf8.contains(byte)
      }
    }
    // Without quotes only these begin a value.
    let begins = word.utf8.first.map { $0.isDigit || "+-tfin".utf8.contains($0) } ?? false
    guard begins else { throw failure("the value is missing, or needs quotes") }
    return word
  }

  private mutating func take(while isPart: (UInt8) -> Bool) -> String {
    let start = position
    while let next = peek, isPart(next) { position += 1 }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  /// Takes a text in quotes of either kind, three of which go over several lines.
  mutating func text(isMultiline: Bool) throws(ProfileFileError) -> String {
    let quote = bytes[position]
    let triple = [quote, quote, quote]
    let isLong = isMultiline && bytes[position...].starts(with: triple)
    position += isLong ? 3 : 1
    if isLong {
      // A line break right behind the quotes isn't part of the text.
      if bytes[position...].starts(with: [0x0D, 0x0A]) { position += 1 }
      if skip("\n") { line += 1 }
    }
    var text: [UInt8] = []
    while true {
      guard let next = peek else { throw failure("a quotation isn't closed") }
      if next == quote, !isLong || bytes[position...].starts(with: triple) {
        position += isLong ? 3 : 1
        // Up to two quotes may stand before the three that end it.
        for _ in 0..<(isLong ? 2 : 0) where peek == quote {
          text.append(quote)
          position += 1
        }
        break
      }
      position += 1
      switch next {
      case UInt8(ascii: "\\") where quote == UInt8(ascii: "\""):
        try text.append(contentsOf: escape(isLong))
      case UInt8(ascii: "\n") where isLong:
        line += 1
        text.append(next)
      case UInt8(ascii: "\t"), 0x20...0x7E, 0x80...: text.append(next)
      case UInt8(ascii: "\r") where isLong && peek == UInt8(ascii: "\n"): text.append(next)
      default: throw failure("a quotation isn't closed, or has a control character in it")
      }
    }
    guard let valid = String(validating: text, as: UTF8.self) else {
      throw failure("a text isn't UTF-8")
    }
    return valid
  }

  private mutating func escape(_ isLong: Bool) throws(ProfileFileError) -> [UInt8] {
    guard let next = peek else { throw failure("a quotation isn't closed") }
    position += 1
    switch next {
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): return [next]
    case UInt8(ascii: "u"): return try scalar(digitCount: 4)
    case UInt8(ascii: "U"): return try scalar(digitCount: 8)
    case UInt8(ascii: "\n") where isLong, UInt8(ascii: "\r") where isLong,
      UInt8(ascii: " ") where isLong, UInt8(ascii: "\t") where isLong:
      // At a line's end it takes the line break and all blanks that follow with it.
      position -= 1
      let start = line
      while let blank = peek, [0x20, 0x09, 0x0D, 0x0A].contains(blank) {
        if blank == 0x0A { line += 1 }
        position += 1
      }
      if line > start { return [] }
      fallthrough
    default: throw failure("there is no such escape")
    }
  }

  private mutating func scalar(digitCount: Int) throws(ProfileFileError) -> [UInt8] {
    let digits = bytes[position...].prefix(digitCount)
    let text = String(decoding: digits, as: UTF8.self)
    guard digits.count == digitCount, digits.allSatisfy({ $0.isHexDigit }),
      let value = UInt32(text, radix: 16), let scalar = Unicode.Scalar(value)
    else { throw failure("there is no such character") }
    position += digitCount
    return Array(String(Character(scalar)).utf8)
  }
}

extension UInt8 {
  fileprivate var isHexDigit: Bool {
    isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
      || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(self)
  }
}
