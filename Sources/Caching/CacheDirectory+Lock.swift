internal import Core
internal import Support
internal import Transfer

extension CacheDirectory {
  /// Takes the lock of a store's cache; what has its name and is no file of this user's alone is set
  /// aside.
  static func takeLock(
    of path: String,
    holder: String,
    log: Log
  ) throws(LockFile.LockError) -> LockFile {
    let name = path + "/lock"
    do throws(LockFile.LockError) {
      return try LockFile.acquire(name, holder: holder)
    } catch {
      guard case .notPlain = error else { throw error }
    }
    // Of two processes that find this at once, the second must not set the first one's new file aside.
    let directory = try onDisk { () throws(DiskFailure) in
      let directory = try FileDescriptor.open(path, [.read, .directory, .noFollow])
      return try directory.tryLock() ? directory : nil
    }
    guard let directory else { throw .held(by: "a process that has just started") }
    return try withExtendedLifetime(directory) { () throws(LockFile.LockError) in
      do throws(LockFile.LockError) {
        return try LockFile.acquire(name, holder: holder)
      } catch {
        guard case .notPlain(_, let reason) = error else { throw error }
        guard try onDisk({ () throws(DiskFailure) in try isFree(name) }) else {
          throw .held(by: "a process whose lock file has another name too")
        }
        log.write(.warning, "the cache's lock is set aside: \(reason)", ["file": name])
        _ = try onDisk { () throws(DiskFailure) in try setAside(name, as: "lock", in: path) }
      }
      return try LockFile.acquire(name, holder: holder)
    }
  }

  /// Returns false if a process has a file locked that was given a second name afterwards.
  private static func isFree(_ name: String) throws(DiskFailure) -> Bool {
    guard try Disk.status(of: name)?.kind == .file else { return true }
    return try FileDescriptor.open(name, [.read, .noFollow, .nonBlocking]).tryLock()
  }

  private static func onDisk<Answer>(
    _ body: () throws(DiskFailure) -> Answer
  ) throws(LockFile.LockError) -> Answer {
    do throws(DiskFailure) {
      return try body()
    } catch {
      throw .disk(error)
    }
  }
}
