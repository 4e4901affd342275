package import Core
internal import Glibc
internal import Support

/// Reads small files: the seam between configuration and the disk.
///
/// Conformers: `DiskFileReader` and a dictionary in tests.
package protocol FileReader: Sendable {
  /// Returns the file's bytes, or nil if there is no such file.
  func contents(of path: String) async throws(DiskFailure) -> [UInt8]?
}

/// Files on the disk, read on a thread that may wait for it.
package struct DiskFileReader: FileReader {
  /// 1 MiB: a configuration file is a few KiB; what is larger is something else, such as a device.
  private static let sizeMax = 1 << 20

  private let pool = BlockingPool(threadCount: 1)

  /// Creates it.
  package init() {}

  package func contents(of path: String) async throws(DiskFailure) -> [UInt8]? {
    try await pool.run { () throws(DiskFailure) in
      let file: FileDescriptor
      do throws(DiskFailure) {
        // A pipe would be waited for until somebody writes into it, which may be never.
        file = try FileDescriptor.open(path, [.read, .nonBlocking])
      } catch  where error.errno == ENOENT || error.errno == ENOTDIR {
        return nil
      }
      if let kind = Self.unreadableKind(of: file) {
        throw DiskFailure(errno: EINVAL, action: "read \(path)", reason: "it is \(kind)")
      }
      let size = try file.size()
      guard size <= Self.sizeMax else {
        throw DiskFailure(errno: EFBIG, action: "read \(path)", reason: "larger than 1 MiB")
      }
      return try Self.read(file, size)
    }
  }

  /// What the file is, if no configuration can be in it; a device, such as /dev/null, is read as empty.
  private static func unreadableKind(of file: FileDescriptor) -> String? {
    var status = stat()
    guard fstat(file.number, &status) == 0 else { return nil }
    return switch status.st_mode & S_IFMT {
    case S_IFIFO: "a pipe"
    case S_IFDIR: "a directory"
    default: nil
    }
  }

  private static func read(_ file: FileDescriptor, _ size: Int) throws(DiskFailure) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
    defer { buffer.deallocate() }
    let count = try file.read(into: buffer, at: 0)
    return Array(buffer.prefix(count))
  }
}
