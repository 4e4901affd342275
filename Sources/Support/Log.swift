package import Core
internal import Glibc

/// The log: one line per event, in words or as JSON, to a descriptor, a file or the system's log.
///
/// Of warnings and errors of one kind the first is written at once, and then one each ten seconds that
/// says how many there were: a disk that refuses every write must not fill the disk that has the log.
///
/// Set up once at start; before that, and in tests, it writes warnings to standard error.
package final class Log: Sendable {
  /// How much a line matters, from little to much.
  package enum Level: Int, Comparable, CaseIterable, Sendable {
    case debug
    case info
    case warning
    case error

    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  /// Where the lines go.
  package enum Target: Sendable {
    /// To an open descriptor.
    case descriptor(FileDescriptor)
    /// To a file.
    case file(LogFile)
    /// To standard error.
    case standardError
    /// To the system's log.
    case system(SystemLog)
  }

  /// How a line looks.
  package enum Format: String, Sendable {
    case text
    case json
  }

  private let level: Level
  private let target: Target
  private let format: Format
  private let time: any TimeSource
  private let repetitions = Lock(RepetitionFilter(interval: .seconds(10)))

  /// Creates a log.
  package init(
    level: Level = .warning,
    target: Target = .standardError,
    format: Format = .text,
    time: any TimeSource = SystemClock()
  ) {
    self.level = level
    self.target = target
    self.format = format
    self.time = time
  }

  /// Where the lines go, in words; a file is named by its path.
  package var place: String {
    switch target {
    case .descriptor, .standardError: "standard error"
    case .file(let file): file.path
    case .system: "the system's log"
    }
  }

  /// Writes a line if `level` is loud enough and it isn't one of many.
  ///
  /// - Parameters:
  ///   - level: how much it matters.
  ///   - message: the sentence.
  ///   - fields: facts by name, in order.
  ///   - kind: what it is a repetition of; nil takes the message up to its first colon, and lets
  ///     through what is below a warning.
  package func write(
    _ level: Level,
    _ message: @autoclosure () -> String,
    _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:],
    kind: String? = nil
  ) {
    guard level >= self.level else { return }
    let message = message()
    guard level >= .warning || kind != nil else {
      emit(level, message, fields())
      return
    }
    let key = kind ?? Self.kind(of: message)
    let now = time.now
    let (verdict, ended) = repetitions.withLock { filter in
      (filter.occurred(key, at: now), filter.takeEnded(at: now))
    }
    tell(ended)
    guard case .tell(let count) = verdict else { return }
    emit(level, count > 0 ? "\(message) (and \(count) more like it before)" : message, fields())
  }

  /// Says how many lines were held back and not told of yet; the last thing to do with a log.
  package func flush() { tell(repetitions.withLock { $0.takeAll() }) }

  /// Opens the file anew, if it is one, after it was moved away.
  package func reopen() {
    guard case .file(let file) = target else { return }
    do throws(DiskFailure) {
      try file.reopen()
    } catch {
      write(.warning, "the log file can't be opened anew: \(error)")
    }
  }

  private func tell(_ rests: [RepetitionFilter.Rest]) {
    for rest in rests { emit(.warning, "\(rest.count) more of: \(rest.kind)", [:]) }
  }

  private static func kind(of message: String) -> String {
    message.firstIndex(of: ":").map { String(message[..<$0]) } ?? message
  }

  private func emit(_ level: Level, _ message: String, _ fields: KeyValuePairs<String, String>) {
    let line = LogLine(time: time.wallTime, level: level, message: message, fields: fields)
    switch target {
    case .descriptor(let descriptor): Self.emit(line.text(format), to: descriptor.number)
    case .file(let file): file.write(line.text(format) + "\n")
    case .standardError: Self.emit(line.text(format), to: STDERR_FILENO)
    case .system(let log): log.write(line.bare, level, at: line.time)
    }
  }

  private static func emit(_ text: String, to descriptor: Int32) {
    var line = text
    line += "\n"
    // One write per line, so that lines of several threads don't mix. A log that can't be written
    // has nobody to tell.
    line.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }
}
