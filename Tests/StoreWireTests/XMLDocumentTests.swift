import Testing

@testable import StoreWire

@Suite struct XMLDocumentTests {
  private func read(_ text: String) throws -> XMLDocument {
    try XMLDocument(Array(text.utf8))
  }

  /// The document in one line, to compare.
  private func shown(_ text: String) throws -> String {
    func shown(_ fields: XMLFields) -> String {
      fields.fields.map { "\($0.name)=\(String(decoding: $0.text, as: UTF8.self))" }
        .joined(separator: ",")
    }
    let document = try read(text)
    return "\(document.root): \(shown(document.fields)); "
      + document.records.map { "\($0.name){\(shown($0.fields))}" }.joined(separator: ",")
  }

  private func text(of content: String) throws -> String {
    String(decoding: try read("<a>\(content)</a>").text, as: UTF8.self)
  }

  @Test func documentsHaveFieldsAndRecordsInOrder() throws {
    #expect(
      try shown(
        "<r>\n <x>1</x><rec><k>a</k><deep><k>no</k></deep><k>b</k></rec><y/><rec><k/></rec></r>\n"
      ) == "r: x=1,y=; rec{k=a,deep=,k=b},rec{k=}"
    )
    let document = try read("<r><x>1</x><y/></r>")
    #expect(document.fields.text("x") == "1")
    #expect(document.fields.text("y") == "")
    #expect(document.fields.text("z") == nil)
    #expect(document.fields["x"] == [0x31])
  }

  @Test func whatStandsAroundTheRootDoesNotMatter() throws {
    let expected = "a: b=x; "
    #expect(try shown("<a><b>x</b></a>") == expected)
    #expect(try shown("\u{FEFF}<?xml version='1.0'?><a><b>x</b></a>\n") == expected)
    #expect(try shown("<!-- <!DOCTYPE --><?p <!D ?><a><b>x</b></a><!-- -->") == expected)
    #expect(try shown(" \r\n\t<?xml version='1.0'?>\n\n<a><b>x</b></a>") == expected)
  }

  @Test func namespacesAndAttributesArePassedOver() throws {
    #expect(
      try shown("<s:a xmlns:s='http://s3' xmlns='urn:x'><s:b n='1'>x</s:b><c/></s:a>")
        == "a: b=x,c=; "
    )
  }

  @Test func textIsTextHoweverItIsWritten() throws {
    #expect(try text(of: "a&amp;&lt;&gt;&quot;&apos;&#65;&#x42;") == "a&<>\"'AB")
    #expect(try text(of: "<![CDATA[<Key>&amp;</Key>]]>") == "<Key>&amp;</Key>")
    #expect(try text(of: "a<![CDATA[b]]>c<!-- d -->e") == "abce")
    #expect(try text(of: "<![CDATA[<!DOCTYPE x>]]>") == "<!DOCTYPE x>")
    #expect(try text(of: "grün 照片 😀\u{7F}") == "grün 照片 😀\u{7F}")
    let long = String(repeating: "longer than a buffer; ", count: 2000)
    #expect(try text(of: long) == long)
  }

  @Test(arguments: [
    "", " ", "garbage", "{\"a\":1}", "<", "<a", "<a>", "<a></b>", "<a><b></a></b>", "<a/><b/>",
    "<a/>x", "<a>&unknown;</a>", "<a>&#1;</a>", "<a>\u{1}</a>", "<a>\u{0}</a>", "<a b='&x;'/>",
    "<a>]]></a>", "<a>&#xD800;</a>", "<a:b/>x", "<a b='1' b='2'/>",
    "<?xml version=\"1.0\" encoding=\"nonsense", "<!-- never ends",
  ])
  func whatIsNotWellFormedIsRefused(_ text: String) {
    #expect(throws: XMLError.self) { try read(text) }
  }

  @Test func everyTruncationIsRefused() throws {
    let whole = Array(
      "<?xml version='1.0'?><a x='1'><b>te&amp;xt</b><![CDATA[c]]><d/></a>".utf8
    )
    _ = try XMLDocument(whole)
    for count in 0..<whole.count {
      #expect(throws: XMLError.self, "\(count)") { try XMLDocument(Array(whole[..<count])) }
    }
  }

  @Test func bytesThatAreNotUTF8AreRefusedWhateverIsDeclared() {
    #expect(throws: XMLError.self) {
      try XMLDocument(Array("<a>".utf8) + [0xFF] + Array("</a>".utf8))
    }
    #expect(throws: XMLError.self) {
      try XMLDocument(Array("<a>".utf8) + [0xC3, 0x28] + Array("</a>".utf8))
    }
    #expect(throws: XMLError.self) {
      try XMLDocument(
        Array("<?xml version='1.0' encoding='ISO-8859-1'?><a>".utf8) + [0xE9]
          + Array("</a>".utf8)
      )
    }
    let utf16 = "<a/>".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
    #expect(throws: XMLError.self) { try XMLDocument([0xFF, 0xFE] + utf16) }
    #expect(throws: XMLError.self) { try XMLDocument(utf16) }
  }

  @Test func anEntityBombIsRefusedBeforeItGoesOff() {
    var bomb = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY e0 'ha'>"
    for level in 1...30 {
      let text = String(repeating: "&e\(level - 1);", count: 10)
      bomb += "<!ENTITY e\(level) '\(text)'>"
    }
    bomb += "]><a b='&e30;'>&e30;</a>"
    let error = #expect(throws: XMLError.self) { try read(bomb) }
    #expect(error?.description.contains("document type") == true)
  }

  @Test(arguments: [
    "<!DOCTYPE a><a/>", "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
    "<!-- c --><?p?> <!DOCTYPE a [<!ENTITY x SYSTEM 'http://127.0.0.1:1/'>]><a>&x;</a>",
    "\u{FEFF}<!DOCTYPE a [<!ENTITY % p SYSTEM 'http://127.0.0.1:1/'>%p;]><a/>",
    "<!ENTITY x 'y'><a/>",
  ])
  func aDocumentTypeIsRefused(_ text: String) {
    #expect(throws: XMLError.self) { try read(text) }
  }

  @Test func deepNestingIsRefused() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    }
    #expect(try read(nested(XMLParser.depthMax)).root == "a")
    #expect(throws: XMLError.self) { try read(nested(XMLParser.depthMax + 1)) }
    #expect(throws: XMLError.self) { try read(nested(1_000_000)) }
    #expect(throws: XMLError.self) { try read(String(repeating: "<a>", count: 1_000_000)) }
  }

  @Test func aHugeDocumentIsRefused() {
    let spaces = [UInt8](repeating: 0x20, count: WireAnswer.documentSizeMax)
    #expect(throws: XMLError.self) { try XMLDocument(Array("<a/>".utf8) + spaces) }
  }

  @Test func tooManyElementsAndATooLongTextOfTheRootsOwnAreRefused() {
    let many = "<r>" + String(repeating: "<x/>", count: 200_001) + "</r>"
    #expect(throws: XMLError.self) { try XMLDocument(Array(many.utf8)) }
    let long = "<r><x>" + String(repeating: "y", count: 65_537) + "</x></r>"
    #expect(throws: XMLError.self) { try XMLDocument(Array(long.utf8)) }
  }

  @Test(arguments: [65_537, 7_000_000])
  func aTooLongTextOfARecordIsLeftOutAlone(count: Int) throws {
    let long = String(repeating: "y", count: count)
    let document = try read(
      "<r><x>1</x><rec><k>\(long)</k><s>2</s><o><i>\(long)</i></o></rec><rec><k>3</k></rec></r>"
    )
    let records = document.records.map(\.fields)
    #expect(records.map { $0.text("k") } == [nil, "3"])
    #expect(records.map { $0.leftOut.map(\.name) } == [["k"], []])
    #expect(records.first?.leftOut.first?.beginning.count == 64)
    #expect(records.first?.text("s") == "2")
  }

  @Test func manyThreadsMayReadAtOnce() async throws {
    let results = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<64 {
        group.addTask {
          let bytes = Array("<a><b>\(number)</b></a>".utf8)
          return (try? XMLDocument(bytes))?.fields.text("b") == "\(number)"
        }
      }
      return await group.reduce(into: [Bool]()) { $0.append($1) }
    }
    #expect(results.allSatisfy { $0 })
  }
}
