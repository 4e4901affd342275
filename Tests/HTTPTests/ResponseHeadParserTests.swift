import Core
import Testing

@testable import HTTP

@Suite struct ResponseHeadParserTests {
  private func parse(_ lines: [String]) throws -> [HTTPResponseHead] {
    var parser = ResponseHeadParser()
    return try lines.compactMap { try parser.received(line: Array($0.utf8)) }
  }

  @Test func aHeadIsItsStatusAndItsFieldsInOrder() throws {
    let heads = try parse([
      "HTTP/1.1 206 Partial Content\r\n", "B: 1\r\n", "a:2\r\n", "b: \t 3 \t\r\n", "Empty:\r\n",
      "\r\n",
    ])
    #expect(
      heads == [
        HTTPResponseHead(
          status: 206,
          fields: HeaderFields(["B": "1", "a": "2", "b": "3", "Empty": ""])
        )
      ]
    )
  }

  @Test func aReasonIsNotNeeded() throws {
    #expect(try parse(["HTTP/1.0 200\n", "\n"]).map(\.status) == [200])
    #expect(try parse(["HTTP/2 404 \r\n", "\r\n"]).map(\.status) == [404])
  }

  @Test func aFoldedValueIsJoinedWithOneSpace() throws {
    let heads = try parse([
      "HTTP/1.1 200 OK\r\n", "A: one\r\n", " \t two\r\n", "\tthree\r\n", "B:\r\n", " x\r\n", "\r\n",
    ])
    #expect(heads.first?.fields == HeaderFields(["A": "one two three", "B": "x"]))
    #expect(throws: ResponseHeadParser.Defect.self) {
      try parse(["HTTP/1.1 200 OK\r\n", " folded\r\n"])
    }
  }

  @Test func interimHeadsAndTrailersAreLeftOut() throws {
    let heads = try parse([
      "HTTP/1.1 100 Continue\r\n", "A: 1\r\n", "\r\n",
      "HTTP/1.1 200 OK\r\n", "B: 2\r\n", "\r\n",
      "C: 3\r\n", "no trailer at all\r\n", "\r\n",
    ])
    #expect(heads == [HTTPResponseHead(status: 200, fields: HeaderFields(["B": "2"]))])
  }

  @Test(arguments: [
    "", "\r\n", "HTTP/1.1\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 2x0 OK\r\n",
    "HTTP/1.1 099 OK\r\n", "ICY 200 OK\r\n", " HTTP/1.1 200 OK\r\n", "http/1.1 200 OK\r\n",
  ])
  func whatIsNoStatusLineIsADefect(_ line: String) {
    #expect(throws: ResponseHeadParser.Defect.self) { try parse([line]) }
  }

  @Test(arguments: ["nothing", ": value", "a b: c", "a : b", "\u{E4}: x", "a\u{0}b: c"])
  func aFieldWithoutANameIsADefect(_ line: String) {
    #expect(throws: ResponseHeadParser.Defect.self) {
      try parse(["HTTP/1.1 200 OK\r\n", line + "\r\n"])
    }
  }

  @Test func lengthsThatDifferAreADefect() throws {
    let head = ["HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n"]
    #expect(throws: ResponseHeadParser.Defect.self) {
      try parse(head + ["content-length: 6\r\n", "\r\n"])
    }
    #expect(try parse(head + ["content-length: 5\r\n", "\r\n"]).count == 1)
  }

  @Test(arguments: ["-5", "+5", "5x", "", "0x5", "99999999999999999999", "5, 5"])
  func aLengthThatIsNoNumberIsADefect(_ length: String) {
    #expect(throws: ResponseHeadParser.Defect.self) {
      try parse(["HTTP/1.1 200 OK\r\n", "Content-Length: \(length)\r\n", "\r\n"])
    }
  }

  @Test func theLimitsHoldOverAllHeadsTogether() throws {
    let line = "A: " + String(repeating: "x", count: 1000) + "\r\n"
    let interim = ["HTTP/1.1 100 Continue\r\n"] + Array(repeating: line, count: 150) + ["\r\n"]
    let final = ["HTTP/1.1 200 OK\r\n"] + Array(repeating: line, count: 150) + ["\r\n"]
    #expect(try parse(interim + final).count == 1)
    #expect(throws: ResponseHeadParser.Defect.self) { try parse(interim + interim + final) }

    let short = Array(repeating: "A: 1\r\n", count: ResponseHeadParser.fieldCountMax)
    #expect(try parse(["HTTP/1.1 200 OK\r\n"] + short + ["\r\n"]).count == 1)
    #expect(throws: ResponseHeadParser.Defect.self) {
      try parse(["HTTP/1.1 200 OK\r\n"] + short + ["A: 1\r\n"])
    }
  }

  @Test func bytesThatAreNoTextBecomeReplacementCharacters() throws {
    var parser = ResponseHeadParser()
    _ = try parser.received(line: Array("HTTP/1.1 200 OK\r\n".utf8))
    _ = try parser.received(line: Array("A: ".utf8) + [0xFF, 0x0D, 0x0A])
    #expect(try parser.received(line: [0x0D, 0x0A])?.fields["a"] == "\u{FFFD}")
  }

  @Test func theBodysSizeIsAnnouncedByTheRightField() {
    func size(_ status: Int, _ fields: HeaderFields, _ method: String = "GET") -> Int? {
      HTTPResponseHead(status: status, fields: fields).announcedBodySize(method: method)
    }
    let length = HeaderFields(["Content-Length": "12"])
    #expect(size(200, length) == 12)
    #expect(size(200, length, "HEAD") == 0)
    #expect(size(204, length) == 0 && size(304, length) == 0)
    #expect(size(200, HeaderFields()) == nil)
    #expect(
      size(200, HeaderFields(["Content-Length": "12", "transfer-encoding": "chunked"])) == nil
    )
  }
}
