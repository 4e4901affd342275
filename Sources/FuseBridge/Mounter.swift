internal import CFuse
internal import Core
internal import Glibc
internal import Support

/// Makes and ends one mount: by mount(2) and umount2(2) as root, else through fusermount3.
struct Mounter: Sendable {
  /// Who makes the mount.
  enum Way: Sendable {
    /// This process, which is root's.
    case direct
    /// fusermount3, which is setuid root.
    case fusermount
  }

  /// Where a mount stands at its mountpoint.
  enum Place: Sendable {
    case onTop
    /// Another file system was mounted over it.
    case covered
    case gone
  }

  let way: Way
  /// The mountpoint, absolute and without symbolic links.
  let mountpoint: String
  private let type: String

  /// Prepares a mount at `path`.
  ///
  /// - Throws: `MountError` if it is no directory that this user may mount on.
  init(path: String, options: MountOptions, way: Way? = nil) throws(MountError) {
    self.way = way ?? (geteuid() == 0 ? .direct : .fusermount)
    type = MountArguments(options).type
    mountpoint = try Self.resolve(path)
    try Self.checkDirectory(mountpoint)
    if MountTable.current().top(at: mountpoint)?.type == type {
      throw MountError(
        .alreadyMounted,
        "\(mountpoint) is a mount of \(options.subtype) already; unmount it first, or choose another directory"
      )
    }
    if self.way == .fusermount, geteuid() != 0 {
      try Self.checkOrdinaryUser(mountpoint, options)
    }
  }

  /// Mounts, and returns the open device.
  func mount(_ options: MountOptions) throws(MountError) -> Int32 {
    let arguments = MountArguments(options)
    return switch way {
    case .direct: try mountDirectly(arguments)
    case .fusermount: try mountThroughFusermount(arguments)
    }
  }

  /// The device number of the mount just made, `major:minor`; nil if /proc doesn't say.
  func device() -> String? {
    guard let top = MountTable.current().top(at: mountpoint), top.type == type else { return nil }
    return top.device
  }

  /// Where a mount of `device` stands.
  func place(of device: String) -> Place {
    let entries = MountTable.current().entries
    // The list couldn't be read, as when no descriptor is left: an unmount too many does no harm.
    guard !entries.isEmpty else { return .onTop }
    let there = entries.filter { $0.mountpoint == mountpoint }
    if there.last?.device == device { return .onTop }
    return there.contains { $0.device == device } ? .covered : .gone
  }

  /// Unmounts.
  ///
  /// Lazily: the mount leaves the tree at once, and ends when the last open file is closed.
  func unmount(lazily: Bool) throws(MountError) {
    switch way {
    case .direct:
      guard cfuse_unmount(mountpoint, lazily ? 1 : 0, 0) != 0 else { return }
      throw Self.unmountFailure(mountpoint, errno)
    case .fusermount:
      try Self.unmountThroughFusermount(mountpoint, lazily: lazily)
    }
  }

  /// Unmounts `mountpoint` as an ordinary user.
  static func unmountThroughFusermount(
    _ mountpoint: String,
    lazily: Bool
  ) throws(MountError) {
    let (result, number, message) = withMessage {
      cfuse_fusermount_unmount(mountpoint, lazily ? 1 : 0, $0, $1)
    }
    guard result != 0 else { return }
    if message.isEmpty { throw fusermountFailure(number) }
    throw fusermountRefusal(mountpoint, message)
  }

  private func mountDirectly(_ arguments: MountArguments) throws(MountError) -> Int32 {
    let device = cfuse_open_device()
    guard device >= 0 else { throw Self.deviceFailure(errno) }
    let data = arguments.data(
      descriptor: device,
      rootMode: FileKind.directory.modeBits,
      userID: getuid(),
      groupID: getgid()
    )
    guard
      cfuse_mount(arguments.source, mountpoint, arguments.type, arguments.flags, data) == 0
    else {
      let number = errno
      close(device)
      throw Self.mountFailure(mountpoint, number, options: arguments.kernelOptions)
    }
    return device
  }

  private func mountThroughFusermount(_ arguments: MountArguments) throws(MountError) -> Int32 {
    let (device, number, message) = Self.withMessage {
      cfuse_fusermount(mountpoint, arguments.fusermountOptions, $0, $1)
    }
    guard device < 0 else { return device }
    if message.isEmpty { throw Self.fusermountFailure(number) }
    throw MountError(.refused, "can't mount on \(mountpoint): \(message)")
  }

  /// Calls `body` with room for what fusermount3 prints; returns its answer, errno, and the print.
  private static func withMessage(
    _ body: (UnsafeMutablePointer<CChar>, Int) -> Int32
  ) -> (answer: Int32, errno: Int32, message: String) {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
      guard let base = buffer.baseAddress else { return (-1, ENOMEM, "") }
      let answer = body(base, buffer.count)
      let number = errno
      return (answer, number, String(cString: base))
    }
  }

  private static func resolve(_ path: String) throws(MountError) -> String {
    guard let resolved = realpath(path, nil) else { throw mountpointFailure(path, errno) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func checkDirectory(_ path: String) throws(MountError) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw mountpointFailure(path, errno) }
    guard status.st_mode & S_IFMT == FileKind.directory.modeBits else {
      throw MountError(.notDirectory, "\(path) is not a directory; choose one to mount on")
    }
  }

  /// What fusermount3 will refuse, told with what to do about it.
  private static func checkOrdinaryUser(
    _ path: String,
    _ options: MountOptions
  ) throws(MountError) {
    // fusermount3 opens it with the user's rights.
    guard access("/dev/fuse", R_OK | W_OK) == 0 else { throw deviceFailure(errno) }
    guard access(path, W_OK) == 0 else { throw mountpointFailure(path, errno) }
    let configuration = String(decoding: contents(of: "/etc/fuse.conf"), as: UTF8.self)
    if options.allowsOther, !FuseConfiguration(text: configuration).allowsOther {
      throw MountError(
        .allowOtherNotEnabled,
        "allow-other is root's unless /etc/fuse.conf has the line user_allow_other; add it, or mount without allow-other"
      )
    }
  }
}

/// The bytes of a small file; none if it can't be read.
func contents(of path: String) -> [UInt8] { (try? SmallFile.read(path)) ?? [] }

/// What /etc/fuse.conf permits to ordinary users.
struct FuseConfiguration {
  /// Whether they may let others in.
  let allowsOther: Bool

  init(text: String) {
    allowsOther = text.split(separator: "\n").contains { line in
      let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
      return words == ["user_allow_other"]
    }
  }
}
