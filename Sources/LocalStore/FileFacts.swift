internal import Core
internal import Glibc
internal import Support

/// What the file system says of one file, and the tag that follows from it.
///
/// Any change of a file changes its inode's ctime at least, which no program can set, so the tag
/// is made of the inode's number, the size, the mtime and the ctime, in nanoseconds. Linux before
/// 6.13 stamps with the timer's tick: there a second change in place, of the same size and within
/// the same tick (at most 10 ms), doesn't show. The store's own writes always make a new inode with
/// an mtime of its own, so that none of them can share a tag.
struct FileFacts: Hashable, Sendable {
  /// The kinds of files that matter to the store.
  enum Kind: Hashable, Sendable {
    case file
    case directory
    /// Symbolic links, devices, sockets, pipes: never objects.
    case other
  }

  let kind: Kind
  let size: Int
  let permissions: mode_t
  let linkCount: Int
  let device: UInt64
  let inode: UInt64
  let modified: Timestamp
  let changed: Timestamp

  /// Creates the facts of a stat(2).
  init(_ status: stat) {
    switch status.st_mode & S_IFMT {
    case S_IFREG: kind = .file
    case S_IFDIR: kind = .directory
    default: kind = .other
    }
    size = Int(status.st_size)
    permissions = status.st_mode & 0o777
    linkCount = Int(status.st_nlink)
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    modified = Timestamp(status.st_mtim)
    changed = Timestamp(status.st_ctim)
  }

  /// The facts of an open file.
  init(of file: FileDescriptor) throws(DiskFailure) {
    var status = stat()
    try retrying("stat descriptor \(file.number)") { fstat(file.number, &status) }
    self.init(status)
  }

  /// The facts of the file `name` of a directory, without following a symbolic link; nil if there
  /// is none.
  static func of(_ name: FileName, in directory: FileDescriptor) throws(DiskFailure) -> FileFacts? {
    var status = stat()
    do throws(DiskFailure) {
      try retrying("stat \(name)") {
        fstatat(directory.number, name.cString, &status, AT_SYMLINK_NOFOLLOW)
      }
      return FileFacts(status)
    } catch  where error.errno == ENOENT {
      return nil
    }
  }

  /// The tag of a file's version, or of a directory's marker, which has no content to change.
  var etag: ETag {
    guard kind == .file else { return ETag("directory-\(String(inode, radix: 16))") }
    let parts = [Int(truncatingIfNeeded: inode), size].map { String(UInt($0), radix: 16) }
    let times = [modified, changed].map { String(UInt64(bitPattern: $0.nanoseconds), radix: 16) }
    return ETag((parts + times).joined(separator: "-"))
  }

  /// The facts as a listing gives them.
  func metadata(_ key: ObjectKey) -> ObjectMetadata {
    ObjectMetadata(
      version: ObjectVersion(
        key: key,
        etag: etag,
        size: kind == .file ? size : 0,
        lastModified: modified
      )
    )
  }
}

extension Timestamp {
  fileprivate init(_ time: timespec) {
    let seconds = Timestamp(seconds: time.tv_sec).nanoseconds
    let (sum, overflow) = seconds.addingReportingOverflow(Int64(time.tv_nsec))
    self.init(nanoseconds: overflow ? seconds : sum)
  }
}
