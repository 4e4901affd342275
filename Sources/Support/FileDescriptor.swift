internal import CLinux
package import Core
internal import Glibc

/// An open descriptor that is closed when its owner goes.
///
/// A class rather than a `~Copyable` struct because a cached file's descriptor is shared by the
/// readers of it; the number itself may be handed out as long as the owner is alive.
package final class FileDescriptor: Sendable {
  /// The number.
  package let number: Int32
  /// What it was opened as; nil if it has no name.
  private let path: String?

  /// Takes ownership of an open descriptor, which was opened as `path`.
  package init(owning number: Int32, path: String? = nil) {
    self.number = number
    self.path = path
  }

  /// How messages call it.
  var name: String { path ?? "descriptor \(number)" }

  /// How to open a file.
  package struct Flags: OptionSet, Sendable {
    /// open(2)'s flags.
    package let rawValue: Int32
    /// Creates flags from open(2)'s.
    package init(rawValue: Int32) { self.rawValue = rawValue }
    /// For reading.
    package static let read = Flags(rawValue: O_RDONLY)
    /// For reading and writing.
    package static let readWrite = Flags(rawValue: O_RDWR)
    /// Makes the file if there is none.
    package static let create = Flags(rawValue: O_CREAT)
    /// Fails if there is one.
    package static let exclusive = Flags(rawValue: O_EXCL)
    /// Empties it.
    package static let truncate = Flags(rawValue: O_TRUNC)
    /// Each write goes to the end.
    package static let append = Flags(rawValue: O_APPEND)
    /// Fails on a symbolic link in the last component.
    package static let noFollow = Flags(rawValue: O_NOFOLLOW)
    /// Opening a pipe does not wait for its other end.
    package static let nonBlocking = Flags(rawValue: O_NONBLOCK)
    /// Fails unless it is a directory.
    package static let directory = Flags(rawValue: O_DIRECTORY)
  }

  /// Opens a file; it is closed on exec.
  package static func open(
    _ path: String,
    _ flags: Flags,
    permissions: UInt32 = 0o600
  ) throws(DiskFailure) -> FileDescriptor {
    FileDescriptor(
      owning: try retrying("open \(path)") {
        clinux_openat(AT_FDCWD, path, flags.rawValue, permissions)
      },
      path: path
    )
  }

  /// Opens /dev/null in place of each of standard input, output and error that is closed.
  ///
  /// Otherwise the next files that are opened get their numbers: a message would be written into one of
  /// them, and a child that gets its own standard input would lose it.
  package static func occupyStandardNumbers() {
    while true {
      // The lowest number that is free.
      let number = clinux_openat(AT_FDCWD, "/dev/null", O_RDWR, 0)
      guard number <= STDERR_FILENO else {
        close(number)
        return
      }
      if number < 0 { return }
    }
  }

  /// The file's size in bytes.
  package func size() throws(DiskFailure) -> Int {
    var status = stat()
    try retrying("stat \(name)") { fstat(number, &status) }
    return Int(status.st_size)
  }

  /// Reads into `buffer` at `offset`; fewer bytes than asked only at the end of the file.
  package func read(
    into buffer: UnsafeMutableRawBufferPointer,
    at offset: Int
  ) throws(DiskFailure) -> Int {
    var done = 0
    while done < buffer.count, let base = buffer.baseAddress {
      let count = try retrying("read \(name)") {
        pread(number, base + done, buffer.count - done, off_t(offset + done))
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Writes all of `bytes` at `offset`.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFailure) {
    var done = 0
    while done < bytes.count, let base = bytes.baseAddress {
      done += try retrying("write \(name)") {
        pwrite(number, base + done, bytes.count - done, off_t(offset + done))
      }
    }
  }

  /// Writes all of `bytes` at the file's position: its end, for one opened to append.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(DiskFailure) {
    var done = 0
    while done < bytes.count, let base = bytes.baseAddress {
      done += try retrying("write \(name)") {
        Glibc.write(number, base + done, bytes.count - done)
      }
    }
  }

  /// Sets the file's size.
  package func truncate(to size: Int) throws(DiskFailure) {
    try retrying("truncate \(name)") { ftruncate(number, off_t(size)) }
  }

  /// Waits until the file's bytes are on the disk.
  package func synchronize() throws(DiskFailure) {
    try retrying("sync \(name)") { fdatasync(number) }
  }

  /// Asks for an advisory lock of the whole file, shared or not, without waiting.
  ///
  /// - Returns: false if another open file has it.
  package func tryLock(shared: Bool = false) throws(DiskFailure) -> Bool {
    do throws(DiskFailure) {
      try retrying("lock \(name)") {
        clinux_flock(number, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB)
      }
      return true
    } catch  where error.errno == EWOULDBLOCK {
      return false
    }
  }

  deinit {
    close(number)
  }
}
