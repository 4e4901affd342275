/// What an option takes.
package enum ValueKind: Hashable, Sendable {
  /// Nothing: it is there or it isn't.
  case flag
  /// Any text that is not empty; shown by this word in the help.
  case text(String)
  /// The address of a service.
  case url
  /// A size in bytes.
  case size
  /// Bytes per second.
  case rate
  /// Seconds, with or without a fraction, so many at least and ten years at most; an example.
  case seconds(from: Int, example: String)
  /// A whole number, possibly negative.
  case count
  /// A user or group id.
  case identifier
  /// Permission bits in octal; an example.
  case mode(example: String)
  /// One of these words.
  case choice([String])
  /// A name and a value with `=` between them; may be given more than once.
  case pair
  /// A tag, with `=` between its name and its value, which may be empty; may be given more than once.
  case tag
  /// A word that becomes a header field's value: letters, digits, `-` and `_`; an example.
  case word(String, example: String)

  /// The word that stands for the value in the help; nil for a flag.
  package var placeholder: String? {
    switch self {
    case .flag: nil
    case .text(let word): word
    case .url: "URL"
    case .size: "SIZE"
    case .rate: "RATE"
    case .seconds: "SECONDS"
    case .count: "N"
    case .identifier: "ID"
    case .mode: "MODE"
    case .pair, .tag: "KEY=VALUE"
    case .word(let word, _): word
    case .choice(let words):
      // As long as it doesn't push the column away; the summary has the words otherwise.
      words.count == 2 ? words.joined(separator: "|") : "WORD"
    }
  }

  /// What the value must look like, to end the sentence "--x needs ...".
  package var expectation: String {
    switch self {
    case .flag: "no value"
    case .text(let word): "a value (\(word))"
    case .url: "an address, such as http://127.0.0.1:9000"
    case .size: "a size, such as 20M (whole numbers with K, M, G or T)"
    case .rate: "a rate in bytes per second, such as 50M"
    case .seconds(let least, let example):
      "a number of seconds from \(least) to \(Self.secondsMax), such as \(example)"
    case .count: "a whole number"
    case .identifier: "a numeric user or group id, 0 to 4294967294"
    case .mode(let example): "an octal mode, such as \(example)"
    case .pair: "a name and a value, such as project=blue"
    case .tag:
      "a tag, such as team=blue (up to 128 and 256 letters, digits, spaces and + - = . _ : / @)"
    case .word(_, let example): "a word such as \(example)"
    case .choice(let words): "one of \(words.joined(separator: ", "))"
    }
  }
}

/// An option's value after it has been read.
package enum OptionValue: Hashable, Sendable {
  /// The option was given.
  case flag
  /// Text as it was given.
  case text(String)
  /// A size, rate, count, id or mode.
  case number(Int)
  /// A time.
  case duration(Duration)
  /// Names and values, those of every time that it was given.
  case pairs([String: String])

  /// The value of an option that was given again after this one: the later counts, of pairs both do.
  func followed(by later: OptionValue) -> OptionValue {
    guard case .pairs(let earlier) = self, case .pairs(let more) = later else { return later }
    return .pairs(earlier.merging(more) { $1 })
  }
}

extension ValueKind {
  /// Returns the value that `text` names, or nil if it is not one of this kind.
  package func parse(_ text: String) -> OptionValue? {
    switch self {
    case .flag: text.isEmpty ? .flag : nil
    case .text: text.isEmpty ? nil : .text(text)
    case .url: Self.isAddress(text) ? .text(text) : nil
    case .size: ByteSize.parse(text).map { .number($0) }
    case .rate: ByteSize.parseRate(text).flatMap { $0 > 0 ? .number($0) : nil }
    case .seconds(let least, _): Self.parseSeconds(text, from: least).map { .duration($0) }
    case .count: Int(text).map { .number($0) }
    case .identifier: UInt32(text).flatMap { $0 < .max ? .number(Int($0)) : nil }
    case .mode: Self.parseMode(text).map { .number($0) }
    case .choice(let words): words.contains(text) ? .text(text) : nil
    case .pair: Self.parsePair(text)
    case .tag: Self.parseTag(text)
    case .word: Self.isWord(text) ? .text(text) : nil
    }
  }

  /// The name becomes a part of a header's name, which letters, digits, `-`, `_` and `.` always can.
  private static func parsePair(_ text: String) -> OptionValue? {
    let (name, value) = text.splitOnce("=")
    guard let value, !name.isEmpty,
      name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
    else { return nil }
    return .pairs([name: value])
  }

  /// Source: Amazon S3 User Guide, "Categorizing your storage using tags"; TOS's are the same.
  private static func parseTag(_ text: String) -> OptionValue? {
    let (name, value) = text.splitOnce("=")
    guard let value, (1...128).contains(name.unicodeScalars.count),
      value.unicodeScalars.count <= 256,
      text.allSatisfy({ $0.isLetter || $0.isNumber || " +-=._:/@".contains($0) })
    else { return nil }
    return .pairs([name: String(value)])
  }

  private static func isWord(_ text: String) -> Bool {
    !text.isEmpty
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
  }

  /// Something with a host; what else is wrong with it the store's client says.
  private static func isAddress(_ text: String) -> Bool {
    let (scheme, rest) = text.splitOnce(":")
    let isBare = !text.contains("://")
    let host = isBare ? text[...] : rest?.dropFirst(2)[...] ?? ""
    guard isBare || scheme == "http" || scheme == "https", let first = host.first else {
      return false
    }
    return first != "/"
      && text.unicodeScalars.allSatisfy {
        $0.value > 0x20 && $0.value < 0x7F && !"\"<>\\^`{|}".unicodeScalars.contains($0)
      }
  }

  private static func parseMode(_ text: String) -> Int? {
    let digits = text.hasPrefix("0o") ? text.dropFirst(2) : text[...]
    guard let mode = Int(digits, radix: 8), (0...0o7777).contains(mode),
      digits.first != "+", digits.first != "-"
    else { return nil }
    return mode
  }

  /// Ten years.
  private static let secondsMax = 315_360_000

  /// Whole seconds or a decimal fraction.
  private static func parseSeconds(_ text: String, from least: Int) -> Duration? {
    let bare = text.hasSuffix("s") ? text.dropLast() : text[...]
    guard let first = bare.first, first.isASCII, first.isNumber,
      bare.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
      let seconds = Double(String(bare)), (Double(least)...Double(secondsMax)).contains(seconds)
    else { return nil }
    return .milliseconds(Int64((seconds * 1000).rounded()))
  }
}
