internal import CFuse
internal import Core
internal import Glibc

extension FileAttributes {
  /// The unit of `st_blocks`, whatever `st_blksize` says.
  private static let blockSize = 512
  /// What programs take for their buffers.
  ///
  /// `cp`, `cat` and their kind read at least 128 KiB anyhow. A larger value would not help them,
  /// since the kernel reads ahead in its own sizes, and would make a program that jumps around in
  /// a file through a buffered stream fetch that much for every few bytes.
  private static let preferredReadSize = 128 * 1024

  /// The attributes as the kernel wants them.
  var status: stat {
    var status = stat()
    status.st_ino = ino_t(inodeNumber)
    status.st_mode = kind.modeBits | mode_t(permissions & 0o7777)
    status.st_nlink = nlink_t(linkCount)
    status.st_uid = userID
    status.st_gid = groupID
    status.st_size = off_t(size)
    status.st_blksize = blksize_t(Self.preferredReadSize)
    status.st_blocks = blkcnt_t(
      size / Self.blockSize + (size % Self.blockSize == 0 ? 0 : 1)
    )
    status.st_mtim = timespec(modified)
    status.st_ctim = timespec(changed ?? modified)
    status.st_atim = timespec(accessed ?? modified)
    return status
  }
}

extension timespec {
  fileprivate init(_ time: Timestamp) {
    let seconds = time.seconds
    // Wrapping: at the very start of what a timestamp holds, the whole second lies before it.
    let nanoseconds = time.nanoseconds &- Int64(seconds) &* 1_000_000_000
    self.init(tv_sec: seconds, tv_nsec: Int(nanoseconds))
  }
}

extension FileKind {
  /// The type bits of `st_mode`.
  var modeBits: mode_t {
    switch self {
    case .file: S_IFREG
    case .directory: S_IFDIR
    case .symbolicLink: S_IFLNK
    }
  }
}

extension EntryAnswer {
  /// The entry as the kernel wants it; nil if it names a node without attributes.
  var parameters: fuse_entry_param? {
    var parameters = fuse_entry_param()
    parameters.entry_timeout = entryTimeout.inSeconds
    guard let node else { return parameters }
    guard let attributes else { return nil }
    parameters.ino = node.rawValue
    parameters.attr = attributes.status
    parameters.attr_timeout = attributeTimeout.inSeconds
    return parameters
  }
}

extension Duration {
  /// Seconds with their fraction.
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
