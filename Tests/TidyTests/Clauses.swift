/// The numbered clauses of docs/semantics.md, and the tests that name them.
enum Clauses {
  /// The clauses that the document promises for this version, such as `R1`.
  ///
  /// A clause starts a line, a list item or a table row, in bold or not; it is left out if its
  /// paragraph says "not built yet".
  static func promised(_ document: String) -> Set<String> {
    let start = #/^\s*(?:[-*#|]+\s*)?\**([RWCNO]\d+(?:\.\d+)?)\**[\s.:|]/#
    var clauses: Set<String> = []
    var current: String?
    var paragraph = ""
    func close() {
      if let current, !paragraph.lowercased().contains("not built yet") { clauses.insert(current) }
      current = nil
      paragraph = ""
    }
    for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
      if let match = line.firstMatch(of: start) {
        close()
        current = String(match.output.1)
      } else if line.allSatisfy(\.isWhitespace) || line.hasPrefix("#") {
        close()
      }
      paragraph += line + "\n"
    }
    close()
    return clauses
  }

  /// The clauses that test functions name: `func R1_...`, `def test_R1_...`, or, as the linter wants
  /// it in Swift, `func r1...`.
  static func tested(_ tests: [String]) -> Set<String> {
    let name = #/\b(?:func|def)\s+(?:test_)?([RWCNOrwcno]\d+(?:_\d+)?)(?:_|[A-Z])/#
    return Set(
      tests.flatMap { text in
        text.matches(of: name).map { String($0.output.1).uppercased().replacing("_", with: ".") }
      }
    )
  }
}
