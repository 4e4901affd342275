internal import Core
internal import Transfer

/// The text that says what has happened to a draft (docs/cache-format.md).
///
/// A line per change, each with its own checksum. A crash can tear the last line, which then has not
/// happened; any other line that is wrong means that the text can't be relied on.
package struct DraftJournal: Hashable, Sendable {
  /// Why a text is no journal of this program.
  package enum ParseError: Error, Hashable, Sendable {
    /// Another version of the format; it is left alone.
    case unknownVersion(String)
    /// Not a journal, or a damaged one.
    case damaged(String)
  }

  /// The format's version.
  package static let formatVersion = 1
  private static let firstWords = "dipper draft "

  /// What has happened; the first is `began`.
  package private(set) var changes: [DraftChange]
  /// The text ends inside a line, so nothing may be appended to it.
  package private(set) var isTorn = false

  /// Creates a journal.
  package init(_ changes: [DraftChange]) {
    self.changes = changes
  }

  /// Reads a text.
  package init(parsing text: [UInt8]) throws(ParseError) {
    var rest = text[...]
    func next() -> ArraySlice<UInt8>? {
      guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
      defer { rest = rest[(end + 1)...] }
      return rest[..<end]
    }
    guard let first = next(), first.starts(with: Self.firstWords.utf8) else {
      throw .damaged("its first line is not \"\(Self.firstWords)N\"")
    }
    let version = first.dropFirst(Self.firstWords.utf8.count).printable
    guard version == "\(Self.formatVersion)" else { throw .unknownVersion(version) }
    changes = []
    while let line = next() {
      // What a full disk cut off, and a later line's beginning made whole, has not happened.
      if line.isEmpty { continue }
      guard let change = DraftChange(parsing: line) else {
        throw .damaged("line \(changes.count + 2) is not what was written")
      }
      changes.append(change)
    }
    guard case .began = changes.first else { throw .damaged("it has no beginning") }
    isTorn = !rest.isEmpty
  }

  /// The whole text.
  package var text: String {
    changes.reduce(into: "\(Self.firstWords)\(Self.formatVersion)\n") { $0 += $1.line }
  }
}

extension DraftChange {
  /// The change's line, with its end.
  package var line: String {
    LineChecksum.line(words.joined(separator: " "))
  }

  private var words: [String] {
    switch self {
    case .began(let head):
      return [
        "began", Spelling.key(head.key), Spelling.condition(head.condition),
        Spelling.version(head.base), head.isTruncated ? "empty" : "whole",
        head.isDirty ? "dirty" : "clean", "\(head.modified.nanoseconds)",
      ]
    case .wrote(let range, let file, let time):
      return ["write", "\(range.lowerBound)", "\(range.count)", "\(file)", "\(time.nanoseconds)"]
    case .resized(let size, let time): return ["resize", "\(size)", "\(time.nanoseconds)"]
    case .punched(let range, let time):
      return ["punch", "\(range.lowerBound)", "\(range.count)", "\(time.nanoseconds)"]
    case .inserted(let version, let offset, let range, let time):
      return [
        "copy", "\(range.lowerBound)", "\(range.count)", Spelling.version(version), "\(offset)",
        "\(time.nanoseconds)",
      ]
    case .facts(let facts, let isNew):
      return ["facts", isNew ? "new" : "old"] + Spelling.facts(facts)
    case .timed(let time): return ["time", "\(time.nanoseconds)"]
    case .moved(let key, let condition, let version):
      return ["move", Spelling.key(key), Spelling.condition(condition), Spelling.version(version)]
    case .frozen(let token): return ["frozen", token]
    case .published(let version, let token):
      return ["published", Spelling.version(version), token]
    case .refused: return ["refused"]
    case .discarded: return ["discarded"]
    }
  }

  /// Reads a line without its end; nil if it is not one, or not as it was written.
  package init?(parsing line: ArraySlice<UInt8>) {
    guard let text = LineChecksum.text(of: line) else { return nil }
    var words = text.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }[...]
    guard let kind = words.popFirst(), let change = Self.parsed(kind, words) else { return nil }
    self = change
  }

  private static func parsed(_ kind: String, _ words: ArraySlice<String>) -> DraftChange? {
    let words = Array(words)
    switch (kind, words.count) {
    case ("began", 6):
      guard let key = Spelling.key(words[0]), let condition = Spelling.condition(words[1]),
        let base = Spelling.version(words[2]), let time = Spelling.time(words[5])
      else { return nil }
      return .began(
        DraftHead(
          key: key,
          condition: condition,
          base: base,
          isTruncated: words[3] == "empty",
          isDirty: words[4] == "dirty",
          modified: time
        )
      )
    case ("write", 4):
      guard let range = Spelling.range(words[0], words[1]), let file = Int(words[2]),
        let time = Spelling.time(words[3])
      else { return nil }
      return .wrote(range, file: file, at: time)
    case ("resize", 2):
      guard let size = Int(words[0]), size >= 0, let time = Spelling.time(words[1]) else {
        return nil
      }
      return .resized(size, at: time)
    case ("punch", 3):
      guard let range = Spelling.range(words[0], words[1]), let time = Spelling.time(words[2])
      else { return nil }
      return .punched(range, at: time)
    case ("copy", 5): return copy(words)
    case ("facts", 1...):
      return Spelling.facts(words.dropFirst()).map { .facts($0, isNew: words[0] == "new") }
    case ("time", 1): return Spelling.time(words[0]).map { .timed($0) }
    case ("move", 3):
      guard let key = Spelling.key(words[0]), let condition = Spelling.condition(words[1]),
        let version = Spelling.version(words[2])
      else { return nil }
      return .moved(key, condition, version)
    case ("frozen", 1): return .frozen(words[0])
    case ("published", 2):
      guard let version = Spelling.version(words[0]), let version else { return nil }
      return .published(version, of: words[1])
    case ("refused", 0): return .refused
    case ("discarded", 0): return .discarded
    default: return nil
    }
  }

  private static func copy(_ words: [String]) -> DraftChange? {
    guard let range = Spelling.range(words[0], words[1]),
      let version = Spelling.version(words[2]), let version, let offset = Int(words[3]),
      let time = Spelling.time(words[4]), let source = Spelling.range(words[3], words[1]),
      source.upperBound <= version.size
    else { return nil }
    return .inserted(version, at: offset, as: range, now: time)
  }
}

/// How values are spelled, each as one word; what there isn't is `-`.
private enum Spelling {
  static func key(_ key: ObjectKey) -> String { PercentEncoding.encoded(key.bytes) }

  static func key(_ word: String) -> ObjectKey? {
    PercentEncoding.decoded(word.utf8).map { ObjectKey($0) }
  }

  static func text(_ text: String?) -> String {
    guard let text else { return "-" }
    // Not to be taken for what there isn't.
    return text == "-" ? "%2D" : PercentEncoding.encoded(text.utf8)
  }

  static func decoded(_ word: some StringProtocol) -> String?? {
    if word == "-" { return .some(nil) }
    return PercentEncoding.decoded(word.utf8).map { String(decoding: $0, as: UTF8.self) }
  }

  static func time(_ word: some StringProtocol) -> Timestamp? {
    Int64(word).map { Timestamp(nanoseconds: $0) }
  }

  static func range(_ offset: String, _ count: String) -> ByteRange? {
    guard let offset = Int(offset), let count = Int(count), offset >= 0, count >= 0 else {
      return nil
    }
    let (end, overflow) = offset.addingReportingOverflow(count)
    return overflow ? nil : ByteRange(offset, end)
  }

  static func condition(_ condition: WriteCondition) -> String {
    switch condition {
    case .none: "none"
    case .ifAbsent: "absent"
    case .ifMatch(let etag): "match," + text(etag.value)
    }
  }

  static func condition(_ word: String) -> WriteCondition? {
    switch word {
    case "none": return WriteCondition.none
    case "absent": return .ifAbsent
    default:
      guard word.hasPrefix("match,"), let value = decoded(word.dropFirst(6)), let value else {
        return nil
      }
      return .ifMatch(etag(value))
    }
  }

  static func version(_ version: ObjectVersion?) -> String {
    guard let version else { return "-" }
    return [
      key(version.key), text(version.etag?.value), "\(version.size)",
      "\(version.lastModified.nanoseconds)", text(version.versionID),
    ].joined(separator: ",")
  }

  static func version(_ word: String) -> ObjectVersion?? {
    if word == "-" { return .some(nil) }
    let fields = word.split(separator: ",", omittingEmptySubsequences: false)
    guard fields.count == 5, let key = key(String(fields[0])), let tag = decoded(fields[1]),
      let size = Int(fields[2]), size >= 0, let time = time(fields[3]), let id = decoded(fields[4])
    else { return nil }
    return ObjectVersion(
      key: key,
      etag: tag.map(etag),
      size: size,
      lastModified: time,
      versionID: id
    )
  }

  /// The value itself: its spelling may begin and end in quotes of its own.
  private static func etag(_ value: String) -> ETag { ETag("\"" + value + "\"") }

  static func facts(_ facts: ObjectFacts) -> [String] {
    var words = ["class," + text(facts.storageClass)]
    for (name, value) in facts.headers.fields {
      words.append("header,\(text(name)),\(text(value))")
    }
    for (name, value) in facts.userMetadata.sorted(by: { $0.key < $1.key }) {
      words.append("meta,\(text(name)),\(text(value))")
    }
    for (name, value) in facts.tags.sorted(by: { $0.key < $1.key }) {
      words.append("tag,\(text(name)),\(text(value))")
    }
    return words
  }

  static func facts(_ words: ArraySlice<String>) -> ObjectFacts? {
    var facts = ObjectFacts()
    var headers = HeaderFields()
    for word in words {
      let fields = word.split(separator: ",", omittingEmptySubsequences: false)
      let values = fields.dropFirst().compactMap { decoded($0) }
      switch (fields[0], values.count, fields.count) {
      case ("class", 1, 2): facts.storageClass = values[0]
      case ("header", 2, 3): headers.append(values[0] ?? "", values[1] ?? "")
      case ("meta", 2, 3): facts.userMetadata[values[0] ?? ""] = values[1] ?? ""
      case ("tag", 2, 3): facts.tags[values[0] ?? ""] = values[1] ?? ""
      default: return nil
      }
    }
    facts.headers = ContentHeaders(headers)
    return facts
  }
}
