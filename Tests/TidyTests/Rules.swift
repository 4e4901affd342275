/// What no compiler checks, as functions from a file's text to what is wrong with it.
enum Rules {
  /// A breach of a rule.
  struct Finding: Hashable, CustomStringConvertible {
    let path: String
    let line: Int
    let rule: String

    var description: String { "\(path):\(line): \(rule)" }
  }

  /// No file over 600 lines.
  static let lineCountMax = 600
  /// No function over 70 lines.
  static let functionLineCountMax = 70

  static func size(_ file: SourceText) -> [Finding] {
    let count = file.lines.count - (file.lines.last == "" ? 1 : 0)
    guard count > lineCountMax else { return [] }
    return [Finding(path: file.path, line: count, rule: "\(count) lines, at most \(lineCountMax)")]
  }

  static func functionSize(_ file: SourceText) -> [Finding] {
    functions(file).compactMap { start, end in
      let count = end - start + 1
      guard count > functionLineCountMax else { return nil }
      return Finding(
        path: file.path,
        line: start + 1,
        rule: "a function of \(count) lines, at most \(functionLineCountMax)"
      )
    }
  }

  /// What must not stand in code, and what to write instead.
  private static let bannedWords: [(word: String, rule: String)] = [
    ("try!", "handle the error"),
    ("as!", "match the type"),
    ("fatalError", "throw, or 'preconditionFailure' with a sentence"),
    ("nonisolated(unsafe)", "use Lock"),
    ("Task.detached", "structured concurrency"),
    ("DispatchQueue", "use Thread, BlockingPool or a task"),
    ("DispatchSemaphore", "use Gate or Monitor"),
  ]

  // In two pieces, so that this file passes its own rule.
  private static let notes = ["TO" + "DO", "FIX" + "ME"]

  static func banned(_ file: SourceText) -> [Finding] {
    var findings: [Finding] = []
    for (index, line) in file.code.enumerated() {
      for (word, advice) in bannedWords where contains(line, word: word) {
        findings.append(Finding(path: file.path, line: index + 1, rule: "'\(word)': \(advice)"))
      }
    }
    for (index, line) in file.codeAndComments.enumerated()
    where notes.contains(where: { contains(line, word: $0) }) {
      findings.append(
        Finding(
          path: file.path,
          line: index + 1,
          rule: "a note to oneself: do it, or file an issue"
        )
      )
    }
    return findings
  }

  /// Returns true if `word` stands in `line` and no letter before it.
  private static func contains(_ line: String, word: String) -> Bool {
    line.ranges(of: word).contains { range in
      guard range.lowerBound > line.startIndex else { return true }
      let before = line[line.index(before: range.lowerBound)]
      return !before.isLetter && !before.isNumber && before != "_"
    }
  }

  /// Every promise that the compiler can't check is proved next to it.
  static func safety(_ file: SourceText) -> [Finding] {
    file.code.enumerated().compactMap { index, line in
      guard line.contains("@unchecked Sendable") else { return nil }
      let near = file.lines[max(0, index - 4)..<min(file.lines.count, index + 5)]
      guard !near.contains(where: { $0.contains("// Safety:") }) else { return nil }
      return Finding(
        path: file.path,
        line: index + 1,
        rule: "'@unchecked Sendable' without '// Safety:' beside it"
      )
    }
  }

  /// Code and comments are ASCII; text for people may be anything.
  static func ascii(_ file: SourceText) -> [Finding] {
    file.codeAndComments.enumerated().compactMap { index, line in
      guard line.utf8.contains(where: { $0 > 0x7E || ($0 < 0x20 && $0 != 0x09) }) else {
        return nil
      }
      return Finding(path: file.path, line: index + 1, rule: "not ASCII outside a string literal")
    }
  }

  private static var declaration: Regex<(Substring, Substring)> {
    #/^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:package|public)(?:\(set\))?\s+(?!import\b|extension\b)(.+)/#
  }

  private static var name: Regex<(Substring, Substring?, Substring?)> {
    #/\b(?:func|var|let|class|struct|enum|actor|protocol|typealias|case)\s+`?(\w+|[<>=!+\-*\/&|^]+)|\b(init|subscript)\b/#
  }

  /// What another target sees has a doc comment; what fulfils a protocol has it there.
  static func documentation(_ file: SourceText, requirements: Set<String>) -> [Finding] {
    var findings: [Finding] = []
    let (declaration, name) = (declaration, name)
    for (index, line) in file.code.enumerated() {
      guard line.contains("package") || line.contains("public"),
        let match = line.firstMatch(of: declaration), !isDocumented(file, index)
      else {
        continue
      }
      let found = match.output.1.firstMatch(of: name)
      let declared = found?.output.1 ?? found?.output.2 ?? ""
      guard !requirements.contains(String(declared)) else { continue }
      findings.append(
        Finding(path: file.path, line: index + 1, rule: "'\(declared)' has no doc comment")
      )
    }
    return findings
  }

  private static func isDocumented(_ file: SourceText, _ index: Int) -> Bool {
    for above in file.lines[..<index].reversed() {
      let text = above.drop(while: \.isWhitespace)
      if text.hasPrefix("///") { return true }
      if !text.hasPrefix("@") && !text.hasPrefix("//") { return false }
    }
    return false
  }

  /// The names that protocols ask for, ours and the ones of the standard library that we fulfil.
  static func requirements(_ files: [SourceText]) -> Set<String> {
    var names: Set<String> = [
      "description", "debugDescription", "hash", "encode", "errorDescription", "allCases", "<",
      "==",
    ]
    for file in files {
      var depth = 0
      var protocolDepth: Int?
      for line in file.code {
        if protocolDepth == nil, line.contains(#/\bprotocol\s+\w+/#) { protocolDepth = depth }
        if protocolDepth != nil, let match = line.firstMatch(of: #/\b(?:func|var)\s+`?(\w+)/#) {
          names.insert(String(match.output.1))
        }
        depth += line.count { $0 == "{" } - line.count { $0 == "}" }
        if let start = protocolDepth, depth <= start { protocolDepth = nil }
      }
    }
    return names
  }

  /// The first and last line of each function with a body, 0-based.
  static func functions(_ file: SourceText) -> [(start: Int, end: Int)] {
    let start = #/(?<prefix>^|[^.\w`])(?:func\s|init[?!]?[(<]|deinit\b|subscript\s*[(<])/#
    return file.code.indices.compactMap { index in
      guard let match = file.code[index].firstMatch(of: start) else { return nil }
      return body(file.code, from: index, column: match.range.lowerBound).map { (index, $0) }
    }
  }

  /// The line of the closing brace; nil for a requirement, which has no body.
  private static func body(_ code: [String], from line: Int, column: String.Index) -> Int? {
    var parentheses = 0
    var braces = 0
    for index in line..<code.count {
      let text = index == line ? code[line][column...] : code[index][...]
      if index > line, parentheses == 0, braces == 0 {
        let word = text.drop(while: \.isWhitespace)
        let goesOn = ["{", "where", "async", "throws", "->", ")"].contains { word.hasPrefix($0) }
        if !goesOn { return nil }
      }
      for character in text {
        switch character {
        case "(", "[": parentheses += 1
        case ")", "]": parentheses -= 1
        case "{" where parentheses == 0 || braces > 0: braces += 1
        case "}" where braces > 0:
          braces -= 1
          if braces == 0 { return index }
        default: break
        }
      }
    }
    return nil
  }
}
