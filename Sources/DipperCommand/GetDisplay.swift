internal import Core
internal import Daemon
internal import Dipper
internal import Support

/// What a person, or a script, sees of a download while it runs.
///
/// A terminal has a line that moves; where `--progress` asks for it elsewhere, there is one line at the
/// end, since a log has no use for the others.
final class GetDisplay: Sendable {
  private let name: String
  private let isJSON: Bool
  private let width: Int?
  private let isTerminal: Bool
  private let line = Lock<ProgressLine?>(nil)

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

  func show(_ event: DownloadEvent) {
    if isJSON { Console.write(StatusReport.text(of: JSONEvent(event)) + "\n") }
    switch event {
    case .started(let size, let count):
      line.withLock { $0 = ProgressLine(name: name, total: size) }
      draw(count)
    case .startedOver(let reason):
      Console.complain("starting over: \(reason)")
    case .progressed(let count):
      draw(count)
    case .partFinished, .partFailed, .finished:
      break
    }
  }

  /// Leaves the progress line as it is and goes to the next, or shows it for the first time.
  func end() {
    guard let width, let line = line.withLock({ $0 }) else { return }
    Console.show(isTerminal ? "\n" : line.text(width: width) + "\n")
  }

  private func draw(_ count: Int) {
    guard let width else { return }
    let now = SystemClock().now
    let text = line.withLock { line -> String? in
      line?.note(count, at: now)
      return line?.text(width: width - 1)
    }
    // Back to the start of the line, and clear what was longer.
    if isTerminal, let text { Console.show("\r\(text)\u{1B}[K") }
  }
}

/// A line of `get --json`.
private struct JSONEvent: Encodable {
  private var event: String
  private var size: Int?
  private var bytesDone: Int?
  private var offset: Int?
  private var length: Int?
  private var path: String?
  private var message: String?

  init(_ event: DownloadEvent) {
    switch event {
    case .started(let size, let count):
      self.event = "started"
      self.size = size
      bytesDone = count
    case .startedOver(let reason):
      self.event = "started_over"
      message = reason
    case .partFinished(let start, let end):
      self.event = "part_finished"
      offset = start
      length = end - start
    case .partFailed(let start, let end, let error):
      self.event = "part_failed"
      offset = start
      length = end - start
      message = error.description
    case .progressed(let count):
      self.event = "progress"
      bytesDone = count
    case .finished(let path):
      self.event = "finished"
      self.path = path
    }
  }

  private enum CodingKeys: String, CodingKey {
    case event
    case size
    case bytesDone = "bytes_done"
    case offset
    case length
    case path
    case message
  }
}
