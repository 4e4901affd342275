internal import Core
internal import Glibc
internal import Support

/// Where a starting mount reports: to the program that waits for it, or to the terminal.
package final class StartReport: Sendable {
  // The starter's pipe; nil in the foreground, or once the report has been made.
  private let pipe: Lock<FileDescriptor?>
  /// True if another program started this one and waits for its report.
  package let isBackground: Bool

  static let variable = "DIPPER_START_PIPE"

  /// Takes over the pipe that `BackgroundStart` left, if there is one.
  ///
  /// Call it on the main thread before another is started: it changes the environment.
  package init() {
    var found: FileDescriptor?
    if let value = getenv(Self.variable), let number = Int32(String(cString: value)), number > 2 {
      found = FileDescriptor.inheritedPipe(number)
    }
    unsetenv(Self.variable)
    isBackground = found != nil
    pipe = Lock(found)
  }

  /// The mount can be looked at.
  ///
  /// The starter does, and goes its way; standard error leads nowhere from now on.
  package func ready(at mountpoint: String) {
    send(.ready(mountpoint: mountpoint))
    guard isBackground else { return }
    if let null = try? FileDescriptor.open("/dev/null", .readWrite) { try? null.replace(2) }
    pipe.withLock { $0 = nil }
  }

  /// Something a person should know.
  package func note(_ message: String) { send(.note(message)) }

  /// It failed.
  package func failed(code: ExitCode, _ message: String) {
    send(.failed(code: code.rawValue, message: message))
  }

  private func send(_ line: StartLine) {
    let pipe = pipe.withLock { $0 }
    let text: String
    if pipe != nil {
      text = line.text + "\n"
    } else {
      switch line {
      case .ready, .noise: return
      case .failed(_, let message), .note(let message): text = "dipper: \(message)\n"
      }
    }
    let number = pipe?.number ?? STDERR_FILENO
    Array(text.utf8).withUnsafeBytes { bytes in
      // A starter that is gone has nobody to tell.
      _ = write(number, bytes.baseAddress, bytes.count)
    }
  }
}
