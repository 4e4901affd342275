internal import CXML2
internal import Core

/// libxml2's pull parser over one document in memory, owned: freed when the value ends.
///
/// The document comes from the network and is treated as an attack: nothing is loaded, entities
/// are not replaced, a document type is refused before libxml2 sees a byte of it (so that entities
/// can't be declared at all), it is read as UTF-8 whatever it declares, and depth and size are
/// limited. What is not well-formed to the end is refused as a whole: a lenient reader would make a
/// listing that was cut short look like a shorter listing.
struct XMLReader: ~Copyable {
  /// What comes next in a document; attributes, comments and instructions are passed over.
  enum Event: Hashable {
    /// An element begins; its name is without a namespace prefix.
    case start(String)
    /// Text, with references resolved; one text may come in several pieces.
    case text([UInt8])
    /// The innermost open element ends.
    case end
  }

  /// Elements within elements; the documents of S3 have five.
  static let depthMax = 32

  private let reader: xmlTextReaderPtr
  private let bytes: UnsafeMutableBufferPointer<CChar>
  private var hasPendingEnd = false

  // Once per process and before the first reader, because libxml2's own check is not safe when
  // two threads come first. Source: libxml2 2.9, xmlInitParser.
  private static let isInitialised: Void = xmlInitParser()

  /// Opens a document.
  init(_ document: [UInt8]) throws(XMLError) {
    guard document.count <= WireAnswer.documentSizeMax else {
      throw XMLError("it is larger than \(WireAnswer.documentSizeMax) bytes")
    }
    guard !document.isEmpty else { throw XMLError("it is empty") }
    guard !XMLProlog.hasDocumentType(document) else {
      throw XMLError("it has a document type")
    }
    Self.isInitialised
    // libxml2 reads from our memory while it parses, so that it must stay where it is.
    let bytes = UnsafeMutableBufferPointer<CChar>.allocate(capacity: document.count)
    _ = bytes.initialize(from: document.lazy.map { CChar(bitPattern: $0) })
    let options =
      XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue
      | XML_PARSE_IGNORE_ENC.rawValue | XML_PARSE_NOCDATA.rawValue | XML_PARSE_COMPACT.rawValue
    guard
      let reader = xmlReaderForMemory(
        bytes.baseAddress,
        Int32(bytes.count),
        nil,
        "UTF-8",
        Int32(options)
      )
    else {
      bytes.deallocate()
      throw XMLError("there is no memory to read it")
    }
    self.reader = reader
    self.bytes = bytes
  }

  /// Returns what comes next; nil at the end of a well-formed document.
  mutating func next() throws(XMLError) -> Event? {
    if hasPendingEnd {
      hasPendingEnd = false
      return .end
    }
    while true {
      switch xmlTextReaderRead(reader) {
      case 1: break
      case 0: return nil
      default: throw XMLError("it is not well-formed near line \(line)")
      }
      switch xmlReaderTypes(rawValue: UInt32(bitPattern: xmlTextReaderNodeType(reader))) {
      case XML_READER_TYPE_ELEMENT: return .start(try startedName())
      case XML_READER_TYPE_END_ELEMENT: return .end
      case XML_READER_TYPE_TEXT, XML_READER_TYPE_CDATA, XML_READER_TYPE_SIGNIFICANT_WHITESPACE:
        return .text(text())
      case XML_READER_TYPE_DOCUMENT_TYPE, XML_READER_TYPE_ENTITY_REFERENCE:
        throw XMLError("it has a document type or an entity of its own")
      default: continue
      }
    }
  }

  /// Checks the depth and returns the name of the element that just began.
  private mutating func startedName() throws(XMLError) -> String {
    guard xmlTextReaderDepth(reader) < Self.depthMax else {
      throw XMLError("its elements are nested deeper than \(Self.depthMax)")
    }
    // An element without content has no end of its own.
    hasPendingEnd = xmlTextReaderIsEmptyElement(reader) == 1
    guard let name = xmlTextReaderConstLocalName(reader) else { return "" }
    return String(cString: name)
  }

  private func text() -> [UInt8] {
    guard let start = xmlTextReaderConstValue(reader) else { return [] }
    return Array(UnsafeBufferPointer(start: start, count: Int(xmlStrlen(start))))
  }

  private var line: Int { Int(xmlTextReaderGetParserLineNumber(reader)) }

  deinit {
    xmlFreeTextReader(reader)
    bytes.deallocate()
  }
}

/// Why a document can't be read.
struct XMLError: Error, Hashable, CustomStringConvertible {
  /// A clause whose subject is the document.
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// What may stand before the root element.
private enum XMLProlog {
  /// Returns true if something other than comments and instructions is declared before the first
  /// element.
  ///
  /// A document type can stand nowhere else. Source: XML 1.0 section 2.8.
  static func hasDocumentType(_ document: [UInt8]) -> Bool {
    var rest = document[...]
    while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
      rest = rest[start...]
      if rest.starts(with: "<?".utf8) {
        rest = rest.after("?>")
      } else if rest.starts(with: "<!--".utf8) {
        rest = rest.dropFirst(4).after("-->")
      } else {
        return rest.starts(with: "<!".utf8)
      }
    }
    return false
  }
}

extension ArraySlice<UInt8> {
  /// What follows the first `mark`; nothing if there is none.
  fileprivate func after(_ mark: StaticString) -> ArraySlice<UInt8> {
    let pattern = Array("\(mark)".utf8)
    var index = startIndex
    while index + pattern.count <= endIndex {
      if self[index...].starts(with: pattern) { return self[(index + pattern.count)...] }
      index += 1
    }
    return self[endIndex...]
  }
}
