internal import Dipper

/// The help, made from the tables of commands and options.
package enum HelpText {
  /// Returns the help of all commands, or of one.
  package static func text(for command: CommandName?) -> String {
    command.map { page(Command.named($0)) } ?? overview
  }

  private static var overview: String {
    var lines = [
      "Dipper \(Release.version): a file system for S3 buckets, and resumable transfers",
      "",
      "Usage: dipper COMMAND [OPTION]... [OPERAND]...",
      "",
      "Commands:",
    ]
    lines += rows(
      CommandName.allCases.map(Command.named).map { ("\($0.name) \($0.operands)", $0.summary) }
    )
    lines += [
      "",
      "Buckets:",
      "  s3://BUCKET[/PREFIX]  a bucket of an S3-compatible store",
      "  tos://BUCKET[/PREFIX] a bucket of Volcengine's or BytePlus's TOS",
      "  file:///DIR           a bucket kept in a local directory; no server, no credentials",
      "",
      "Sizes take K, M, G and T (powers of 1024). 'dipper COMMAND --help' has the options and examples.",
      "Start with: dipper demo",
    ]
    return lines.joined(separator: "\n") + "\n"
  }

  private static func page(_ command: Command) -> String {
    let optionWord = command.options.isEmpty ? "" : " [OPTION]..."
    var lines = ["Usage: dipper \(command.name)\(optionWord) \(command.operands)", ""]
    lines += wrap(command.summary.capitalizedFirst + ".", width: width)
    if !command.details.isEmpty { lines += [""] + wrap(command.details, width: width) }
    for group in Option.Group.allCases {
      let members = (command.options + [.help])
        .map { Option.named($0, for: command.name) }
        .filter { $0.group == group }
      guard !members.isEmpty else { continue }
      lines += ["", group.rawValue + ":"]
      lines += rows(members.map { ($0.usage, $0.meaning) })
    }
    if !command.examples.isEmpty {
      lines += ["", "Examples:"]
      for example in command.examples {
        lines += ["  \(example.line)", "      \(example.meaning)"]
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static let width = 96
  private static let columnMax = 30

  /// Two columns; a left side that is too long has a line of its own.
  private static func rows(_ pairs: [(left: String, right: String)]) -> [String] {
    let column = min(pairs.map(\.left.count).max() ?? 0, columnMax)
    return pairs.flatMap { left, right -> [String] in
      var lines = wrap(right, width: width - column - 4)
      let indent = String(repeating: " ", count: column + 4)
      guard left.count <= column else {
        return ["  \(left)"] + lines.map { indent + $0 }
      }
      let first = lines.removeFirst()
      let padding = String(repeating: " ", count: column - left.count)
      return ["  \(left)\(padding)  \(first)"] + lines.map { indent + $0 }
    }
  }

  private static func wrap(_ text: String, width: Int) -> [String] {
    var lines = [""]
    for word in text.split(whereSeparator: \.isWhitespace) {
      let last = lines[lines.count - 1]
      if last.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}

extension Option {
  /// Names and value as the help lists them: `-f, --foreground` or `--endpoint URL`.
  fileprivate var usage: String {
    let names =
      if name.rawValue.utf8.count == 1 {
        name.spelling
      } else if let letter {
        "-\(letter), \(name.spelling)"
      } else {
        name.spelling
      }
    return value.placeholder.map { "\(names) \($0)" } ?? names
  }

  /// What it does, and what happens without it.
  fileprivate var meaning: String {
    defaultText.map { "\(summary) (default: \($0))" } ?? summary
  }
}

extension String {
  /// The text with its first letter a capital.
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
