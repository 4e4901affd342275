internal import Core

// libcurl hands over the lines of every head, those of interim answers and trailers included. This
// value makes one head of them, the final one, and refuses what no honest server sends: a head
// without end, a field without a name, two lengths that differ.

/// Makes the head of an answer out of its lines.
struct ResponseHeadParser {
  /// Why lines are not a head; a reason for a person.
  struct Defect: Error, Hashable {
    let reason: String
  }

  /// All lines together, interim heads included; what curl itself allows since 8.4.
  static let sizeMax = 300 * 1024
  /// S3's answers have about twenty; user metadata of 2 KiB can't add a thousand.
  static let fieldCountMax = 1000

  private var size = 0
  private var status: Int?
  private var fields = HeaderFields()
  private var pending: (name: String, value: String)?
  private var fieldCount = 0
  private var isComplete = false

  /// Takes the next line, with or without its line end.
  ///
  /// - Returns: the final head, with the empty line that ends it; nil before, and nil for the
  ///   trailers behind the body, which are ignored.
  mutating func received(
    line: some BidirectionalCollection<UInt8>
  ) throws(Defect) -> HTTPResponseHead? {
    guard !isComplete else { return nil }
    size += line.count
    guard size <= Self.sizeMax else {
      throw Defect(reason: "the answer's head is larger than \(Self.sizeMax) bytes")
    }
    let text = line.trimmed { $0 == 0x0D || $0 == 0x0A }
    guard let first = text.first else { return try receivedEnd() }
    guard status != nil else {
      status = try Self.status(of: text)
      return nil
    }
    if first == 0x20 || first == 0x09 {
      try receivedFold(text)
    } else {
      try receivedField(text)
    }
    return nil
  }

  private mutating func receivedEnd() throws(Defect) -> HTTPResponseHead? {
    guard let status else { throw Defect(reason: "the answer has no status line") }
    takePending()
    // Source: RFC 9110 section 15.2. 101 would change the protocol, which was not asked for.
    guard status >= 200 else {
      guard status != 101 else { throw Defect(reason: "the server switched protocols unasked") }
      self.status = nil
      fields = HeaderFields()
      return nil
    }
    // Source: RFC 9112 section 6.3: differing lengths are an attack or a broken server.
    let lengths = fields.fields.filter { $0.name.equalsIgnoringASCIICase("Content-Length") }
    guard Set(lengths.map(\.value)).count <= 1 else {
      throw Defect(reason: "the answer has two different lengths")
    }
    if let length = lengths.first?.value {
      guard length.utf8.allSatisfy({ (0x30...0x39).contains($0) }), Int(length) != nil else {
        throw Defect(reason: "the answer's length is \(length.utf8.printable)")
      }
    }
    isComplete = true
    return HTTPResponseHead(status: status, fields: fields)
  }

  private mutating func receivedField(
    _ text: some BidirectionalCollection<UInt8>
  ) throws(Defect) {
    takePending()
    fieldCount += 1
    guard fieldCount <= Self.fieldCountMax else {
      throw Defect(reason: "the answer has more than \(Self.fieldCountMax) header fields")
    }
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex,
      text[..<colon].allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw Defect(reason: "the answer has a header field without a name") }
    let value = text[text.index(after: colon)...].trimmed { $0 == 0x20 || $0 == 0x09 }
    pending = (
      String(decoding: text[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self)
    )
  }

  /// A value that goes on in the next line, which is obsolete.
  ///
  /// Source: RFC 9112 section 5.2: the break counts as one space.
  private mutating func receivedFold(
    _ text: some BidirectionalCollection<UInt8>
  ) throws(Defect) {
    guard let folded = pending else {
      throw Defect(reason: "the answer's first header line has no name")
    }
    let rest = String(decoding: text.trimmed { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
    let separator = folded.value.isEmpty || rest.isEmpty ? "" : " "
    pending = (folded.name, folded.value + separator + rest)
  }

  private mutating func takePending() {
    guard let complete = pending else { return }
    fields.append(complete.name, complete.value)
    pending = nil
  }

  /// Reads `HTTP/1.1 206 Partial Content`.
  private static func status(
    of line: some BidirectionalCollection<UInt8>
  ) throws(Defect) -> Int {
    let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
    guard words.count >= 2, words[0].starts(with: "HTTP/".utf8), words[1].count == 3 else {
      throw Defect(reason: "the answer is not HTTP")
    }
    var status = 0
    for digit in words[1] {
      guard (0x30...0x39).contains(digit) else { throw Defect(reason: "the answer is not HTTP") }
      status = status * 10 + Int(digit - 0x30)
    }
    guard status >= 100 else { throw Defect(reason: "the answer's status is \(status)") }
    return status
  }
}

extension HTTPResponseHead {
  /// How many bytes of body will follow, if the head says so.
  ///
  /// Source: RFC 9112 section 6.3.
  func announcedBodySize(method: String) -> Int? {
    if method == "HEAD" || status == 204 || status == 304 { return 0 }
    guard fields["Transfer-Encoding"] == nil else { return nil }
    return fields["Content-Length"].flatMap { Int($0) }
  }
}

extension BidirectionalCollection {
  /// The elements without those at both ends that match.
  fileprivate func trimmed(_ isSuperfluous: (Element) -> Bool) -> SubSequence {
    let rest = drop(while: isSuperfluous)
    guard let last = rest.lastIndex(where: { !isSuperfluous($0) }) else { return rest }
    return rest[...last]
  }
}
