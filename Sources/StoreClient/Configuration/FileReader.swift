package import Core
internal import Glibc
internal import Support

/// Reads small files: the seam between configuration and the disk.
///
/// Conformers: `DiskFileReader` and a dictionary in tests.
package protocol FileReader: Sendable {
  /// Returns what is in the file, or nil if there is no such file.
  func contents(of path: String) async throws(DiskFailure) -> FileContents?
}

/// What is in a small file, and who can know it.
package struct FileContents: Hashable, Sendable {
  /// The bytes.
  package let bytes: [UInt8]
  /// True if users other than the file's owner can read it.
  package let isOpenToOthers: Bool

  /// Creates contents.
  package init(_ bytes: [UInt8], isOpenToOthers: Bool = false) {
    self.bytes = bytes
    self.isOpenToOthers = isOpenToOthers
  }
}

/// Files on the disk, read on a thread that may wait for it.
package struct DiskFileReader: FileReader {
  /// 1 MiB: a configuration file is a few KiB; what is larger is something else, such as a device.
  private static let sizeMax = 1 << 20

  private let pool = BlockingPool(threadCount: 1)

  /// Creates it.
  package init() {}

  package func contents(of path: String) async throws(DiskFailure) -> FileContents? {
    try await pool.run { () throws(DiskFailure) -> FileContents? in
      let file: FileDescriptor
      do throws(DiskFailure) {
        // A pipe would be waited for until somebody writes into it, which may be never.
        file = try FileDescriptor.open(path, [.read, .nonBlocking])
      } catch  where error.errno == ENOENT || error.errno == ENOTDIR {
        return nil
      }
      let mode = Self.mode(of: file)
      if let kind = Self.unreadableKind(mode) {
        throw DiskFailure(errno: EINVAL, action: "read \(path)", reason: "it is \(kind)")
      }
      let size = try file.size()
      guard size <= Self.sizeMax else {
        throw DiskFailure(errno: EFBIG, action: "read \(path)", reason: "larger than 1 MiB")
      }
      return FileContents(
        try Self.read(file, size),
        isOpenToOthers: mode & S_IFMT == S_IFREG && mode & (S_IRGRP | S_IROTH) != 0
      )
    }
  }

  /// What the file is, if no configuration can be in it; a device, such as /dev/null, is read as empty.
  private static func unreadableKind(_ mode: mode_t) -> String? {
    switch mode & S_IFMT {
    case S_IFIFO: "a pipe"
    case S_IFDIR: "a directory"
    default: nil
    }
  }

  private static func mode(of file: FileDescriptor) -> mode_t {
    var status = stat()
    return fstat(file.number, &status) == 0 ? status.st_mode : 0
  }

  private static func read(_ file: FileDescriptor, _ size: Int) throws(DiskFailure) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
    defer { buffer.deallocate() }
    let count = try file.read(into: buffer, at: 0)
    return Array(buffer.prefix(count))
  }
}

extension FileContents {
  /// What to say of a file with a secret that others can read.
  static func remark(on path: String) -> String {
    "\(path.utf8.printable) has a secret and can be read by other users; chmod 600 it"
  }
}
