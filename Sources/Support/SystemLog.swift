internal import Core
internal import Glibc

/// The system's log: datagrams to the socket that syslogd or journald listens on.
///
/// Not syslog(3), which loses what it can't deliver without a word and can't be pointed elsewhere.
package final class SystemLog: Sendable {
  private let path: String
  private let identifier: String
  private let connection = Lock<FileDescriptor?>(nil)
  // A log that is stuck must not hold up whoever has something to say.
  private static let patience = Duration.milliseconds(200)

  /// Creates a log that writes as `identifier` to the socket at `path`.
  package init(path: String = "/dev/log", identifier: String = "dipper") {
    self.path = path
    self.identifier = identifier
  }

  /// Connects, unless that has been done; false if nobody listens there.
  package func connect() -> Bool { connected() != nil }

  /// Sends one line; what nobody takes is lost.
  func write(_ line: String, _ level: Log.Level, at time: Timestamp) {
    // Source: RFC 3164, section 4.1, without the host, as local programs write it.
    let priority = Self.facility << 3 | Self.severity(level)
    let text = "<\(priority)>\(Self.text(of: time)) \(identifier)[\(getpid())]: \(line)"
    if send(text) { return }
    // The log may have been started anew.
    connection.withLock { $0 = nil }
    _ = send(text)
  }

  // Source: RFC 3164, section 4.1.1: 3 is "system daemons".
  private static let facility = 3

  private static func severity(_ level: Log.Level) -> Int {
    switch level {
    case .debug: 7
    case .info: 6
    case .warning: 4
    case .error: 3
    }
  }

  /// Local time as `Nov 30 08:05:00`, the day padded with a space.
  private static func text(of time: Timestamp) -> String {
    var seconds = time_t(time.seconds)
    var parts = tm()
    localtime_r(&seconds, &parts)
    let months =
      ["Jan", "Feb", "Mar", "Apr", "May", "Jun"] + ["Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int32, _ padding: String) -> String {
      number < 10 ? "\(padding)\(number)" : "\(number)"
    }
    let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { two($0, "0") }
    return "\(months[Int(parts.tm_mon) % 12]) \(two(parts.tm_mday, " ")) "
      + clock.joined(separator: ":")
  }

  private func connected() -> FileDescriptor? {
    if let known = connection.withLock({ $0 }) { return known }
    guard let fresh = try? LocalSocket.connectDatagram(to: path) else { return nil }
    LocalSocket.setTimeout(Self.patience, of: fresh)
    connection.withLock { $0 = fresh }
    return fresh
  }

  private func send(_ text: String) -> Bool {
    guard let socket = connected() else { return false }
    var text = text
    let count = text.withUTF8 {
      Glibc.send(socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    // Full is not gone: another connection would be as full.
    return count >= 0 || errno == EAGAIN
  }
}
