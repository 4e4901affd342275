internal import Core

/// What gets another name, and what its copy is to have beside its bytes.
extension RenameJournal {
  /// The line that says what gets another name.
  static func line(_ subject: RenamePlan.Subject) -> String {
    guard case .object(let object) = subject else { return "tree\n" }
    let version = object.version
    let words = [
      word(version.etag?.value), "\(version.size)", "\(version.lastModified.nanoseconds)",
      word(object.storageClass), word(object.replaced), object.mayReplace ? "replaces" : "makes",
    ]
    return "object " + words.joined(separator: " ") + "\n"
  }

  /// What such a line says of the object at `key`, or of a tree; nil if it makes no sense.
  static func subject(_ line: ArraySlice<UInt8>?, _ key: ObjectKey) -> RenamePlan.Subject? {
    guard let line else { return nil }
    if line.elementsEqual("tree".utf8) { return .tree }
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard words.count == 7, words[0].elementsEqual("object".utf8), let etag = bytes(words[1]),
      let size = Int(String(decoding: words[2], as: UTF8.self)), size >= 0,
      let time = Int64(String(decoding: words[3], as: UTF8.self)),
      let storageClass = bytes(words[4]), let replaced = bytes(words[5])
    else { return nil }
    var object = RenamedObject(
      ObjectVersion(
        key: key,
        etag: text(etag).map { ETag($0) },
        size: size,
        lastModified: Timestamp(nanoseconds: time)
      ),
      storageClass: text(storageClass),
      mayReplace: words[6].elementsEqual("replaces".utf8)
    )
    object.replaced = text(replaced)
    return .object(object)
  }

  /// The lines of what the copy is to have; none if it has what the object has.
  var factLines: String {
    guard case .object(let object) = subject, let facts = object.facts else { return "" }
    func lines(_ kind: String, _ fields: [(name: String, value: String)]) -> String {
      fields.reduce("") { $0 + "\(kind) \(Self.word($1.name)) \(Self.word($1.value))\n" }
    }
    func sorted(_ fields: [String: String]) -> [(name: String, value: String)] {
      fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
    return "facts\n" + lines("header", facts.headers.fields)
      + lines("meta", sorted(facts.userMetadata)) + lines("tag", sorted(facts.tags))
  }

  /// Reads one of these lines.
  ///
  /// - Returns: false if it is none.
  mutating func readFact(_ line: ArraySlice<UInt8>) -> Bool {
    guard case .object(var object) = subject else { return false }
    if line.elementsEqual("facts".utf8) {
      object.facts = object.facts ?? ObjectFacts()
    } else {
      let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      guard words.count == 3, var facts = object.facts, let name = Self.bytes(words[1]),
        let value = Self.bytes(words[2])
      else { return false }
      let field = String(decoding: name, as: UTF8.self)
      let text = String(decoding: value, as: UTF8.self)
      switch String(decoding: words[0], as: UTF8.self) {
      case "header":
        var headers = HeaderFields()
        for known in facts.headers.fields { headers.append(known.name, known.value) }
        headers.append(field, text)
        facts.headers = ContentHeaders(headers)
      case "meta": facts.userMetadata[field] = text
      case "tag": facts.tags[field] = text
      default: return false
      }
      object.facts = facts
    }
    object.facts?.storageClass = object.storageClass
    subject = .object(object)
    return true
  }

  private static func word(_ text: String?) -> String { word(Array((text ?? "").utf8)) }

  private static func text(_ bytes: [UInt8]) -> String? {
    bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}
