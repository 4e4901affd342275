internal import CLinux
package import Core
internal import Glibc

/// The log: one line per event, in words or as JSON, to a descriptor or to syslog.
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
    /// To standard error.
    case standardError
    /// To the system's log, as `dipper`.
    case systemLog
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

  /// Writes a line if `level` is loud enough; `fields` are facts by name, in order.
  package func write(
    _ level: Level,
    _ message: @autoclosure () -> String,
    _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]
  ) {
    guard level >= self.level else { return }
    let line = LogLine(time: time.wallTime, level: level, message: message(), fields: fields())
    switch target {
    case .descriptor(let descriptor): Self.emit(line.text(format), to: descriptor.number)
    case .standardError: Self.emit(line.text(format), to: STDERR_FILENO)
    case .systemLog: Self.system(line.bare, level)
    }
  }

  private static func emit(_ text: String, to descriptor: Int32) {
    var line = text
    line += "\n"
    // One write per line, so that lines of several threads don't mix. A log that can't be written
    // has nobody to tell.
    line.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }

  private static func system(_ text: String, _ level: Level) {
    let priority =
      switch level {
      case .debug: LOG_DEBUG
      case .info: LOG_INFO
      case .warning: LOG_WARNING
      case .error: LOG_ERR
      }
    clinux_syslog(priority, text)
  }
}
