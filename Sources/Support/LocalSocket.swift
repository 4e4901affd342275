internal import CLinux
package import Core
internal import Glibc

/// Stream sockets in the file system, and who is at their other end.
package enum LocalSocket {
  /// Listens at `path`, which must not exist.
  package static func listen(at path: String) throws(DiskFailure) -> FileDescriptor {
    let socket = try make(path)
    var address = try address(of: path)
    try retrying("listen at \(path)") { call(&address) { bind(socket.number, $0, $1) } }
    try retrying("listen at \(path)") { Glibc.listen(socket.number, 16) }
    return socket
  }

  /// Connects to the listener at `path`; reading and writing then fail after `timeout`.
  package static func connect(
    to path: String,
    timeout: Duration
  ) throws(DiskFailure) -> FileDescriptor {
    let socket = try make(path)
    setTimeout(timeout, of: socket)
    var address = try address(of: path)
    try retrying("connect to \(path)") { call(&address) { Glibc.connect(socket.number, $0, $1) } }
    return socket
  }

  /// A datagram socket that sends to the one at `path`.
  package static func connectDatagram(to path: String) throws(DiskFailure) -> FileDescriptor {
    let socket = try make(path, SOCK_DGRAM)
    var address = try address(of: path)
    try retrying("connect to \(path)") { call(&address) { Glibc.connect(socket.number, $0, $1) } }
    return socket
  }

  /// A datagram socket that receives at `path`, which must not exist.
  package static func receiveDatagrams(at path: String) throws(DiskFailure) -> FileDescriptor {
    let socket = try make(path, SOCK_DGRAM)
    var address = try address(of: path)
    try retrying("receive at \(path)") { call(&address) { bind(socket.number, $0, $1) } }
    return socket
  }

  /// Waits for a connection.
  package static func accept(_ listener: FileDescriptor) throws(DiskFailure) -> FileDescriptor {
    FileDescriptor(
      owning: try retrying("accept a connection") {
        clinux_accept(listener.number)
      }
    )
  }

  /// The user and the process at the other end: who connected, or who listens.
  package static func peer(
    of socket: FileDescriptor
  ) throws(DiskFailure) -> (user: UInt32, process: Int32) {
    var user: uid_t = 0
    var process: pid_t = 0
    try retrying("ask who is at a socket's other end") {
      clinux_peer(socket.number, &user, &process)
    }
    return (user, process)
  }

  /// Ends both directions, so that a thread that waits in `accept` or `read` returns.
  package static func shutDown(_ socket: FileDescriptor) {
    _ = shutdown(socket.number, Int32(SHUT_RDWR))
  }

  /// Makes reading and writing fail with `EAGAIN` after `timeout`.
  package static func setTimeout(_ timeout: Duration, of socket: FileDescriptor) {
    let nanoseconds = Int(timeout.wholeNanoseconds)
    var time = timeval(
      tv_sec: nanoseconds / 1_000_000_000,
      tv_usec: nanoseconds % 1_000_000_000 / 1000
    )
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(socket.number, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    setsockopt(socket.number, SOL_SOCKET, SO_SNDTIMEO, &time, size)
  }

  private static func make(
    _ path: String,
    _ type: __socket_type = SOCK_STREAM
  ) throws(DiskFailure) -> FileDescriptor {
    let kind = Int32(type.rawValue | SOCK_CLOEXEC.rawValue)
    return FileDescriptor(
      owning: try retrying("make a socket for \(path)") { socket(AF_UNIX, kind, 0) }
    )
  }

  private static func address(of path: String) throws(DiskFailure) -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let isTooLong = withUnsafeMutableBytes(of: &address.sun_path) { space in
      guard bytes.count < space.count else { return true }
      space.copyBytes(from: bytes)
      return false
    }
    guard !isTooLong else {
      throw DiskFailure(
        errno: ENAMETOOLONG,
        action: "use the socket \(path)",
        reason: errnoDescription(ENAMETOOLONG)
      )
    }
    return address
  }

  private static func call(
    _ address: inout sockaddr_un,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}

/// Reads lines from a pipe or socket.
package struct LineReader {
  private let descriptor: FileDescriptor
  private let lengthMax: Int
  private var buffer: [UInt8] = []
  private var isAtEnd = false

  /// Creates a reader that takes lines of at most `lengthMax` bytes.
  package init(_ descriptor: FileDescriptor, lengthMax: Int) {
    self.descriptor = descriptor
    self.lengthMax = lengthMax
  }

  /// Returns the next line without its end; nil at the end of the stream.
  ///
  /// - Throws: `DiskFailure` of the read, or with `EMSGSIZE` for a line that is too long.
  package mutating func next() throws(DiskFailure) -> [UInt8]? {
    while true {
      if let end = buffer.firstIndex(of: 0x0A) {
        let line = Array(buffer[..<end])
        buffer.removeFirst(end + 1)
        return line
      }
      if isAtEnd {
        guard !buffer.isEmpty else { return nil }
        defer { buffer = [] }
        return buffer
      }
      guard buffer.count <= lengthMax else {
        throw DiskFailure(
          errno: EMSGSIZE,
          action: "read a line",
          reason: errnoDescription(EMSGSIZE)
        )
      }
      try fill()
    }
  }

  private mutating func fill() throws(DiskFailure) {
    var piece = [UInt8](repeating: 0, count: 16_384)
    let number = descriptor.number
    let count = try retrying("read a line") { read(number, &piece, piece.count) }
    isAtEnd = count == 0
    buffer += piece.prefix(count)
  }
}
