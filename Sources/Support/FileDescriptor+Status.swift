internal import CLinux
package import Core
internal import Glibc

extension FileDescriptor {
  /// Returns what the file system says of the open file.
  package func status() throws(DiskFailure) -> Disk.Status {
    var status = stat()
    try retrying("stat \(name)") { fstat(number, &status) }
    return Disk.Status(status)
  }

  /// Returns the bytes of a range; fewer than asked only at the end of the file.
  package func bytes(_ range: ByteRange) throws(DiskFailure) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 16)
    defer { buffer.deallocate() }
    let count = try read(into: buffer, at: range.lowerBound)
    return Array(buffer[..<count])
  }

  /// Asks the kernel to start writing a range back, without waiting until it is done.
  ///
  /// A hint: that it failed changes nothing. It may block while the disk's queue is full.
  package func startWriteback(of range: ByteRange) {
    _ = clinux_start_writeback(number, off_t(range.lowerBound), off_t(range.count))
  }

  /// Waits until the file's bytes and its status, or a directory's names, are on the disk.
  package func synchronizeAll() throws(DiskFailure) {
    try retrying("sync \(name)") { fsync(number) }
  }
}
