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

  /// Makes the bytes of a range zeros, and the file at least so long that it has them.
  ///
  /// Takes no room on the disk where the file system knows holes.
  package func zero(_ range: ByteRange) throws(DiskFailure) {
    guard !range.isEmpty else { return }
    if try size() < range.upperBound { try truncate(to: range.upperBound) }
    do throws(DiskFailure) {
      try retrying("punch a hole into \(name)") {
        clinux_punch_hole(number, off_t(range.lowerBound), off_t(range.count))
      }
    } catch  where error.errno == EOPNOTSUPP || error.errno == ENOSYS {
      let zeros = [UInt8](repeating: 0, count: min(range.count, 1 << 20))
      var offset = range.lowerBound
      while offset < range.upperBound {
        let count = min(zeros.count, range.upperBound - offset)
        try zeros.span.bytes.extracting(first: count).withUnsafeBytes {
          (buffer) throws(DiskFailure) in try write(buffer, at: offset)
        }
        offset += count
      }
    }
  }

  /// Waits until the file's bytes and its status, or a directory's names, are on the disk.
  package func synchronizeAll() throws(DiskFailure) {
    try retrying("sync \(name)") { fsync(number) }
  }
}

extension FileDescriptor {
  /// Returns the bytes of a range of an open descriptor that stays its owner's; fewer than asked only at the
  /// end of the file.
  package static func bytes(_ range: ByteRange, of number: Int32) throws(DiskFailure) -> [UInt8] {
    var failure: DiskFailure?
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      do throws(DiskFailure) {
        while count < range.count, let base = buffer.baseAddress {
          let got = try retrying("read descriptor \(number)") {
            pread(number, base + count, range.count - count, off_t(range.lowerBound + count))
          }
          if got == 0 { break }
          count += got
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}
