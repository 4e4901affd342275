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
        file = try FileDescriptor.open(path, .read)
      } catch  where error.errno == ENOENT || error.errno == ENOTDIR {
        return nil
      }
      let size = try file.size()
      guard size <= Self.sizeMax else {
        throw DiskFailure(errno: EFBIG, action: "read \(path)", reason: "larger than 1 MiB")
      }
      return try Self.read(file, size)
    }
  }

  private static func read(_ file: FileDescriptor, _ size: Int) throws(DiskFailure) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
    defer { buffer.deallocate() }
    let count = try file.read(into: buffer, at: 0)
    return Array(buffer.prefix(count))
  }
}
