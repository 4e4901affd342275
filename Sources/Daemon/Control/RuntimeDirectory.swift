package import Core
internal import Glibc
internal import Support

/// Where a user's daemons have their sockets: a directory that nobody else can enter.
package struct RuntimeDirectory: Hashable, Sendable {
  /// Its path.
  package let path: String

  /// Creates one at a path.
  package init(path: String) { self.path = path }

  /// The directories that daemons of this user may use, the preferred one first.
  ///
  /// All are looked at, because a mount from fstab has another environment than its user's shell.
  ///
  /// - Parameters:
  ///   - user: the user's id.
  ///   - variable: the value of `XDG_RUNTIME_DIR`, if it is set.
  /// - Returns: at least one.
  package static func candidates(user: UInt32, variable: String?) -> [RuntimeDirectory] {
    let fallback = RuntimeDirectory(path: "/tmp/dipper-\(user)")
    if user == 0 { return [RuntimeDirectory(path: "/run/dipper"), fallback] }
    var parents: [String] = []
    if let variable, variable.hasPrefix("/") { parents.append(variable) }
    parents.append("/run/user/\(user)")
    var found: [RuntimeDirectory] = []
    for parent in parents where !found.contains(RuntimeDirectory(path: parent + "/dipper")) {
      found.append(RuntimeDirectory(path: parent + "/dipper"))
    }
    return found + [fallback]
  }

  /// The directories of the user who runs this.
  package static var ofThisUser: [RuntimeDirectory] {
    candidates(user: geteuid(), variable: getenv("XDG_RUNTIME_DIR").map { String(cString: $0) })
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

  /// Checks that the directory is there and nobody else's.
  package func check() throws(DiskFailure) {
    var status = stat()
    try retrying("look at \(path)") { lstat(path, &status) }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
      status.st_mode & 0o077 == 0
    else {
      throw DiskFailure(
        errno: EPERM,
        action: "use the directory \(path)",
        reason: "it must be a directory (not a link) of yours with mode 0700"
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

  /// The sockets in the directory; none if it isn't there or isn't ours alone.
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
