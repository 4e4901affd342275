import Testing

/// The rules of the house, held against its files.
///
/// One at a time: reading all files takes seconds, and must leave a thread to the tests of other suites.
@Suite(.serialized)
struct TidyTests {
  private static let tree = Tree.package
  private static let sources = tree.sources("Sources")
  private static let tests = tree.sources("Tests")
  private static let house = House(manifest: tree.text("Package.swift") ?? "")

  private func expectNone(_ findings: [Rules.Finding]) {
    for finding in findings { Issue.record("\(finding)") }
  }

  @Test
  func theFilesAreFound() {
    #expect(Self.sources.count > 40)
    #expect(Self.tests.count > 10)
    #expect(Self.house.imports.count > 20)
    #expect(Self.house.fences.count >= 6)
  }

  @Test
  func targetsImportOnlyWhatTheManifestGivesThem() {
    expectNone((Self.sources + Self.tests).flatMap(Self.house.breaches))
  }

  @Test
  func eachCLibraryIsImportedByOneTarget() {
    let shared = Self.house.sharedFences(Self.sources)
    #expect(shared.isEmpty, "\(shared.joined(separator: "; "))")
  }

  @Test
  func filesAreShort() {
    expectNone((Self.sources + Self.tests).flatMap(Rules.size))
  }

  @Test
  func functionsAreShort() {
    expectNone(Self.sources.flatMap(Rules.functionSize))
  }

  @Test
  func nothingBannedIsUsed() {
    expectNone(Self.sources.flatMap(Rules.banned))
  }

  @Test
  func uncheckedPromisesAreProved() {
    expectNone((Self.sources + Self.tests).flatMap(Rules.safety))
  }

  @Test
  func whatOthersSeeIsDocumented() {
    let requirements = Rules.requirements(Self.sources)
    expectNone(Self.sources.flatMap { Rules.documentation($0, requirements: requirements) })
  }

  @Test
  func sourcesAreASCII() {
    expectNone(Self.sources.flatMap(Rules.ascii))
  }

  @Test
  func everyPromisedClauseHasATest() throws {
    let document = try #require(Self.tree.text("docs/semantics.md"), "docs/semantics.md is missing")
    let promised = Clauses.promised(document)
    let python = Self.tree.paths(below: "Tests", suffix: ".py").compactMap(Self.tree.text)
    let missing = promised.subtracting(
      Clauses.tested(Self.tests.map { $0.lines.joined(separator: "\n") } + python)
    )
    #expect(promised.count > 5, "the clauses of docs/semantics.md are not recognised")
    #expect(missing.isEmpty, "clauses without a test: \(missing.sorted().joined(separator: ", "))")
  }

  @Test
  func testsThatDocumentsNameAreThere() {
    let files = Self.tests.map(Clauses.Declared.init)
    var missing: [String] = []
    for path in Self.tree.paths(below: "docs", suffix: ".md") {
      for (suite, function) in Clauses.namedTests(Self.tree.text(path) ?? "") {
        let isThere = files.contains { file in
          // A target's name stands for all of its suites.
          (file.target == suite || file.suites.contains(suite))
            && function.map(file.functions.contains) ?? true
        }
        if !isThere { missing.append("\(path): \(suite)\(function.map { ".\($0)" } ?? "")") }
      }
    }
    #expect(missing.isEmpty, "\(missing.joined(separator: "\n"))")
  }

  @Test
  func testsOfServersThatDocumentsNameAreThere() {
    var missing: [String] = []
    for path in Self.tree.paths(below: "docs", suffix: ".md") {
      for (file, function) in Clauses.namedScripts(Self.tree.text(path) ?? "") {
        let source = Self.tree.text("Tests/EndToEnd/\(file)")
        guard source?.contains("\ndef \(function)(") != true else { continue }
        missing.append("\(path): \(file) \(function)")
      }
    }
    #expect(missing.isEmpty, "\(missing.joined(separator: "\n"))")
  }

  @Test
  func theCodeInPagesIsThatOfTheExamples() {
    let examples = Self.tests.filter { $0.path.contains("/Examples/") }
    let pages = Self.tree.paths(below: "Sources", suffix: ".md")
    var count = 0
    for path in pages {
      for block in Examples.blocks(Self.tree.text(path) ?? "") {
        count += 1
        let isCompiled = examples.contains { Examples.contains($0, block) }
        #expect(isCompiled, "\(path): no example has \"\(block.first ?? "")\" and what follows")
      }
    }
    #expect(count > 10)
  }

  @Test
  func theErrnoTableIsThatOfTheCode() throws {
    let document = try #require(Self.tree.text("docs/semantics.md"))
    let source = try #require(Self.tree.text("Sources/Core/Errors/FileError+ErrnoName.swift"))
    let table = Clauses.errnoTable(document)
    #expect(table.count > 20)
    #expect(table == Clauses.errnoSwitch(source))
  }
}
