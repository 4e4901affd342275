internal import Core
internal import Glibc
internal import Support

/// The store's own directory `.dipper-local`, on the file system of what it stores: files that are
/// being written, the parts of multipart uploads, and the lock.
struct Workspace {
  /// Holds files and directories that nobody reads by name.
  let temporary: FileDescriptor
  /// Holds one directory per multipart upload.
  let uploads: FileDescriptor
  private let own: FileDescriptor

  private static let temporaryName = FileName("temporary")
  private static let uploadsName = FileName("uploads")
  private static let lockName = FileName("lock")

  /// Opens it, and makes it if there is none.
  init(in tree: LocalTree) throws(DiskFailure) {
    own = try Self.makeAndOpen(LocalKey.privateName, in: tree.root)
    temporary = try Self.makeAndOpen(Self.temporaryName, in: own)
    uploads = try Self.makeAndOpen(Self.uploadsName, in: own)
  }

  /// Makes a directory unless it is there, and opens it.
  static func makeAndOpen(
    _ name: FileName,
    in directory: FileDescriptor
  ) throws(DiskFailure) -> FileDescriptor {
    let flags: FileDescriptor.Flags = [.read, .directory, .noFollow]
    do throws(DiskFailure) {
      return try directory.open(name, flags)
    } catch  where error.errno == ENOENT {
      do throws(DiskFailure) {
        try retrying("make directory \(name)") { mkdirat(directory.number, name.cString, 0o777) }
      } catch  where error.errno == EEXIST {
        // Another process was faster.
      }
      return try directory.open(name, flags)
    }
  }

  /// A name that nobody else has.
  static func makeName() -> FileName {
    FileName(String(UInt64.random(in: .min ... .max), radix: 16))
  }

  /// Waits for the right to change names: a lock of one open file, so that it holds between
  /// processes as well as between the stores and threads of one.
  ///
  /// - Returns: the lock's owner; it is given back when that goes.
  /// - Throws: what `call` throws when it must end.
  func lockNames(_ call: LocalCall) throws(StoreError) -> FileDescriptor {
    let lock = try call.attempt { () throws(DiskFailure) in
      try own.open(Self.lockName, [.readWrite, .create, .noFollow], permissions: 0o666)
    }
    // Asked again and again rather than waited for, because a wait can't be given up. It is held
    // only while names change, so most are free at once.
    var pauseMicroseconds: UInt32 = 50
    while try !call.attempt({ () throws(DiskFailure) in try lock.tryLock() }) {
      try call.check()
      usleep(pauseMicroseconds)
      pauseMicroseconds = min(pauseMicroseconds * 2, 2000)
    }
    return lock
  }

  /// Removes what a process that was killed left in `temporary`.
  ///
  /// A file that is being written is locked by its writer. Anything that can't be removed stays.
  func removeLeftovers() throws(DiskFailure) {
    var names: [FileName] = []
    try DirectoryNames.forEach(in: temporary) { (name, _) throws(DiskFailure) in
      names.append(FileName(name))
      return true
    }
    for name in names {
      switch try FileFacts.of(name, in: temporary)?.kind {
      case .directory:
        removeTree(name)
      case .file:
        guard let file = try? temporary.open(name, [.read, .noFollow]),
          (try? file.tryLock()) == true
        else { continue }
        unlinkat(temporary.number, name.cString, 0)
      case .other:
        unlinkat(temporary.number, name.cString, 0)
      case nil:
        continue
      }
    }
  }

  /// Removes a directory of files in `temporary`, as far as possible; what stays is a leftover.
  func removeTree(_ name: FileName) {
    if let directory = try? LocalTree.child(name, of: temporary) {
      try? DirectoryNames.forEach(in: directory) { (inner, _) throws(DiskFailure) in
        unlinkat(directory.number, FileName(inner).cString, 0)
        return true
      }
    }
    unlinkat(temporary.number, name.cString, AT_REMOVEDIR)
  }
}
