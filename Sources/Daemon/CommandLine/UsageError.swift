/// A command line that can't be carried out: exit code 2 and one sentence.
package struct UsageError: Error, Hashable, Sendable {
  /// The sentence: it names the option or operand and says what to do.
  package let message: String

  /// Creates an error.
  package init(_ message: String) { self.message = message }
}

/// The exit codes that scripts rely on.
package enum ExitCode: Int32, Sendable {
  /// Everything asked for was done.
  case done = 0
  /// It failed; a sentence on standard error says why.
  case failed = 1
  /// The command line can't be carried out.
  case usage = 2
  /// The source changed since the checkpoint; nothing was mixed.
  case sourceChanged = 3
  /// Another process holds the checkpoint.
  case checkpointHeld = 4
  /// Paused by SIGINT.
  case interrupted = 130
  /// Paused by SIGTERM.
  case terminated = 143
}
