package import Core
internal import Glibc
package import Support

/// A directory to mount on or to unmount, by its absolute path without links.
package struct Mountpoint: Hashable, Sendable {
  /// The path, as the kernel's list of mounts spells it.
  package let path: String

  /// Finds the path of a directory that need not answer.
  ///
  /// Only the directory above is asked for; the last component is left alone if it is a mount, since
  /// a dead one would hang or fail.
  package init(_ given: String) throws(DiskFailure) {
    let slash = UInt8(ascii: "/")
    var bytes = Array(given.utf8)
    while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
    let split = bytes.lastIndex(of: slash)
    let name = String(decoding: split.map { bytes[($0 + 1)...] } ?? bytes[...], as: UTF8.self)
    if name.isEmpty || name == "." || name == ".." {
      path = try Self.resolve(given)
      return
    }
    let above = split.map { $0 == 0 ? "/" : String(decoding: bytes[..<$0], as: UTF8.self) } ?? "."
    let directory = try Self.resolve(above)
    let joined = directory == "/" ? "/\(name)" : "\(directory)/\(name)"
    if MountTable.current().top(at: joined) != nil {
      path = joined
    } else {
      // The last component may be a link to the directory that is meant.
      path = (try? Self.resolve(joined)) ?? joined
    }
  }

  private static func resolve(_ path: String) throws(DiskFailure) -> String {
    guard let resolved = realpath(path, nil) else {
      let number = errno
      throw DiskFailure(
        errno: number,
        action: "find the directory \(path)",
        reason: errnoDescription(number)
      )
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The mount that is there now.
  package func mount() -> MountTable.Entry? {
    MountTable.current().top(at: path)
  }

  /// Looks at the directory, for at most `patience`; what is in it is looked at only if it is no mount.
  ///
  /// Never call it on a mount that this process serves: a thread that waits for an answer of its own
  /// process can't be killed, and so neither can the process.
  package func facts(patience: Duration = .seconds(3)) -> MountpointCheck.Facts {
    let entry = mount()
    // A thread that a silent file system holds is left behind; it ends with the process.
    let answer = Monitor<MountpointCheck.Facts?>(nil)
    let isLooking = Thread.start("dipper-look") { [path] in
      var facts = Self.look(at: path, isMount: entry != nil)
      facts.mount = entry
      answer.withLock { $0 = facts }
    }
    guard isLooking else {
      return MountpointCheck.Facts(mount: entry, kind: .failed(Thread.shortage))
    }
    let end = SystemClock().now + patience
    return answer.wait { facts, deadline in
      if let facts { return facts }
      deadline = end.nanoseconds
      return SystemClock().now >= end ? MountpointCheck.Facts(mount: entry, kind: .silent) : nil
    }
  }

  private static func look(at path: String, isMount: Bool) -> MountpointCheck.Facts {
    var status = stat()
    // The kernel answers `stat` of a mount from what it remembers, also when its daemon is dead;
    // `statvfs` always asks the daemon.
    var statistics = statvfs()
    guard stat(path, &status) == 0, !isMount || statvfs(path, &statistics) == 0 || errno == EACCES
    else {
      let number = errno
      switch number {
      case ENOENT: return MountpointCheck.Facts(kind: .missing)
      case ENOTCONN: return MountpointCheck.Facts(kind: .disconnected)
      default: return MountpointCheck.Facts(kind: .failed(errnoDescription(number)))
      }
    }
    guard status.st_mode & S_IFMT == S_IFDIR else { return MountpointCheck.Facts(kind: .other) }
    return MountpointCheck.Facts(
      kind: .directory,
      hasEntries: !isMount && hasEntries(path),
      isWritable: isMount || access(path, W_OK) == 0
    )
  }

  private static func hasEntries(_ path: String) -> Bool {
    guard let directory = opendir(path) else { return false }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil {
      count += 1
      // Its own entry and the one above.
      if count > 2 { return true }
    }
    return false
  }
}
