internal import Core

/// What `dipper doctor` found: one line for each thing it looked at.
package struct DoctorReport: Codable, Hashable, Sendable {
  /// The version of this format.
  package var version = 1
  /// What was looked at, in order.
  package var checks: [Check]

  /// One thing that was looked at.
  package struct Check: Codable, Hashable, Sendable {
    /// How it is.
    package enum Verdict: String, Codable, Hashable, Sendable {
      /// As it should be.
      case ok
      /// It works, but not as well as it could.
      case warning
      /// It could not be tried, so nothing is known of it.
      case skipped
      /// Something won't work.
      case failed
    }

    /// What was looked at, in a word or two.
    package var check: String
    /// How it is.
    package var verdict: Verdict
    /// What was found.
    package var message: String
    /// What to do about it; nil if nothing has to be done.
    package var advice: String?

    /// Creates a check.
    package init(
      _ check: String,
      _ verdict: Verdict,
      _ message: String,
      advice: String? = nil
    ) {
      self.check = check
      self.verdict = verdict
      self.message = message
      self.advice = advice
    }

    /// Writes an absent advice as null rather than leaving it out: scripts look for the field.
    package func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(check, forKey: .check)
      try fields.encode(verdict, forKey: .verdict)
      try fields.encode(message, forKey: .message)
      try fields.encode(advice, forKey: .advice)
    }
  }

  /// Creates a report.
  package init(checks: [Check]) { self.checks = checks }

  /// True if something won't work.
  package var hasFailed: Bool { checks.contains { $0.verdict == .failed } }

  /// The report for people, ending with a line's end.
  package var text: String {
    let width = checks.map(\.check.count).max() ?? 0
    let verdictWidth = 9
    var lines: [String] = []
    for check in checks {
      let verdict = check.verdict.rawValue
      lines.append(
        verdict + spaces(verdictWidth - verdict.count) + check.check
          + spaces(width - check.check.count + 2) + check.message.utf8.printable
      )
      if let advice = check.advice {
        lines.append(spaces(verdictWidth + width + 2) + "-> " + advice.utf8.printable)
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func spaces(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }
}
