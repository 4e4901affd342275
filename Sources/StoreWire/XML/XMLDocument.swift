/// A document of the shape that all answers of S3 have: a root, whose children are texts or
/// records of texts.
///
/// What is nested deeper, such as the owner of an object, is passed over, and so are attributes
/// and namespace prefixes.
struct XMLDocument {
  /// How deep the root's children are; the texts of records are deeper.
  static let fieldDepth = 2

  /// The root's name.
  private(set) var root = ""
  /// The root's own text.
  private(set) var text: [UInt8] = []
  /// The root's children that have no children of their own.
  private(set) var fields = XMLFields()
  /// The root's other children, in order.
  private(set) var records: [(name: String, fields: XMLFields)] = []

  /// Reads a document.
  ///
  /// - Throws: `XMLError` if it is not well-formed to its end or beyond a limit.
  ///
  /// With `outerCount` the outer elements are passed over, and what is in them counts as the root.
  init(_ bytes: [UInt8], outerCount: Int = 0) throws(XMLError) {
    self = try XMLParser.parse(bytes, outerCount: outerCount).document
  }

  fileprivate init() {}

  /// Puts a document together from what the parser meets.
  struct Builder {
    /// The document so far.
    private(set) var document = XMLDocument()
    private var names: [String] = []
    private var record = XMLFields()
    private var isRecord = false
    private let outerCount: Int

    /// Creates the builder of an empty document.
    init(outerCount: Int) {
      self.outerCount = outerCount
    }

    /// An element begins.
    mutating func start(_ name: String) {
      switch names.count - outerCount {
      case ..<0: break
      case 0: document.root = name
      case 1: isRecord = false
      default: isRecord = true
      }
      names.append(name)
    }

    /// The innermost open element ends; `text` is what stands between the last tag and this end, or
    /// the beginning of it.
    mutating func end(text: [UInt8], isCut: Bool = false) {
      guard let name = names.popLast() else { return }
      switch names.count - outerCount {
      case 0: document.text = text
      case 1 where isRecord:
        document.records.append((name, record))
        record = XMLFields()
      case 1: document.fields.append(name, text)
      case 2 where isCut: record.leaveOut(name, beginning: text)
      case 2: record.append(name, text)
      default: break
      }
    }
  }
}

/// The texts of an element's children, by name.
///
/// A handful of entries at most, so that a search beats a table.
struct XMLFields {
  private(set) var fields: [(name: String, text: [UInt8])] = []
  /// Children that were left out because of their length, and how they begin.
  private(set) var leftOut: [(name: String, beginning: [UInt8])] = []

  /// The bytes of the first child of this name; nil if there is none.
  subscript(name: String) -> [UInt8]? {
    fields.first { $0.name == name }?.text
  }

  /// The text of the first child of this name, which libxml2 has checked to be UTF-8.
  func text(_ name: String) -> String? {
    self[name].map { String(decoding: $0, as: UTF8.self) }
  }

  /// Notes a child whose text is too long to be kept.
  mutating func leaveOut(_ name: String, beginning: [UInt8]) {
    leftOut.append((name, Array(beginning.prefix(Self.beginningSize))))
  }

  /// Enough to recognise a key in a log.
  private static let beginningSize = 64

  /// Adds a child.
  mutating func append(_ name: String, _ text: [UInt8]) {
    fields.append((name, text))
  }
}
