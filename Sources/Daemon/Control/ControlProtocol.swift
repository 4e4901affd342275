internal import FoundationEssentials

/// What is said on a control socket: one JSON object a line, one request a connection.
package struct ControlRequest: Codable, Hashable, Sendable {
  /// What to do.
  package var command: Command

  /// What can be asked for.
  package enum Command: String, Codable, Sendable {
    /// One answer, with the mount's status.
    case status
    /// Answers with `waiting` as long as something is pending, then with `done` or `error`; the
    /// daemon ends after `done`.
    case unmount
  }

  /// Creates a request.
  package init(_ command: Command) { self.command = command }
}

/// One line of an answer.
package struct ControlAnswer: Codable, Hashable, Sendable {
  /// The mount's status.
  package var status: MountStatus?
  /// What is being waited for.
  package var waiting: String?
  /// Why it can't be done.
  package var error: String?
  /// True if it can't be done because something uses the mount.
  package var busy: Bool?
  /// True in the last answer to what was done.
  package var done: Bool?

  /// Creates an answer with a status.
  package init(status: MountStatus) { self.status = status }
  /// Creates an answer that says what is waited for.
  package init(waiting: String) { self.waiting = waiting }
  /// Creates an answer that says why it can't be done.
  package init(error: String, isBusy: Bool = false) {
    self.error = error
    busy = isBusy ? true : nil
  }
  /// Creates the last answer to something done.
  package init(isDone: Bool) { done = isDone }
}

/// JSON lines there and back.
enum ControlLine {
  /// A longer line is nothing of ours; a status with every transfer and failure stays far below.
  static let lengthMax = 8 << 20

  static func encode(_ value: some Encodable) -> [UInt8] {
    Array(StatusReport.text(of: value).utf8) + [0x0A]
  }

  static func decode<Value: Decodable>(_ line: [UInt8], as type: Value.Type) -> Value? {
    try? JSONDecoder().decode(type, from: Data(line))
  }
}
