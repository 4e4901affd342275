/// What a daemon that starts tells the program that started it, a line at a time.
///
/// The pipe also is the daemon's standard error until it is up, so whatever the runtime says as it
/// dies arrives too: every line that isn't ours is noise, kept in case there is nothing better.
enum StartLine: Hashable, Sendable {
  /// The kernel has been answered: the mount at this path can be looked at.
  case ready(mountpoint: String)
  /// It failed: an exit code and one sentence.
  case failed(code: Int32, message: String)
  /// Something a person should know, such as a dead mount that was cleared.
  case note(String)
  /// Anything else.
  case noise(String)

  // A control character that no message contains, because messages are printable.
  private static let mark: Character = "\u{1}"

  /// Reads a line.
  init(_ line: String) {
    guard line.first == Self.mark else {
      self = .noise(line)
      return
    }
    let (word, rest) = line.dropFirst().description.splitOnce(" ")
    switch word {
    case "ready":
      self = .ready(mountpoint: rest ?? "")
    case "note":
      self = .note(rest ?? "")
    case "failed":
      let (code, message) = (rest ?? "").splitOnce(" ")
      self = .failed(code: Int32(code) ?? 1, message: message ?? "it failed without a reason")
    default:
      self = .noise(line)
    }
  }

  /// The line without its end.
  var text: String {
    switch self {
    case .ready(let mountpoint): "\(Self.mark)ready \(mountpoint)"
    case .failed(let code, let message): "\(Self.mark)failed \(code) \(Self.joined(message))"
    case .note(let message): "\(Self.mark)note \(Self.joined(message))"
    case .noise(let text): text
    }
  }

  private static func joined(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}
