internal import Daemon
internal import Glibc
internal import Support

/// The terminal, or what stands in its place.
enum Console {
  /// Set once standard output could not be written, which has been said then.
  private static let hasFailed = Lock(false)
  /// Set once nobody read standard output any more.
  private static let isClosed = Lock(false)

  /// True if standard output is a pipe whose reader has gone.
  static var isOutputClosed: Bool { isClosed.withLock { $0 } }

  /// The exit code of a command that ends with `code`: output that was lost is a failure too.
  static func exitCode(_ code: ExitCode) -> ExitCode {
    code == .done && hasFailed.withLock { $0 } ? .failed : code
  }

  /// Writes text to standard output.
  ///
  /// - Returns: false if nobody reads it any more.
  @discardableResult
  static func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  /// Writes bytes to standard output.
  @discardableResult
  static func write(_ bytes: [UInt8]) -> Bool { write(bytes, to: STDOUT_FILENO) }

  /// Writes a sentence to standard error, as ours.
  static func complain(_ sentence: String) {
    // One line, whatever a server or a file name put into it.
    let line = sentence.split(whereSeparator: \.isNewline).joined(separator: " ")
    write(Array("dipper: \(line)\n".utf8), to: STDERR_FILENO)
  }

  /// Writes text to standard error as it is, for the progress line.
  static func show(_ text: String) { write(Array(text.utf8), to: STDERR_FILENO) }

  /// True if standard output is a terminal.
  static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  /// The columns of the terminal that standard error is; nil if it is none.
  static var progressWidth: Int? { Terminal.width(of: STDERR_FILENO) }

  /// The columns of the terminal that standard output is; nil if it is none.
  static var outputWidth: Int? { Terminal.width(of: STDOUT_FILENO) }

  private static func lost(_ reason: String) {
    let isFirst = hasFailed.withLock { hasFailed in
      defer { hasFailed = true }
      return !hasFailed
    }
    if isFirst { complain("standard output can't be written: \(reason)") }
  }

  @discardableResult
  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        let number = errno
        if number == EINTR { continue }
        guard descriptor == STDOUT_FILENO else { return false }
        // Whoever closes a pipe has seen enough; a full disk is another matter.
        if number == EPIPE {
          isClosed.withLock { $0 = true }
        } else {
          lost(errnoDescription(number))
        }
        return false
      }
      rest = rest.dropFirst(count)
    }
    return true
  }
}

/// How a command ends early: an exit code and, unless it has been said, one sentence.
struct Failure: Error {
  let code: ExitCode
  let sentence: String?

  init(_ sentence: String?, code: ExitCode = .failed) {
    self.code = code
    self.sentence = sentence
  }
}
