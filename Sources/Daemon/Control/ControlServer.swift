package import Core
internal import Glibc
package import Support

/// The daemon's end of the control socket.
///
/// One thread accepts; each connection has a thread of its own for as long as it takes, a few at a
/// time. Only the daemon's user and root get an answer.
///
/// A few descriptors are kept in reserve: when the process has no other left, they are given up for as
/// long as it takes to answer one connection, so that `status` and `unmount` always get through.
package final class ControlServer: Sendable {
  /// Carries a request out; `caller` may be answered several times, the last answer last.
  package typealias Handler =
    @Sendable (_ request: ControlRequest, _ caller: ControlCaller) -> Void

  private let path: String
  private let listener: FileDescriptor
  private let fileNumber: UInt?
  private let handler: Handler
  private let log: Log
  private let connectionCount = Monitor(0)

  // What an answer may need: the connection, /proc/self/mountinfo, and a pipe to fusermount3.
  private static let reserveCount = 5
  // More than that is nobody's honest wish; `CacheRequests` leaves room for `status` among them.
  private static let connectionCountMax = 64

  /// Opens the socket of the mount at `mountpoint` in the first of `directories` that can be used.
  package init(
    mountpoint: String,
    directories: [RuntimeDirectory],
    log: Log,
    handler: @escaping Handler
  ) throws(DiskFailure) {
    self.log = log
    self.handler = handler
    (path, listener) = try Self.open(mountpoint, directories)
    fileNumber = Self.fileNumber(path)
  }

  private static func fileNumber(_ path: String) -> UInt? {
    var status = stat()
    return lstat(path, &status) == 0 ? UInt(status.st_ino) : nil
  }

  private static func open(
    _ mountpoint: String,
    _ directories: [RuntimeDirectory]
  ) throws(DiskFailure) -> (String, FileDescriptor) {
    var failure: DiskFailure?
    for directory in directories {
      do throws(DiskFailure) {
        try directory.prepare()
        let path = directory.socketPath(for: mountpoint)
        // Made under another name and moved there in one step, over what a dead daemon left.
        let fresh = "\(path).\(getpid())"
        unlink(fresh)
        let listener = try LocalSocket.listen(at: fresh)
        try retrying("make the socket \(path)") { rename(fresh, path) }
        return (path, listener)
      } catch {
        if failure == nil { failure = error }
      }
    }
    throw failure
      ?? DiskFailure(errno: ENOENT, action: "make a socket", reason: "there is no directory for it")
  }

  /// Begins to answer.
  ///
  /// - Throws: `DiskFailure` if the system gives no more threads.
  package func start() throws(DiskFailure) {
    try Thread.require("dipper-control") { [self] in
      var reserve = Self.makeReserve()
      while true {
        do throws(DiskFailure) {
          take(try LocalSocket.accept(listener))
        } catch {
          switch error.errno {
          case EMFILE, ENFILE:
            guard !reserve.isEmpty else {
              // Nothing to give up: others must let go first.
              usleep(100_000)
              break
            }
            reserve = []
            // Answered here rather than on another thread, so that the reserve is filled up after it.
            if let connection = try? LocalSocket.accept(listener), isAllowed(connection) {
              serve(connection)
            }
          case ECONNABORTED, ENOMEM, ENOBUFS, EAGAIN: usleep(10_000)
          default: return
          }
        }
        if reserve.count < Self.reserveCount { reserve = Self.makeReserve() }
      }
    }
  }

  private static func makeReserve() -> [FileDescriptor] {
    (0..<reserveCount).compactMap { _ in try? FileDescriptor.open("/dev/null", .read) }
  }

  /// Ends answering and removes the socket, unless another daemon has put its own there.
  package func stop() {
    if Self.fileNumber(path) == fileNumber { unlink(path) }
    LocalSocket.shutDown(listener)
  }

  /// Removes the socket and returns when the last answers are out, or after a moment.
  package func finish() {
    stop()
    let end = SystemClock().now + .seconds(2)
    connectionCount.wait { count, deadline in
      deadline = end.nanoseconds
      return count == 0 || SystemClock().now >= end ? () : nil
    }
  }

  private func isAllowed(_ connection: FileDescriptor) -> Bool {
    if let user = (try? LocalSocket.peer(of: connection))?.user, user == geteuid() || user == 0 {
      return true
    }
    log.write(.warning, "a stranger was turned away from the control socket")
    return false
  }

  private func take(_ connection: FileDescriptor) {
    guard isAllowed(connection) else { return }
    let hasRoom = connectionCount.withLock { count in
      guard count < Self.connectionCountMax else { return false }
      count += 1
      return true
    }
    guard hasRoom else { return }
    let answer: @Sendable () -> Void = { [self] in
      serve(connection)
      connectionCount.withLock(wakingAll: true) { $0 -= 1 }
    }
    // Without another thread, this one answers.
    if !Thread.start("dipper-control", answer) { answer() }
  }

  private func serve(_ connection: FileDescriptor) {
    LocalSocket.setTimeout(.seconds(5), of: connection)
    var reader = LineReader(connection, lengthMax: 65_536)
    guard let line = try? reader.next() else { return }
    let caller = ControlCaller(connection)
    guard let request = ControlLine.decode(line, as: ControlRequest.self) else {
      caller(ControlAnswer(error: "this daemon doesn't know that request"))
      return
    }
    handler(request, caller)
  }
}
