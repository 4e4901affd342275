internal import Glibc

/// Keeps a connection from being used again when something lies in it that nobody asked for.
///
/// A server that sends more than it announced leaves bytes that would be taken for the beginning of
/// the next answer: one object's bytes under another's name. libcurl before 8.0 checks only that the
/// connection is open. So the socket of each connection is noted when it is made, and looked into
/// in the moment before another request goes out on it. What arrives later can't be told from an
/// answer in HTTP/1.1.
///
/// Only the driver thread touches it.
final class ConnectionSockets {
  /// What libcurl tells of a connection, and what is true of one at a time.
  struct Connection: Hashable {
    let serverAddress: String
    let serverPort: Int32
    let ownPort: Int32
  }

  /// Connections that libcurl has closed stay behind until their place is needed.
  private static let countMax = 4096

  private var sockets: [Connection: Int32] = [:]

  /// A connection was made, with one of the sockets `candidates`.
  func made(_ connection: Connection, candidates: [Int32]) {
    guard let socket = candidates.last(where: { Self.port(of: $0) == connection.ownPort }) else {
      sockets[connection] = nil
      return
    }
    // Those that are forgotten here are not used again: that costs a handshake and nothing else.
    if sockets.count >= Self.countMax { sockets = [:] }
    sockets[connection] = socket
  }

  /// Returns true if a connection can be used again: it is open and nothing has arrived on it.
  func isFit(_ connection: Connection) -> Bool {
    guard let socket = sockets[connection] else { return false }
    var byte: UInt8 = 0
    let count = recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    return count == -1 && (errno == EAGAIN || errno == EWOULDBLOCK)
  }

  /// The local port of a socket; nil if it isn't one.
  private static func port(of socket: Int32) -> Int32? {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      let general = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
      guard getsockname(socket, general, &size) == 0 else { return nil }
      // The port lies at the same place in the addresses of IPv4 and IPv6.
      return UnsafeRawPointer(pointer).withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        Int32(UInt16(bigEndian: $0.pointee.sin_port))
      }
    }
  }
}
