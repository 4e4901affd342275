package import Core
internal import Glibc

/// Calls on names in the local file system, as values.
package enum Disk {
  /// What a name leads to.
  package enum Kind: Hashable, Sendable {
    case file
    case directory
    case symbolicLink
    case other
  }

  /// What the file system says of a name or of an open file.
  package struct Status: Hashable, Sendable {
    /// What it is; a symbolic link is not followed.
    package var kind: Kind
    /// The permission bits.
    package var permissions: UInt32
    /// The owner.
    package var userID: UInt32
    /// Bytes.
    package var size: Int
    /// Bytes on the disk, which holes don't take.
    package var allocatedByteCount: Int
    /// How many names it has.
    package var linkCount: Int
    /// When the content was changed last, or touched.
    package var modified: Timestamp
    /// The device and the file's number on it: two names of one file agree in both.
    package var identity: [UInt64]

    init(_ status: stat) {
      kind =
        switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .directory
        case S_IFLNK: .symbolicLink
        default: .other
        }
      permissions = status.st_mode & 0o7777
      userID = status.st_uid
      size = Int(status.st_size)
      allocatedByteCount = Int(status.st_blocks) * 512
      linkCount = Int(status.st_nlink)
      modified = Timestamp(
        nanoseconds: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
      )
      identity = [UInt64(status.st_dev), UInt64(status.st_ino)]
    }
  }

  /// The user that this process acts as.
  package static var userID: UInt32 { geteuid() }
  /// This process.
  package static var processID: Int32 { getpid() }

  /// Returns the status of a name; nil if there is nothing.
  package static func status(of path: String) throws(DiskFailure) -> Status? {
    var status = stat()
    do throws(DiskFailure) {
      try retrying("look at \(path)") { lstat(path, &status) }
    } catch  where error.errno == ENOENT || error.errno == ENOTDIR {
      return nil
    }
    return Status(status)
  }

  /// Makes a directory; one that is there already is fine.
  package static func createDirectory(
    _ path: String,
    permissions: UInt32 = 0o700
  ) throws(DiskFailure) {
    do throws(DiskFailure) {
      try retrying("make directory \(path)") { mkdir(path, permissions) }
    } catch  where error.errno == EEXIST {
      guard try status(of: path)?.kind == .directory else { throw error }
    }
  }

  /// Makes a directory where there is nothing yet.
  ///
  /// - Returns: false if there is something.
  package static func createNewDirectory(
    _ path: String,
    permissions: UInt32 = 0o700
  ) throws(DiskFailure) -> Bool {
    do throws(DiskFailure) {
      try retrying("make directory \(path)") { mkdir(path, permissions) }
      return true
    } catch  where error.errno == EEXIST {
      return false
    }
  }

  /// Returns what a symbolic link says, without following it.
  package static func linkTarget(of path: String) throws(DiskFailure) -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try retrying("read the link \(path)") { readlink(path, &buffer, buffer.count) }
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Returns the names in a directory, without `.` and `..`, in no order.
  package static func names(in path: String) throws(DiskFailure) -> [String] {
    guard let directory = opendir(path) else {
      let number = Glibc.errno
      throw DiskFailure(
        errno: number,
        action: "read directory \(path)",
        reason: errnoDescription(number)
      )
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  /// Gives a file another name, in place of what has it.
  package static func rename(_ source: String, to target: String) throws(DiskFailure) {
    try retrying("rename \(source) to \(target)") { Glibc.rename(source, target) }
  }

  /// Removes a name that is not a directory; no error if there is none.
  package static func removeFile(_ path: String) throws(DiskFailure) {
    do throws(DiskFailure) {
      try retrying("remove \(path)") { unlink(path) }
    } catch  where error.errno == ENOENT {
    }
  }

  /// Removes an empty directory; no error if there is none.
  package static func removeDirectory(_ path: String) throws(DiskFailure) {
    do throws(DiskFailure) {
      try retrying("remove directory \(path)") { rmdir(path) }
    } catch  where error.errno == ENOENT {
    }
  }

  /// Removes a name and, if it is a directory, everything below it.
  ///
  /// Links are not followed.
  package static func removeTree(_ path: String) throws(DiskFailure) {
    guard let status = try status(of: path) else { return }
    guard status.kind == .directory else { return try removeFile(path) }
    for name in try names(in: path) { try removeTree(path + "/" + name) }
    try removeDirectory(path)
  }

  /// Sets a file's modification time to the present.
  package static func touch(_ path: String) throws(DiskFailure) {
    try retrying("touch \(path)") { utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW) }
  }

  /// Sets a file's permission bits.
  package static func setPermissions(of path: String, _ bits: UInt32) throws(DiskFailure) {
    try retrying("change the permissions of \(path)") { chmod(path, bits) }
  }

  /// The permission bits that this process's new files don't get; 0o022 if the kernel doesn't say.
  ///
  /// Read from /proc, because umask(2) can only be asked by changing it for every thread.
  package static var creationMask: UInt32 {
    // Source: proc(5), "/proc/pid/status": the field Umask, in octal, since Linux 4.7.
    let file = try? FileDescriptor.open("/proc/self/status", [.read])
    let text = (try? file?.bytes(ByteRange(0, 4096))) ?? []
    for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: "Umask:".utf8) {
      let digits = line.drop { !(UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
      return UInt32(String(decoding: digits, as: UTF8.self), radix: 8) ?? 0o022
    }
    return 0o022
  }

  /// Space of the file system that holds `path`, in bytes.
  package static func space(
    at path: String
  ) throws(DiskFailure) -> (free: Int, total: Int) {
    var statistics = statvfs()
    try retrying("ask for the space at \(path)") { statvfs(path, &statistics) }
    let unit = Int(statistics.f_frsize)
    return (Int(statistics.f_bavail) * unit, Int(statistics.f_blocks) * unit)
  }

  /// Waits until a directory's names are on the disk.
  package static func synchronizeDirectory(_ path: String) throws(DiskFailure) {
    try FileDescriptor.open(path, [.read, .directory]).synchronizeAll()
  }

  /// Returns true if this process may make and change names in a directory.
  package static func isWritable(_ path: String) -> Bool {
    access(path, W_OK | X_OK) == 0
  }
}
