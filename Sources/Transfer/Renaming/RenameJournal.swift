package import Core
internal import Support

/// The text that says how far a renaming has come (docs/checkpoint-format.md).
///
/// A head that says what becomes what, then a line per copy that the store has confirmed, and one when
/// the renaming is being taken back. What has no line is done again, which harms nothing: a source is
/// there until its copy has been confirmed.
package struct RenameJournal: Hashable, Sendable {
  /// A copy that the store has confirmed.
  struct Copied: Hashable, Sendable {
    /// The state of the source that was copied.
    var source: String
    /// The copy's state; empty if a copy was asked for and its answer never came.
    var target: String
  }

  private static let head = "dipper rename"
  private static let version = "3"
  /// The version before, in which a copy had what the object has.
  private static let carryingVersion = "2"
  /// The one before that, in which every renaming was that of a tree.
  private static let treeVersion = "1"

  /// The bucket as the user named it, with its endpoint.
  package let store: String
  /// The old key, or the old beginning of keys.
  package let source: ObjectKey
  /// The new one.
  package let target: ObjectKey
  /// What gets another name.
  package internal(set) var subject: RenamePlan.Subject
  /// What has been copied, by what follows the beginning; nothing follows that of a single object.
  private(set) var copied: [[UInt8]: Copied] = [:]
  /// Copies that were asked for: the state of the source, by what follows the beginning.
  private(set) var asked: [[UInt8]: String] = [:]
  /// It is being taken back: the copies go, the sources stay.
  package private(set) var isUndoing = false
  /// The text ends inside a line, so nothing may be appended to it.
  private(set) var isTorn = false

  /// Creates the journal of a renaming that begins.
  init(store: String, source: ObjectKey, target: ObjectKey, subject: RenamePlan.Subject) {
    self.store = store
    self.source = source
    self.target = target
    self.subject = subject
  }

  /// Reads a text; lines that make no sense are dropped, of two for one key the later counts.
  package init(parsing text: [UInt8]) throws(Checkpoint.ParseError) {
    var lines = Lines(text)
    guard let first = lines.next() else { throw .damaged("it has no first line") }
    let words = String(decoding: first, as: UTF8.self).split(separator: " ")
    guard words.count == 3, words[0] + " " + words[1] == Self.head else {
      throw .damaged("its first line is none of a renaming")
    }
    let isTree = words[2] == Self.treeVersion
    guard isTree || words[2] == Self.version || words[2] == Self.carryingVersion else {
      throw .unknownVersion(String(words[2]))
    }
    guard let store = Self.value("store", lines.next()),
      let source = Self.value("source", lines.next()),
      let target = Self.value("target", lines.next())
    else { throw .damaged("its head is not whole") }
    let key = ObjectKey(source)
    guard let subject = isTree ? .tree : Self.subject(lines.next(), key) else {
      throw .damaged("its head doesn't say what is renamed")
    }
    self.init(
      store: String(decoding: store, as: UTF8.self),
      source: key,
      target: ObjectKey(target),
      subject: subject
    )
    while let line = lines.next() { if !readFact(line) { read(line) } }
    isTorn = lines.hasRest
  }

  /// The whole text.
  package var text: String {
    var text = "\(Self.head) \(Self.version)\n"
    text += "store \(PercentEncoding.encoded(store.utf8))\n"
    text += "source \(PercentEncoding.encoded(source.bytes))\n"
    text += "target \(PercentEncoding.encoded(target.bytes))\n"
    text += Self.line(subject) + factLines
    for (rest, state) in asked where copied[rest] == nil { text += Self.line(rest, state) }
    for (rest, copy) in copied { text += Self.line(rest, copy) }
    if isUndoing { text += Self.undoingLine }
    return text
  }

  /// Notes that a copy is asked for.
  ///
  /// - Returns: the line that says so.
  mutating func ask(_ rest: [UInt8], _ state: String) -> String {
    asked[rest] = state
    return Self.line(rest, state)
  }

  /// Notes that a copy has been confirmed.
  ///
  /// - Returns: the line that says so.
  mutating func insert(_ rest: [UInt8], _ copy: Copied) -> String {
    copied[rest] = copy
    return Self.line(rest, copy)
  }

  /// Notes that it is being taken back.
  ///
  /// - Returns: the line that says so.
  mutating func undo() -> String {
    isUndoing = true
    return Self.undoingLine
  }

  private static let undoingLine = "undoing\n"

  private static func line(_ rest: [UInt8], _ copy: Copied) -> String {
    let words = [rest, Array(copy.source.utf8), Array(copy.target.utf8)]
    return "copied " + words.map { word($0) }.joined(separator: " ") + "\n"
  }

  private static func line(_ rest: [UInt8], _ state: String) -> String {
    "copying \(word(rest)) \(word(Array(state.utf8)))\n"
  }

  /// A word is never empty: `%` alone stands for nothing.
  static func word(_ bytes: [UInt8]) -> String {
    bytes.isEmpty ? "%" : PercentEncoding.encoded(bytes)
  }

  static func bytes(_ word: ArraySlice<UInt8>) -> [UInt8]? {
    word.elementsEqual("%".utf8) ? [] : PercentEncoding.decoded(word)
  }

  private static func value(_ name: String, _ line: ArraySlice<UInt8>?) -> [UInt8]? {
    guard let line, line.starts(with: (name + " ").utf8) else { return nil }
    return PercentEncoding.decoded(line.dropFirst(name.utf8.count + 1))
  }

  private mutating func read(_ line: ArraySlice<UInt8>) {
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    if words.count == 1, words[0].elementsEqual("undoing".utf8) { isUndoing = true }
    if words.count == 3, words[0].elementsEqual("copying".utf8), let rest = Self.bytes(words[1]),
      let state = Self.bytes(words[2])
    {
      asked[rest] = String(decoding: state, as: UTF8.self)
    }
    guard words.count == 4, words[0].elementsEqual("copied".utf8),
      let rest = Self.bytes(words[1]), let source = Self.bytes(words[2]),
      let target = Self.bytes(words[3])
    else { return }
    copied[rest] = Copied(
      source: String(decoding: source, as: UTF8.self),
      target: String(decoding: target, as: UTF8.self)
    )
  }
}
