internal import CXML2

/// libxml2's parser over one document, owned: freed when the value ends.
///
/// The document comes from the network and is treated as an attack. Nothing is loaded; a document
/// type stops the parser at its name, before it can declare an entity; it is read as UTF-8
/// whatever it declares; depth, size, the length of a text and the number of elements are limited.
/// What is not well-formed to its end is refused as a whole: a lenient parser would make a listing
/// that was cut short look like a shorter listing.
///
/// Events rather than libxml2's reader, which builds a tree on the way: a page of a listing takes
/// half the time, and the document type is seen before what it declares.
struct XMLParser: ~Copyable {
  /// Elements within elements; the documents of S3 have five.
  static let depthMax = 32

  /// A page of 1,000 objects of twelve elements has 12,000; the rest is room for stores that send
  /// more.
  static let elementCountMax = 200_000

  /// The longest text in bytes; the longest that matters is a key of 1,024 bytes, encoded.
  ///
  /// A longer one in a record is left out, so that one odd entry doesn't break its neighbours; one
  /// of the root's own spoils the document.
  static let textSizeMax = 64 << 10

  private let context: xmlParserCtxtPtr

  // Once per process and before the first parser, because libxml2's own check is not safe when
  // two threads come first. Source: libxml2 2.9, xmlInitParser.
  private static let isInitialised: Void = xmlInitParser()

  /// Parses a document.
  ///
  /// - Throws: `XMLError` if it is not well-formed to its end or beyond a limit.
  static func parse(
    _ document: [UInt8],
    outerCount: Int = 0
  ) throws(XMLError) -> XMLDocument.Builder {
    guard document.count <= WireAnswer.documentSizeMax else {
      throw XMLError("it is larger than \(WireAnswer.documentSizeMax) bytes")
    }
    let parser = try XMLParser(startOfXML(document))
    return try parser.run(XMLDocument.Builder(outerCount: outerCount))
  }

  /// Returns the document from its first `<`: stores send white space while they work.
  ///
  /// UTF-16, UTF-32 and EBCDIC, which libxml2 would recognise, have a zero byte or another first
  /// character.
  private static func startOfXML(_ document: [UInt8]) throws(XMLError) -> ArraySlice<UInt8> {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = document.starts(with: mark) ? document[3...] : document[...]
    let start = text.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    guard let first = start.first else { throw XMLError("it is empty") }
    guard first == UInt8(ascii: "<"), !start.contains(0) else {
      throw XMLError("it is not XML in UTF-8")
    }
    return start
  }

  private init(_ bytes: ArraySlice<UInt8>) throws(XMLError) {
    Self.isInitialised
    let context = bytes.withUnsafeBytes { bytes in
      // It copies the bytes.
      xmlCreateMemoryParserCtxt(
        bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
        Int32(bytes.count)
      )
    }
    guard let context else { throw XMLError("there is no memory to read it") }
    self.context = context
    let options =
      XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue
      | XML_PARSE_IGNORE_ENC.rawValue
    xmlCtxtUseOptions(context, Int32(options))
  }

  private consuming func run(
    _ builder: XMLDocument.Builder
  ) throws(XMLError) -> XMLDocument.Builder {
    // The context's own handlers build a tree; these replace them.
    context.pointee.sax.pointee = Self.handlers
    var events = XMLEvents(context: context, builder: builder)
    let result = withUnsafeMutablePointer(to: &events) { pointer in
      context.pointee.userData = UnsafeMutableRawPointer(pointer)
      return xmlParseDocument(context)
    }
    if let failure = events.failure { throw failure }
    guard result == 0, context.pointee.wellFormed == 1 else {
      let line = context.pointee.lastError.line
      throw XMLError("it is not well-formed near line \(line)")
    }
    return events.builder
  }

  /// The functions that libxml2 calls, with the pointer that `run` gave it.
  private static var handlers: xmlSAXHandler {
    var handlers = xmlSAXHandler()
    handlers.initialized = XML_SAX2_MAGIC
    handlers.startElementNs = { pointer, name, _, _, _, _, _, _, _ in
      pointer.events?.pointee.start(name)
    }
    handlers.endElementNs = { pointer, _, _, _ in
      pointer.events?.pointee.end()
    }
    handlers.characters = { pointer, start, count in
      pointer.events?.pointee.add(UnsafeBufferPointer(start: start, count: Int(count)))
    }
    handlers.cdataBlock = { pointer, start, count in
      pointer.events?.pointee.add(UnsafeBufferPointer(start: start, count: Int(count)))
    }
    handlers.internalSubset = { pointer, _, _, _ in
      pointer.events?.pointee.fail("it has a document type")
    }
    // Errors are told by the result; without this they go to the standard error.
    handlers.serror = { _, _ in }
    return handlers
  }

  deinit {
    // The handlers allocate nothing, so that there is no tree to free.
    xmlFreeParserCtxt(context)
  }
}

/// What the parser meets in a document, checked against the limits on its way to the builder.
private struct XMLEvents {
  let context: xmlParserCtxtPtr
  var builder: XMLDocument.Builder
  /// Why reading was ended early.
  var failure: XMLError?
  private var text: [UInt8] = []
  /// The text went beyond the limit; what came is its beginning.
  private var isCut = false
  private var depth = 0
  private var elementCount = 0

  init(context: xmlParserCtxtPtr, builder: XMLDocument.Builder) {
    self.context = context
    self.builder = builder
  }

  mutating func start(_ name: UnsafePointer<UInt8>?) {
    guard failure == nil, let name else { return }
    depth += 1
    elementCount += 1
    guard depth <= XMLParser.depthMax else {
      return fail("its elements are nested deeper than \(XMLParser.depthMax)")
    }
    guard elementCount <= XMLParser.elementCountMax else {
      return fail("it has more than \(XMLParser.elementCountMax) elements")
    }
    clearText()
    builder.start(String(cString: name))
  }

  mutating func end() {
    guard failure == nil else { return }
    depth -= 1
    // A copy of its exact size; the buffer is for the next text.
    builder.end(text: text.isEmpty ? [] : Array(text[...]), isCut: isCut)
    clearText()
  }

  mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard failure == nil else { return }
    guard !isCut, text.count + bytes.count <= XMLParser.textSizeMax else {
      guard depth > XMLDocument.fieldDepth else {
        return fail("one of its texts is longer than \(XMLParser.textSizeMax) bytes")
      }
      if !isCut { text.append(contentsOf: bytes.prefix(XMLParser.textSizeMax - text.count)) }
      isCut = true
      return
    }
    text.append(contentsOf: bytes)
  }

  private mutating func clearText() {
    text.removeAll(keepingCapacity: true)
    isCut = false
  }

  mutating func fail(_ reason: String) {
    failure = failure ?? XMLError(reason)
    xmlStopParser(context)
  }
}

extension UnsafeMutableRawPointer? {
  /// The events behind the pointer that libxml2 keeps for us.
  fileprivate var events: UnsafeMutablePointer<XMLEvents>? {
    self?.assumingMemoryBound(to: XMLEvents.self)
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
