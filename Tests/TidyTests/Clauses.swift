/// The numbered clauses of docs/semantics.md, and the tests that name them.
enum Clauses {
  /// The suites and functions that a file of tests declares.
  struct Declared {
    let target: String
    let suites: Set<String>
    let functions: Set<String>

    init(_ file: SourceText) {
      target = file.target
      suites = Self.names(in: file, after: "struct ")
      functions = Self.names(in: file, after: "func ")
    }

    private static func names(in file: SourceText, after word: String) -> Set<String> {
      Set(
        file.code.compactMap { line in
          line.firstRange(of: word).map { found in
            String(line[found.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
          }
        }
      )
    }
  }

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

  /// The clauses that test functions name: `func r1ARead...` or `def test_R1_...`.
  static func tested(_ tests: [String]) -> Set<String> {
    let name = #/\b(?:func|def)\s+(?:test_)?([RWCNOrwcno]\d+(?:_\d+)?)(?=_|[A-Z])/#
    return Set(
      tests.flatMap { text in
        text.matches(of: name).map { match in
          String(match.output.1).uppercased().replacing("_", with: ".")
        }
      }
    )
  }

  /// The tests that a document names, as `` `SuiteTests.function` `` or `` `SuiteTests` ``.
  static func namedTests(_ document: String) -> [(suite: String, function: String?)] {
    document.matches(of: #/`(\w+Tests)(?:\.(\w+))?`/#).map { match in
      (String(match.output.1), match.output.2.map(String.init))
    }
  }

  /// The tests of real servers that a document names, as `` `test_file.py::test_name` ``.
  static func namedScripts(_ document: String) -> [(file: String, function: String)] {
    document.matches(of: #/`(test_\w+\.py)::(\w+)`/#).map { match in
      (String(match.output.1), String(match.output.2))
    }
  }

  /// The errno of each code, from a document's table rows of a code and an errno.
  static func errnoTable(_ document: String) -> [String: String] {
    Dictionary(
      document.matches(of: #/\n\| (\w+) \| `(E\w+)` \|/#).map { match in
        (String(match.output.1), String(match.output.2))
      },
      uniquingKeysWith: { first, _ in first }
    )
  }

  /// The errno of each code, from the cases of a switch.
  static func errnoSwitch(_ source: String) -> [String: String] {
    Dictionary(
      source.matches(of: #/case \.(\w+): "(E\w+)"/#).map { match in
        (String(match.output.1), String(match.output.2))
      },
      uniquingKeysWith: { first, _ in first }
    )
  }
}
