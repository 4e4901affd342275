/// The text of an element's children, by name.
///
/// A handful of entries at most, so that a search beats a table.
struct XMLFields {
  private(set) var fields: [(name: String, text: [UInt8])] = []

  /// The bytes of the first child of this name; nil if there is none.
  subscript(name: String) -> [UInt8]? {
    fields.first { $0.name == name }?.text
  }

  /// The text of the first child of this name, which libxml2 has checked to be UTF-8.
  func text(_ name: String) -> String? {
    self[name].map { String(decoding: $0, as: UTF8.self) }
  }

  /// Adds a child.
  mutating func append(_ name: String, _ text: [UInt8]) {
    fields.append((name, text))
  }

  /// Makes it empty and keeps its memory.
  mutating func removeAll() {
    fields.removeAll(keepingCapacity: true)
  }
}

/// A document of the shape that all answers of S3 have: a root, whose children are texts or
/// records of texts.
///
/// Records are handed over as they end, because a page of a listing has a thousand. What is nested
/// deeper (the owner of an object) is passed over.
struct XMLDocument {
  /// The root's name without a namespace prefix.
  private(set) var root = ""
  /// The root's own text.
  private(set) var text: [UInt8] = []
  /// The root's children that are no records.
  private(set) var fields = XMLFields()

  // A text, all its pieces together. 1,024 bytes of key are the longest that matters; an error's
  // message can be longer.
  private static let textSizeMax = 64 << 10

  // 1,000 objects of twelve elements are 12,000; the rest is room for stores that send more.
  private static let elementCountMax = 200_000

  /// Reads a document.
  ///
  /// - Parameters:
  ///   - bytes: the whole document.
  ///   - receive: takes the name and the fields of each record below the root.
  /// - Throws: `XMLError` if it is not well-formed to its end or beyond a limit.
  init(
    _ bytes: [UInt8],
    receive: (_ name: String, _ record: XMLFields) -> Void = { _, _ in }
  ) throws(XMLError) {
    var reader = try XMLReader(bytes)
    var names: [String] = []
    var text: [UInt8] = []
    var record = XMLFields()
    var isRecord = false
    var elementCount = 0
    while let event = try reader.next() {
      switch event {
      case .start(let name):
        elementCount += 1
        guard elementCount <= Self.elementCountMax else {
          throw XMLError("it has more than \(Self.elementCountMax) elements")
        }
        names.append(name)
        text.removeAll(keepingCapacity: true)
        switch names.count {
        case 1: root = name
        case 2:
          record.removeAll()
          isRecord = false
        default: isRecord = true
        }
      case .text(let piece):
        guard text.count + piece.count <= Self.textSizeMax else {
          throw XMLError("one of its texts is longer than \(Self.textSizeMax) bytes")
        }
        text += piece
      case .end:
        let name = names.removeLast()
        switch names.count {
        case 0: self.text = text
        case 1 where isRecord: receive(name, record)
        case 1: fields.append(name, text)
        case 2: record.append(name, text)
        default: break
        }
        text.removeAll(keepingCapacity: true)
      }
    }
    guard names.isEmpty, !root.isEmpty else { throw XMLError("it has no root element") }
  }
}
