internal import Core
package import Support

/// What keeps a mount busy: processes, as far as /proc shows them, and mounts below it.
package struct MountUsers: Hashable, Sendable {
  /// One process.
  package struct User: Hashable, Sendable {
    /// Its id.
    package var processID: Int32
    /// Its program's name.
    package var name: String
    /// What it has there.
    package var hold: Hold
  }

  /// The kinds of things that keep a mount busy.
  package enum Hold: Hashable, Sendable {
    /// Its working directory.
    case workingDirectory
    /// Its root directory.
    case rootDirectory
    /// An open file or directory, by its path in the mount.
    case openFile(String)
    /// A file that is mapped into its memory, by its path in the mount.
    case mapping(String)
  }

  /// The processes, by id; one hold each.
  package var users: [User] = []
  /// The mountpoints below it.
  package var mountpoints: [String] = []

  /// Creates a finding.
  package init(users: [User] = [], mountpoints: [String] = []) {
    self.users = users
    self.mountpoints = mountpoints
  }

  /// Looks through /proc for who uses the mount at `path`; asks the mount itself nothing.
  ///
  /// - Parameters:
  ///   - path: the mountpoint, as the kernel spells it.
  ///   - table: the mounts.
  ///   - proc: where /proc is.
  /// - Returns: what could be seen: only one's own processes, unless one is root.
  package static func find(
    at path: String,
    _ table: MountTable = .current(),
    proc: String = "/proc"
  ) -> MountUsers {
    let processIDs = ((try? Disk.names(in: proc)) ?? []).compactMap { Int32($0) }.sorted()
    return MountUsers(
      users: processIDs.compactMap { user($0, of: path, "\(proc)/\($0)") },
      mountpoints: table.entries.map(\.mountpoint)
        .filter { $0 != path && MountPreparation.isBelow($0, path) }
    )
  }

  /// One sentence on why `path` can't be unmounted, and what to do.
  package func sentence(at path: String) -> String {
    var reasons = mountpoints.prefix(3).map { "\($0.utf8.printable) is mounted below it" }
    reasons += users.prefix(Self.shownCountMax).map(Self.words)
    if users.count > Self.shownCountMax {
      reasons.append("\(users.count - Self.shownCountMax) more")
    }
    let why =
      reasons.isEmpty
      ? " by something that can't be seen from here, such as another user's process"
      : ": " + reasons.joined(separator: ", ")
    return "\(path.utf8.printable) is in use\(why); end that and try "
      + "again, or detach it now with 'dipper unmount --lazy'"
  }

  private static let shownCountMax = 5

  private static func words(_ user: User) -> String {
    let who = "process \(user.processID) (\(user.name.utf8.printable))"
    return switch user.hold {
    case .workingDirectory: "\(who) has its working directory there"
    case .rootDirectory: "\(who) has its root directory there"
    case .openFile(let name): "\(who) has \(shown(name)) open"
    case .mapping(let name): "\(who) has \(shown(name)) mapped"
    }
  }

  private static func shown(_ name: String) -> String {
    name.isEmpty ? "the mount's root" : "'\(name.utf8.printable)'"
  }

  private static func user(_ processID: Int32, of path: String, _ directory: String) -> User? {
    guard let hold = hold(of: path, directory) else { return nil }
    let name = (try? SmallFile.read(directory + "/comm")) ?? []
    let text = String(decoding: name.prefix { $0 != 0x0A }, as: UTF8.self)
    return User(processID: processID, name: text, hold: hold)
  }

  private static func hold(of path: String, _ directory: String) -> Hold? {
    if name(behind: directory + "/cwd", in: path) != nil { return .workingDirectory }
    if path != "/", name(behind: directory + "/root", in: path) != nil { return .rootDirectory }
    for number in ((try? Disk.names(in: directory + "/fd")) ?? []).sorted() {
      if let name = name(behind: "\(directory)/fd/\(number)", in: path) { return .openFile(name) }
    }
    // Source: proc_pid_maps(5): address, permissions, offset, device, inode, path.
    let maps = (try? SmallFile.read(directory + "/maps", countMax: 4 << 20)) ?? []
    let mark = Array((path == "/" ? "/" : path + "/").utf8)
    for line in maps.split(separator: 0x0A) {
      guard let slash = line.firstIndex(of: 0x2F), line[slash...].starts(with: mark) else {
        continue
      }
      return .mapping(String(decoding: line[(slash + mark.count)...], as: UTF8.self))
    }
    return nil
  }

  /// The path in the mount of what a link of /proc leads to; nil if that is elsewhere.
  ///
  /// The link is read, never followed: a dead mount would hang.
  private static func name(behind link: String, in path: String) -> String? {
    guard let target = try? Disk.linkTarget(of: link), MountPreparation.isBelow(target, path) else {
      return nil
    }
    return String(target.dropFirst(path.utf8.count == 1 ? 1 : path.count + 1))
  }
}
