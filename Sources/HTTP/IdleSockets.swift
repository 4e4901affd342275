internal import Glibc

/// Keeps a connection from being used again when something lies in it that nobody asked for.
///
/// A server that sends more than it announced leaves bytes that would be taken for the beginning of
/// the next answer: one object's bytes under another's name. libcurl before 8.0 checks only that the
/// connection is open. So each connection that becomes idle is noted here, and looked into in
/// the moment before the next request goes out on it; what arrives later can't be told from an
/// answer in HTTP/1.1.
///
/// Only the driver thread touches it.
final class IdleSockets {
  /// Ports of connections that libcurl has closed stay behind; that many are carried along.
  private static let countMax = 4096

  private var sockets: [Int32: Int32] = [:]

  /// A connection became idle.
  func note(_ socket: Int32, localPort: Int32) {
    if sockets.count >= Self.countMax { sockets = [:] }
    sockets[localPort] = socket
  }

  /// A connection is about to be used again.
  ///
  /// - Returns: true if it is open and nothing has arrived on it.
  func take(localPort: Int32) -> Bool {
    guard let socket = sockets.removeValue(forKey: localPort) else { return false }
    var byte: UInt8 = 0
    let count = recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    return count == -1 && (errno == EAGAIN || errno == EWOULDBLOCK)
  }
}
