package import Core
internal import Glibc

/// Reads a stream whose next bytes may never come, and stops when it is told to.
///
/// Reading blocks: it is for a thread that may wait. One thread reads at a time.
package final class StreamReader: Sendable {
  private let descriptor: Int32
  private let wake: Pipe

  /// Creates a reader of an open descriptor, which stays open.
  package init(_ descriptor: Int32) throws(DiskFailure) {
    self.descriptor = descriptor
    wake = try Pipe()
  }

  /// Ends a reading that waits, and every later one.
  package func stop() {
    // One byte in an empty pipe; nobody takes it out, so that the pipe stays readable.
    try? wake.writeEnd.write([0])
  }

  /// Reads until `countMax` bytes are there or the stream ends.
  ///
  /// - Returns: fewer bytes only at the stream's end; nil if it was told to stop.
  package func read(countMax: Int) throws(DiskFailure) -> [UInt8]? {
    var failure: DiskFailure?
    var isStopped = false
    let bytes = [UInt8](unsafeUninitializedCapacity: countMax) { buffer, count in
      do throws(DiskFailure) {
        while count < countMax {
          guard try waitForBytes() else {
            isStopped = true
            return
          }
          let added = try readSome(
            UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[count...]))
          )
          guard let added else { continue }
          if added == 0 { return }
          count += added
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return isStopped ? nil : bytes
  }

  /// Returns false if the reader was told to stop, true if there are bytes or the stream has ended.
  private func waitForBytes() throws(DiskFailure) -> Bool {
    var ends = [
      pollfd(fd: wake.readEnd.number, events: Int16(POLLIN), revents: 0),
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
    ]
    try retrying("wait for input") { poll(&ends, 2, -1) }
    return ends[0].revents == 0
  }

  /// Reads what there is; nil if it was gone before it could be read.
  private func readSome(_ buffer: UnsafeMutableRawBufferPointer) throws(DiskFailure) -> Int? {
    do throws(DiskFailure) {
      return try retrying("read the input") {
        Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      }
    } catch  where error.errno == EAGAIN {
      return nil
    }
  }
}
