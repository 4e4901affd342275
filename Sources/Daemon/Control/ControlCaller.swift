internal import Glibc
internal import Support

/// Whoever asked something on a control socket, for as long as the answer takes.
package struct ControlCaller: Sendable {
  private let connection: FileDescriptor

  init(_ connection: FileDescriptor) { self.connection = connection }

  /// Sends an answer; whoever asked may have gone, which is its business.
  package func callAsFunction(_ answer: ControlAnswer) {
    guard !isGone else { return }
    try? connection.write(ControlLine.encode(answer))
  }

  /// True once the other end has hung up, so that nobody waits for the rest.
  package var isGone: Bool {
    var entry = pollfd(fd: connection.number, events: 0, revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP | POLLERR) != 0
  }
}
