package import Core
internal import Glibc
package import Support

/// Where a user's daemons have their sockets: a directory that nobody else can enter.
package struct RuntimeDirectory: Hashable, Sendable {
  /// Its path.
  package let path: String
  /// Whose it must be, and whose the daemons in it.
  package let owner: UInt32

  /// Creates one at a path.
  package init(path: String, owner: UInt32 = Disk.userID) {
    self.path = path
    self.owner = owner
  }

  /// The directories that daemons of this user may use, the preferred one first.
  ///
  /// All are looked at, because a mount from fstab has another environment than its user's shell.
  ///
  /// - Parameters:
  ///   - user: the user's id.
  ///   - variable: the value of `XDG_RUNTIME_DIR`, if it is set.
  /// - Returns: at least one.
  package static func candidates(user: UInt32, variable: String?) -> [RuntimeDirectory] {
    var paths: [String] = []
    if user == 0 {
      paths = ["/run/dipper"]
    } else {
      if let variable, variable.hasPrefix("/") { paths = [variable + "/dipper"] }
      let usual = "/run/user/\(user)/dipper"
      if !paths.contains(usual) { paths.append(usual) }
    }
    return (paths + ["/tmp/dipper-\(user)"]).map { RuntimeDirectory(path: $0, owner: user) }
  }

  /// The directories of the user who runs this.
  package static var ofThisUser: [RuntimeDirectory] {
    candidates(user: geteuid(), variable: getenv("XDG_RUNTIME_DIR").map { String(cString: $0) })
  }

  /// The directories whose daemons the user who runs this may ask for their status: root's are those
  /// of all users who have a mount in `table`, but for those that lie in a file system of somebody's own,
  /// which might not answer.
  package static func readable(
    _ table: MountTable,
    user: UInt32 = Disk.userID,
    own: [RuntimeDirectory] = ofThisUser
  ) -> [RuntimeDirectory] {
    guard user == 0 else { return own }
    let others = Set(table.entries.filter(\.isDipper).compactMap(\.userID)).subtracting([0])
    let theirs = others.sorted().flatMap { candidates(user: $0, variable: nil) }
    return own
      + theirs.filter { directory in
        !table.entries.contains {
          $0.type.hasPrefix("fuse") && directory.lies(below: $0.mountpoint)
        }
      }
  }

  private func lies(below mountpoint: String) -> Bool {
    path == mountpoint || path.hasPrefix(mountpoint == "/" ? "/" : mountpoint + "/")
  }

  /// Makes the directory if it isn't there.
  ///
  /// - Throws: `DiskFailure` if it can't be made, or is a link, somebody else's or open to others.
  package func prepare() throws(DiskFailure) {
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      let number = errno
      throw DiskFailure(
        errno: number,
        action: "make the directory \(path)",
        reason: errnoDescription(number)
      )
    }
    try check()
  }

  /// Checks that the directory is there and its owner's alone.
  package func check() throws(DiskFailure) {
    var status = stat()
    try retrying("look at \(path)") { lstat(path, &status) }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == owner,
      status.st_mode & 0o077 == 0
    else {
      throw DiskFailure(
        errno: EPERM,
        action: "use the directory \(path)",
        reason: "it must be a directory (not a link) "
          + (owner == geteuid() ? "of yours" : "of the user \(owner)") + " with mode 0700"
      )
    }
  }

  /// The socket of the daemon at `mountpoint`.
  package func socketPath(for mountpoint: String) -> String {
    "\(path)/\(Self.socketName(for: mountpoint))"
  }

  /// The log of the daemon at `mountpoint`, where there is no system log.
  package func logPath(for mountpoint: String) -> String {
    "\(path)/\(Self.hash(mountpoint)).log"
  }

  static func socketName(for mountpoint: String) -> String { "\(hash(mountpoint)).sock" }

  private static func hash(_ mountpoint: String) -> String {
    // FNV-1a: a socket's path has 107 bytes, a mountpoint's may have 4,095.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in mountpoint.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return String(hash, radix: 16)
  }

  /// The sockets in the directory; none if it isn't there or isn't its owner's alone.
  package var socketPaths: [String] {
    guard (try? check()) != nil, let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var paths: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasSuffix(".sock") { paths.append("\(path)/\(name)") }
    }
    return paths.sorted()
  }
}
