internal import Core
internal import Crypto
internal import Support
internal import Transfer

/// The directory of one store's cache: its rules, its lock, and the paths below it.
///
/// `ROOT/<store id>/` with `lock`, `store`, `objects/` and `aside/` (docs/cache-format.md).
final class CacheDirectory: Sendable {
  /// The directory of this store below the root.
  let path: String
  private let root: String
  private let storeName: String
  private let holder: String
  private let log: Log
  private let lock: Lock<LockFile>
  /// Held while the tree is put right, which is seldom, so here a lock may last over I/O: who sets
  /// something aside looks again and moves it with nobody else doing so in between, or the second of two
  /// would move what the first has put in its place.
  private let repairs = Lock(())

  var objects: String { path + "/objects" }
  private var aside: String { path + "/aside" }

  /// How many entries that were set aside are kept for whoever wants to know what happened.
  private static let asideCountMax = 8

  private init(
    root: String,
    path: String,
    storeName: String,
    holder: String,
    log: Log,
    lock: LockFile
  ) {
    self.root = root
    self.path = path
    self.storeName = storeName
    self.holder = holder
    self.log = log
    self.lock = Lock(lock)
  }

  /// Where the directory of a store lies.
  static func path(root: String, storeName: String) -> String {
    root + "/" + SHA256.digest(of: Array(storeName.utf8)).prefix(16).hexadecimal
  }

  /// Makes or checks the directories, and takes the lock.
  ///
  /// - Parameters:
  ///   - root: the directory of all caches.
  ///   - storeName: what the cached bytes belong to: scheme, endpoint and bucket.
  ///   - holder: what this process does, for whoever comes second.
  ///   - log: where it is said what was set aside.
  /// - Returns: the directory, locked.
  /// - Throws: `CacheError` if it is refused or in use.
  static func open(
    root: String,
    storeName: String,
    holder: String,
    log: Log
  ) throws(CacheError) -> CacheDirectory {
    let path = path(root: root, storeName: storeName)
    do {
      try makeParents(of: root)
      for directory in [root, path] {
        if try Disk.status(of: directory) == nil { try Disk.createDirectory(directory) }
        try check(directory)
      }
      let lock = try takeLock(of: path, holder: holder, log: log)
      let directory = CacheDirectory(
        root: root,
        path: path,
        storeName: storeName,
        holder: holder,
        log: log,
        lock: lock
      )
      try directory.makeContent()
      return directory
    } catch let error as CacheError {
      throw error
    } catch let error as LockFile.LockError {
      switch error {
      case .held(let holder): throw .held(directory: path, by: holder)
      case .disk(let failure): throw .disk(failure)
      case .notPlain(let name, let reason): throw .refused("\(name) can't be used: \(reason)")
      }
    } catch let failure as DiskFailure {
      throw .disk(failure)
    } catch {
      throw .refused("the cache directory \(root) can't be used: \(error)")
    }
  }

  /// Makes the entry's directory and those above it, after somebody may have removed them.
  ///
  /// - Throws: `DiskFailure` also if another process has the cache now.
  func makeDirectory(of id: EntryID) throws(DiskFailure) {
    // Whoever made the tree anew may be another process, which holds the lock that is there now.
    let isLocked = try lock.withLock { $0 }.isInPlace()
    let isThere = try hasObjects()
    if !isLocked || !isThere {
      try repairs.withLock { (_) throws(DiskFailure) in try restore() }
    }
    try Disk.createDirectory(objects + "/" + id.shardName)
    try Disk.createDirectory(objects + "/" + id.keyPath)
    try Disk.createDirectory(objects + "/" + id.path)
  }

  /// True if `objects` is a directory of this user's.
  func hasObjects() throws(DiskFailure) -> Bool {
    try Disk.status(of: objects)?.isOwnDirectory ?? false
  }

  /// Where an entry's files lie.
  func paths(of id: EntryID) -> PartFile.Paths {
    let directory = objects + "/" + id.path
    return PartFile.Paths(data: directory + "/data", checkpoint: directory + "/checkpoint")
  }

  /// What lies on the way to an entry's files, from `objects` down.
  enum Way: Hashable {
    /// Directories of this user's, as far as there are any.
    ///
    /// `isAlone` if the entry is there and the key has no other; where that can't be told it is false.
    case clear(isAlone: Bool)
    /// The same, and none of the key: nothing of the object is here.
    case newKey
    /// The topmost that is no directory of this user's, as a path below `objects`.
    ///
    /// What lies below it must not be touched: it may be anybody's.
    case blocked(by: String)
  }

  /// Looks at the directories above an entry's files.
  ///
  /// - Throws: `DiskFailure` with `ENOENT` also if `objects` itself is no directory of this user's.
  func way(to id: EntryID) throws(DiskFailure) -> Way {
    guard try hasObjects() else {
      throw DiskFailure(
        errno: 2,
        action: "use \(objects)",
        reason: "it is no directory of this user"
      )
    }
    let (shard, key, path) = (id.shardName, id.keyPath, id.path)
    var linkCount = 0
    for name in [shard, key, path] {
      guard let status = try Disk.status(of: objects + "/" + name) else {
        return name == path ? .clear(isAlone: false) : .newKey
      }
      guard status.isOwnDirectory else { return .blocked(by: name) }
      if name == key { linkCount = status.linkCount }
    }
    // Its name, its own `.`, and the `..` of each directory in it; some file systems don't count.
    return .clear(isAlone: linkCount == 3)
  }

  /// The topmost of the directories above an entry's files that is no directory of this user's;
  /// nil if all are, or are missing.
  func intruder(above id: EntryID) throws(DiskFailure) -> String? {
    if case .blocked(let name) = try way(to: id) { name } else { nil }
  }

  /// Makes the directories of the first entry of a key.
  ///
  /// - Returns: false if they are there by now, or the lock is not where it was.
  func makeNewKey(of id: EntryID) throws(DiskFailure) -> Bool {
    guard try lock.withLock({ $0 }).isInPlace() else { return false }
    let key = objects + "/" + id.keyPath
    do throws(DiskFailure) {
      guard try Disk.createNewDirectory(key) else { return false }
    } catch  where error.isMissing {
      try Disk.createDirectory(objects + "/" + id.shardName)
      guard try Disk.createNewDirectory(key) else { return false }
    }
    return try Disk.createNewDirectory(objects + "/" + id.path)
  }

  /// Returns true if the entry's files may be looked at: there is no `intruder`, as far as can be told.
  func isClear(above id: EntryID) -> Bool {
    do throws(DiskFailure) {
      return try intruder(above: id) == nil
    } catch {
      return false
    }
  }

  /// Removes an entry; without its checkpoint the data means nothing, so that goes first.
  ///
  /// Nothing above it may be an `intruder`.
  func remove(_ id: EntryID) throws(DiskFailure) {
    let directory = objects + "/" + id.path
    try Disk.removeTree(directory + "/checkpoint")
    try Disk.removeTree(directory)
    // Other versions may be there: then it stays.
    try? Disk.removeDirectory(objects + "/" + id.keyPath)
  }

  /// Moves what has the path `name` below `objects` out of the way, and drops the oldest of what
  /// lies there.
  ///
  /// - Parameters:
  ///   - name: the path; nothing happens if there is nothing.
  ///   - reason: goes to the log.
  ///   - isWrong: whether it is still what it was taken for; asked when nobody else sets aside.
  /// - Throws: `DiskFailure`.
  func setAside(
    _ name: String,
    because reason: String,
    if isWrong: () throws(DiskFailure) -> Bool
  ) throws(DiskFailure) {
    try repairs.withLock { (_) throws(DiskFailure) in
      guard try isWrong(),
        try Self.setAside(objects + "/" + name, as: name, in: path)
      else { return }
      log.write(.warning, "a cache entry is set aside: \(reason)", ["entry": name])
      try trimAside(to: Self.asideCountMax)
    }
  }

  /// Sets aside what lies in the place of one of our directories, unless it has gone by now.
  func setAsideIntruder(_ name: String) throws(DiskFailure) {
    try setAside(name, because: "it is not a directory of this user") {
      () throws(DiskFailure) in
      try Disk.status(of: objects + "/" + name).map { !$0.isOwnDirectory } ?? false
    }
  }

  /// Moves `source` below `aside`.
  ///
  /// - Returns: false if there was nothing to move.
  @discardableResult
  static func setAside(
    _ source: String,
    as name: String,
    in path: String
  ) throws(DiskFailure) -> Bool {
    let aside = path + "/aside"
    if let status = try Disk.status(of: aside), status.kind != .directory {
      try Disk.removeFile(aside)
    }
    try Disk.createDirectory(aside)
    let short = name.split(separator: "/").map { $0.prefix(16) }.joined(separator: "-")
    var target = aside + "/" + short
    var number = 1
    while try Disk.status(of: target) != nil {
      number += 1
      target = aside + "/" + short + ".\(number)"
    }
    do throws(DiskFailure) {
      try Disk.rename(source, to: target)
    } catch  where error.isMissing {
      return false
    }
    try Disk.touch(target)
    return true
  }

  /// Removes all but the last `count` entries that were set aside.
  func trimAside(to count: Int) throws(DiskFailure) {
    guard try Disk.status(of: aside) != nil else { return }
    var found: [(name: String, time: Timestamp)] = []
    for name in try Disk.names(in: aside) {
      guard let status = try Disk.status(of: aside + "/" + name) else { continue }
      found.append((name, status.modified))
    }
    for old in found.sorted(by: { $0.time < $1.time }).dropLast(count) {
      try Disk.removeTree(aside + "/" + old.name)
    }
  }

  /// Lets go of the lock file's name; the lock ends with the process or with this object.
  func release() throws(DiskFailure) {
    try lock.withLock { $0 }.removeFile()
  }

  /// Makes everything anew after the directory was removed under us.
  private func restore() throws(DiskFailure) {
    try Disk.createDirectory(root)
    try Disk.createDirectory(path)
    let isInPlace = try lock.withLock { $0 }.isInPlace()
    if !isInPlace {
      do throws(LockFile.LockError) {
        let renewed = try Self.takeLock(of: path, holder: holder, log: log)
        lock.withLock { $0 = renewed }
      } catch {
        switch error {
        case .disk(let failure): throw failure
        case .held(let other):
          // EBUSY.
          throw DiskFailure(errno: 16, action: "use \(path)", reason: "in use by \(other)")
        case .notPlain(let name, let reason):
          // EPERM.
          throw DiskFailure(errno: 1, action: "use \(name)", reason: reason)
        }
      }
    }
    try makeContent()
  }

  private func makeContent() throws(DiskFailure) {
    if let status = try Disk.status(of: objects), !status.isOwnDirectory {
      try Self.setAside(objects, as: "objects", in: path)
    }
    try Disk.createDirectory(objects)
    let name = path + "/store"
    guard try Disk.status(of: name) == nil else { return }
    let file = try FileDescriptor.open(name, [.readWrite, .create, .exclusive, .noFollow])
    let bytes = Array((storeName.utf8.printable + "\n").utf8)
    try bytes.span.bytes.withUnsafeBytes { (buffer) throws(DiskFailure) in
      try file.write(buffer, at: 0)
    }
  }

  private static func makeParents(of root: String) throws(DiskFailure) {
    var parent = root.hasPrefix("/") ? "" : "."
    for component in root.split(separator: "/").dropLast() {
      parent += "/" + component
      if try Disk.status(of: parent) == nil { try Disk.createDirectory(parent) }
    }
  }

  /// Refuses a directory that others could reach into (O5).
  private static func check(_ path: String) throws {
    guard let status = try Disk.status(of: path) else {
      throw CacheError.refused("the cache directory \(path) is not there")
    }
    let name = "the cache directory \(path)"
    switch status.kind {
    case .directory: break
    case .symbolicLink: throw CacheError.refused("\(name) is a symbolic link")
    case .file, .other: throw CacheError.refused("\(name) is not a directory")
    }
    guard status.userID == Disk.userID else {
      throw CacheError.refused("\(name) belongs to another user (uid \(status.userID))")
    }
    guard status.permissions & 0o022 == 0 else {
      throw CacheError.refused("\(name) can be written by other users; chmod it to 0700")
    }
    guard Disk.isWritable(path) else {
      throw CacheError.refused("\(name) can't be written")
    }
  }
}

extension Disk.Status {
  /// It is a directory of this user's.
  var isOwnDirectory: Bool { kind == .directory && userID == Disk.userID }
}

extension DiskFailure {
  /// The file or a directory above it is not there: ENOENT.
  var isMissing: Bool { errno == 2 }
  /// The disk or a quota is full: ENOSPC, EDQUOT.
  var isOutOfSpace: Bool { errno == 28 || errno == 122 }
}
