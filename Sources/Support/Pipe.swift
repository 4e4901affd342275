internal import CLinux
package import Core
internal import Glibc

/// The two ends of a pipe.
package struct Pipe: Sendable {
  /// Where bytes come out.
  package let readEnd: FileDescriptor
  /// Where they go in.
  package let writeEnd: FileDescriptor

  /// Makes a pipe whose ends are closed on exec.
  package init() throws(DiskFailure) {
    var ends: (Int32, Int32) = (-1, -1)
    try retrying("make a pipe") {
      withUnsafeMutableBytes(of: &ends) { clinux_pipe($0.bindMemory(to: Int32.self).baseAddress) }
    }
    readEnd = FileDescriptor(owning: ends.0)
    writeEnd = FileDescriptor(owning: ends.1)
  }
}

extension FileDescriptor {
  /// Writes all of `bytes` to a pipe, a socket or the file's position.
  package func write(_ bytes: [UInt8]) throws(DiskFailure) {
    let span = bytes.span.bytes
    try span.withUnsafeBytes { (buffer) throws(DiskFailure) in try write(buffer) }
  }

  /// Takes over a descriptor that this process was started with; nil if it is not a pipe.
  package static func inheritedPipe(_ number: Int32) -> FileDescriptor? {
    var status = stat()
    guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO,
      fcntl(number, F_SETFD, FD_CLOEXEC) == 0
    else { return nil }
    return FileDescriptor(owning: number)
  }

  /// Makes `number` (0, 1 or 2) another name of this descriptor's file.
  package func replace(_ number: Int32) throws(DiskFailure) {
    try retrying("replace descriptor \(number)") { dup2(self.number, number) }
  }

  /// Another descriptor of standard output or error, which may be closed without closing that.
  package static func duplicate(of number: Int32) throws(DiskFailure) -> FileDescriptor {
    FileDescriptor(
      owning: try retrying("duplicate descriptor \(number)") {
        fcntl(number, F_DUPFD_CLOEXEC, 3)
      }
    )
  }
}
