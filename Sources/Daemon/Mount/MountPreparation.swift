internal import Core
internal import Dipper
internal import Glibc
internal import Support

/// What is looked at before anything else: whether one can mount there at all.
enum MountPreparation {
  // Dead mounts can lie on one another; more than this many is something else.
  private static let clearingCountMax = 8

  /// Returns the mountpoint, free to be mounted on, after clearing dead mounts of ours from it.
  static func mountpoint(
    _ settings: MountSettings,
    report: StartReport
  ) throws(MountFailure) -> Mountpoint {
    try checkDevice()
    guard !settings.mountpoint.utf8.contains(UInt8(ascii: "\n")) else {
      // The daemon reports to its starter line by line.
      throw MountFailure("a mountpoint can't have a line break in its name; rename the directory")
    }
    let mountpoint: Mountpoint
    do throws(DiskFailure) {
      mountpoint = try Mountpoint(settings.mountpoint)
    } catch {
      throw MountFailure("the mountpoint can't be used: \(error)")
    }
    try checkPlaces(settings, mountpoint)
    for _ in 0..<clearingCountMax {
      let facts = mountpoint.facts()
      let path = mountpoint.path
      switch MountpointCheck.verdict(path, facts, allowsEntries: settings.allowsNonEmpty) {
      case .ready:
        return mountpoint
      case .refused(let reason):
        throw MountFailure(reason)
      case .clear:
        try clear(mountpoint)
        report.note("cleared a dead mount of \(facts.mount?.source ?? "ours") from \(path)")
      }
    }
    throw MountFailure(
      "\(mountpoint.path) has too many dead mounts on it; clear them with umount -l"
    )
  }

  /// Refuses what would make the daemon wait for itself: its cache, or the local bucket that it reads,
  /// in its own mount.
  private static func checkPlaces(
    _ settings: MountSettings,
    _ mountpoint: Mountpoint
  ) throws(MountFailure) {
    let path = mountpoint.path
    if isBelow(settings.cacheDirectory, path) {
      throw MountFailure(
        "the cache directory \(settings.cacheDirectory) lies in the mountpoint \(path); choose another"
      )
    }
    guard settings.url.scheme == .file else { return }
    // The directory may not exist; that is said when it is opened.
    let bucket = (try? Mountpoint(settings.url.bucket).path) ?? settings.url.bucket
    if isBelow(path, bucket) || isBelow(bucket, path) {
      throw MountFailure(
        "the mountpoint \(path) and the bucket's directory \(bucket) lie in one another; choose another"
          + " mountpoint"
      )
    }
  }

  /// Returns true if `path` is `directory` or lies below it.
  static func isBelow(_ path: String, _ directory: String) -> Bool {
    path == directory || path.hasPrefix(directory == "/" ? "/" : directory + "/")
  }

  private static func clear(_ mountpoint: Mountpoint) throws(MountFailure) {
    switch Unmounting.unmount(mountpoint.path, .forced) {
    case .done: break
    case .busy: throw MountFailure("the dead mount at \(mountpoint.path) can't be cleared")
    case .failed(let reason): throw MountFailure("a dead mount is in the way: \(reason)")
    }
  }

  // Some forty are always open: the device, the cache's files, the connections to the store. What is
  // left is for the objects that are being read, two each.
  static let openFileCountMin = 128

  /// Refuses to start with so few descriptors that reads would fail for want of them; `limit` has been
  /// raised as far as it goes, and is nil if it isn't known.
  static func checkOpenFiles(_ limit: Int?) throws(MountFailure) {
    guard let limit, limit < openFileCountMin else { return }
    throw MountFailure(
      "this process may open only \(limit) files (RLIMIT_NOFILE), and a mount needs \(openFileCountMin)"
        + " at least; raise the hard limit, with 'ulimit -Hn 4096' or LimitNOFILE= of a service"
    )
  }

  /// The kernel's end of every mount.
  static func checkDevice() throws(MountFailure) {
    let advice = "load the kernel's fuse module, or give the container the device"
    let device: FileDescriptor
    do throws(DiskFailure) {
      device = try FileDescriptor.open("/dev/fuse", .readWrite)
    } catch {
      // For an ordinary user fusermount3 opens it, as root.
      if error.errno == EACCES, geteuid() != 0 { return }
      throw MountFailure("/dev/fuse can't be opened (\(error.reason)); \(advice)")
    }
    var status = stat()
    fstat(device.number, &status)
    // Source: Linux, Documentation/admin-guide/devices.txt: major 10 is "misc", minor 229 "fuse";
    // small numbers are put together so by makedev(3).
    guard status.st_mode & S_IFMT == S_IFCHR, status.st_rdev == 10 << 8 | 229 else {
      throw MountFailure("/dev/fuse is not the kernel's FUSE device; \(advice)")
    }
  }
}
