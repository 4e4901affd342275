internal import Core
internal import Daemon
internal import Dipper
internal import Support

/// What a person, or a script, sees of a transfer while it runs.
///
/// A terminal has a line that moves; where `--progress` asks for it elsewhere, there is one line at the
/// end, since a log has no use for the others.
final class TransferDisplay: Sendable {
  private struct State {
    var line: ProgressLine?
    var byteCount = 0
  }

  private let name: String
  private let isJSON: Bool
  private let width: Int?
  private let isTerminal: Bool
  private let state = Lock(State())

  /// Creates the display that a command line asks for: events, a progress line, or nothing.
  init(_ invocation: Invocation, name: String) {
    self.name = String(name.split(separator: "/").last ?? "")
    isJSON = invocation.has(.json)
    let terminalWidth = Console.progressWidth
    isTerminal = terminalWidth != nil
    if invocation.has(.noProgress) || (isJSON && !invocation.has(.progress)) {
      width = nil
    } else {
      width = terminalWidth ?? (invocation.has(.progress) ? 80 : nil)
    }
  }

  /// Shows what happened in a download.
  func show(_ event: DownloadEvent) {
    write(TransferEventLine(event))
    switch event {
    case .started(let size, _, let count): begin(total: size, count)
    case .startedOver(let reason): Console.complain("starting over: \(reason)")
    case .progressed(let count, _): draw(count)
    case .temporaryFileCreated, .temporaryFileFailed, .partSucceeded, .partFailed, .partAborted,
      .renamed, .renameFailed:
      break
    }
  }

  /// Shows what happened in an upload or a copy.
  func show(_ event: UploadEvent) {
    write(TransferEventLine(event))
    switch event {
    case .started(let size, _, let count):
      begin(total: size, count)
    case .startedOver(let reason): Console.complain("starting over: \(reason)")
    case .partSucceeded(let part):
      draw(
        state.withLock { state in
          state.byteCount += part.size
          return state.byteCount
        }
      )
    case .completed(let object): draw(object.size)
    case .multipartUploadCreated, .multipartUploadFailed, .partFailed, .partAborted,
      .completionFailed:
      break
    }
  }

  /// Leaves the progress line as it is and goes to the next, or shows it for the first time.
  func end() {
    guard let width, let line = state.withLock({ $0.line }) else { return }
    Console.show(isTerminal ? "\n" : line.text(width: width) + "\n")
  }

  private func write(_ line: TransferEventLine) {
    if isJSON { Console.write(StatusReport.text(of: line) + "\n") }
  }

  private func begin(total: Int?, _ count: Int) {
    state.withLock { state in
      state.line = ProgressLine(name: name, total: total)
      state.byteCount = count
    }
    draw(count)
  }

  private func draw(_ count: Int) {
    guard let width else { return }
    let now = SystemClock().now
    let text = state.withLock { state -> String? in
      state.line?.note(count, at: now)
      return state.line?.text(width: width - 1)
    }
    // Back to the start of the line, and clear what was longer.
    if isTerminal, let text { Console.show("\r\(text)\u{1B}[K") }
  }
}
