import StoreWire
import Testing

@Suite struct TOMLFileTests {
  private func file(_ text: String) throws(ProfileFileError) -> TOMLFile {
    try TOMLFile(parsing: Array(text.utf8))
  }

  @Test func tablesHaveStringsNumbersAndTruthValues() throws {
    let file = try file(
      """
      top = "level"
      [default] # comment
      region = "cn-beijing" # where
      max_retry_count = 3
      big = 1_000
      small = -2
      progress_enabled = true
      off=false

      [default.ve-tos]
      endpoint = 'tos-cn-beijing.volces.com'
      ["staging.x"]
      region="\\u0063n"
      """
    )
    #expect(
      file.tables == [
        []: ["top": .string("level")],
        ["default"]: [
          "region": .string("cn-beijing"), "max_retry_count": .integer(3), "big": .integer(1000),
          "small": .integer(-2), "progress_enabled": .boolean(true), "off": .boolean(false),
        ],
        ["default", "ve-tos"]: ["endpoint": .string("tos-cn-beijing.volces.com")],
        ["staging.x"]: ["region": .string("cn")],
      ]
    )
    #expect(file.string("region", in: ["default"]) == "cn-beijing")
    #expect(file.string("max_retry_count", in: ["default"]) == nil)
  }

  @Test func dottedKeysAndInlineTablesAreTables() throws {
    let file = try file("[a]\nb.c = 'x'\n\"d e\".f = 1\nt = { u = 'v', w.x = 2 }\nz = {}\n")
    #expect(
      file.tables == [
        ["a"]: [:], ["a", "b"]: ["c": .string("x")], ["a", "d e"]: ["f": .integer(1)],
        ["a", "t"]: ["u": .string("v")], ["a", "t", "w"]: ["x": .integer(2)],
      ]
    )
  }

  @Test func textsAreReadInEachWayToQuoteThem() throws {
    let file = try file(
      #"""
      a = "q\"b\\n\n\t\u00e9\U0001F600"
      b = 'C:\x "y"'
      c = """
      one
      two \
          three"""
      d = '''
      raw \ '' x'''
      e = """quoted "" and """""
      f = ""
      """#
    )
    #expect(file.string("a", in: []) == "q\"b\\n\n\t\u{e9}\u{1F600}")
    #expect(file.string("b", in: []) == "C:\\x \"y\"")
    #expect(file.string("c", in: []) == "one\ntwo three")
    #expect(file.string("d", in: []) == "raw \\ '' x")
    #expect(file.string("e", in: []) == "quoted \"\" and \"\"")
    #expect(file.string("f", in: [])?.isEmpty == true)
  }

  @Test func otherValuesAreReadOver() throws {
    let file = try file(
      """
      f = 1.5
      d = 2026-11-30T08:30:00Z
      h = 0xFF
      l = [ "a", [1, 2], { x = 'y' }, # comment
        "]",
      ]
      [[many]]
      key = "one"
      [[many]]
      key = "two"
      [after]
      k = "v"
      """
    )
    #expect(file.tables[[]] == ["f": .other, "d": .other, "h": .other, "l": .other])
    #expect(file.tables[["many"]] == nil)
    #expect(file.string("k", in: ["after"]) == "v")
  }

  @Test func marksAndLineEndsOfAnySystemDoNotMatter() throws {
    let file = try file("\u{FEFF}[a]\r\n# comment\r\nk = 'v'\r\n\t\r\n")
    #expect(file.tables == [["a"]: ["k": .string("v")]])
    #expect(try self.file("").tables.isEmpty)
  }

  @Test(arguments: [
    ("a", 1), ("a =", 1), ("a = \n", 1), ("= 1", 1), ("[a\nb = 1", 1), ("[]", 1), ("[a]]", 1),
    ("\n[a] b", 2), ("a = \"x", 1), ("a = 'x\n'", 1), ("a = \"\\q\"", 1), ("a = \"\\uD800\"", 1),
    ("a = \"\\u00\"", 1), ("a = 1 2", 1), ("a = secret", 1), ("a = \"x\" y", 1), ("a b = 1", 1),
    ("a = 1\na = 2", 2), ("[a]\n[a]", 2), ("a = [1", 1), ("a = [1 2]", 1), ("a = {b = 1", 1),
    ("a = \"\u{1}\"", 1), ("\n\na = \"\"\"\n\n", 5),
    ("a = " + String(repeating: "[", count: 100_000), 1),
  ])
  func whatIsWrongIsNamedWithItsLine(_ text: String, _ line: Int) {
    let error = #expect(throws: ProfileFileError.self) { try file(text) }
    #expect(error?.line == line)
  }

  @Test func errorsQuoteNothing() {
    let error = #expect(throws: ProfileFileError.self) { try file("key = HUSHHUSH") }
    #expect(error?.description.contains("HUSH") == false)
    #expect(throws: ProfileFileError.self) {
      try TOMLFile(parsing: Array("a = '".utf8) + [0xFF, 0x27])
    }
  }

  @Test func laterFilesGoOverEarlierOnes() throws {
    var first = try file("[a]\nx = '1'\ny = '1'\n")
    first.merge(try file("[a]\ny = '2'\n[b]\nz = '3'\n"))
    #expect(first.tables[["a"]] == ["x": .string("1"), "y": .string("2")])
    #expect(first.tables[["b"]] == ["z": .string("3")])
  }
}
