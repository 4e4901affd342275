import Testing

/// Each rule finds what it is for, and lets pass what only looks like it.
@Suite
struct RuleTests {
  private func source(_ text: String, path: String = "Sources/Core/X.swift") -> SourceText {
    SourceText(path: path, text: text)
  }

  @Test
  func stringsAndCommentsAreNotCode() {
    let file = source(
      ##"""
      let a = "try! \("as!") x" // try!
      let b = #"fatalError \"#
      /* DispatchQueue */ let c = """
        try!
        """
      """##
    )
    #expect(Rules.banned(file).isEmpty)
    #expect(file.code.map(\.count) == file.lines.map(\.count))
  }

  @Test(
    arguments: [
      "let x = try! f()", "x as! Int", "fatalError()", "nonisolated(unsafe) var x",
      "Task.detached {}",
      "DispatchQueue.main", "DispatchSemaphore(value: 0)", "// \("TO")DO: later", "/// \("FIX")ME",
    ]
  )
  func bannedTextIsFound(line: String) {
    #expect(Rules.banned(source("let y = 1\n\(line)\n")).map(\.line) == [2])
  }

  @Test
  func longFilesAreFound() {
    #expect(Rules.size(source(String(repeating: "\n", count: 600))).isEmpty)
    #expect(Rules.size(source(String(repeating: "\n", count: 601))).count == 1)
  }

  @Test
  func longFunctionsAreFound() {
    func text(_ count: Int) -> String {
      "struct X {\n  func f(\n    a: Int\n  ) -> Int {\n"
        + String(repeating: "    g()\n", count: count)
        + "  }\n}\n"
    }
    #expect(Rules.functionSize(source(text(66))).isEmpty)
    let found = Rules.functionSize(source(text(67)))
    #expect(found.map(\.line) == [2])
    #expect(found.first?.rule.contains("71 lines") == true)
  }

  @Test
  func requirementsAndCallsAreNotFunctions() {
    let text =
      "protocol P {\n  func f() async\n\n  func g()\n}\nlet x = S.init(1)\nfunc h() { self.init() }\n"
    #expect(Rules.functions(source(text)).map(\.start) == [6])
  }

  @Test
  func unprovedPromisesAreFound() {
    #expect(Rules.safety(source("final class X: @unchecked Sendable {\n}\n")).count == 1)
    #expect(
      Rules.safety(source("final class X: @unchecked Sendable {\n  // Safety: it is.\n}")).isEmpty
    )
  }

  @Test
  func undocumentedDeclarationsAreFound() {
    let text = """
      package struct X {
        /// Documented.
        @discardableResult
        package func f() {}
        package func g() {}
        package var description: String { "" }
        package init() {}
      }
      package import Core
      """
    let findings = Rules.documentation(source(text), requirements: Rules.requirements([]))
    #expect(findings.map(\.line) == [1, 5, 7])
  }

  @Test
  func whatFulfilsAProtocolIsDocumentedThere() {
    let seam = source("package protocol P {\n  /// F.\n  func f()\n}\nfunc other() {}\n")
    let requirements = Rules.requirements([seam])
    #expect(requirements.contains("f"))
    #expect(!requirements.contains("other"))
    #expect(
      Rules.documentation(source("  package func f() {}"), requirements: requirements).isEmpty
    )
  }

  @Test
  func textBeyondASCIIIsFound() {
    #expect(Rules.ascii(source("let x = \"\u{E9}\"")).isEmpty)
    #expect(Rules.ascii(source("// caf\u{E9}")).count == 1)
  }

  private let house = House(
    manifest: """
      fence("CFoo", ["foo"]),
      .systemLibrary(  // read
        name: "CBar",
      row("Core", []),
      row("Upper", ["Core", "CFoo"]),
      .executableTarget(
        name: "Program",
        dependencies: ["Core", "Upper"],
      tests(
        "UpperTests",
        ["Core", "Upper"]
      ),
      """
  )

  @Test
  func theManifestIsRead() {
    #expect(house.fences == ["CFoo", "CBar"])
    #expect(house.imports["Upper"] == ["Core", "CFoo"])
    #expect(house.imports["Program"] == ["Core", "Upper"])
    #expect(house.imports["UpperTests"] == ["Core", "Upper"])
  }

  @Test
  func forbiddenImportsAreFound() {
    let core = source("internal import Upper\nimport Glibc\nimport Foundation\n// import Upper\n")
    #expect(house.breaches(core).map(\.line) == [1, 2, 3])
    let upper = source(
      "package import Core\nimport Glibc\nimport Foundation",
      path: "Sources/Upper/X.swift"
    )
    #expect(house.breaches(upper).map(\.line) == [3])
    let test = source("@testable import Upper\nimport Testing", path: "Tests/UpperTests/X.swift")
    #expect(house.breaches(test).isEmpty)
    #expect(house.breaches(source("", path: "Sources/Nowhere/X.swift")).count == 1)
  }

  @Test
  func aFenceHasOneGate() {
    let one = source("internal import CFoo", path: "Sources/Upper/X.swift")
    let two = source("internal import CFoo", path: "Sources/Core/X.swift")
    #expect(house.sharedFences([one]) == ["CBar is imported by nobody"])
    #expect(house.sharedFences([one, two]).contains("CFoo is imported by Core, Upper"))
  }

  @Test
  func clausesAreMatchedWithTests() {
    let document = """
      # Semantics
      - **R1** A read never mixes.
        More of it.
      - **W2** Random writes work. Not built yet.
      ## R3 Readers
      | O1 | mounts answer |
      R2.1: exact.
      """
    #expect(Clauses.promised(document) == ["R1", "R3", "O1", "R2.1"])
    let tests = [
      "@Test func r1AReadNeverMixes() {}", "def test_O1_x():\n", "func R2_1_exact() {}", "r3Read()",
      "func n4ise() {}",
    ]
    #expect(Clauses.tested(tests) == ["R1", "O1", "R2.1"])
  }

  @Test
  func whatADocumentNamesIsRead() {
    let document =
      "Some `ATests.one`, `BTests` and `c.d`.\n| code | errno |\n| stale | `ESTALE` |\n"
    let named = Clauses.namedTests(document)
    #expect(named.map(\.suite) == ["ATests", "BTests"])
    #expect(named.map(\.function) == ["one", nil])
    #expect(Clauses.errnoTable(document) == ["stale": "ESTALE"])
    #expect(Clauses.errnoSwitch("case .stale: \"ESTALE\"\n") == ["stale": "ESTALE"])
  }

  @Test
  func examplesAreFoundLineByLine() {
    let page = "text\n```swift\nlet a = 1\n  use(a)\n```\n```sh\nls\n```\n"
    let blocks = Examples.blocks(page)
    #expect(blocks == [["let a = 1", "use(a)"]])
    #expect(Examples.contains(source("func f() {\n  let a = 1\n  use(a)\n}"), blocks[0]))
    #expect(!Examples.contains(source("let a = 1\nother()\nuse(a)"), blocks[0]))
    #expect(!Examples.contains(source("let a = 1"), blocks[0]))
  }

  @Test
  func testsOfServersAreNamedByFileAndFunction() {
    let named = Clauses.namedScripts("`test_a.py::test_b`, test_c.py and `test_d.py::test_e`")
    #expect(named.map(\.file) == ["test_a.py", "test_d.py"])
    #expect(named.map(\.function) == ["test_b", "test_e"])
  }
}
