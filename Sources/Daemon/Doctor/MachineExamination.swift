internal import Core
internal import FuseBridge
internal import Glibc
internal import StoreClient
internal import Support

extension MachineFacts {
  /// Looks at this machine; nothing is changed.
  ///
  /// - Parameters:
  ///   - cacheDirectory: the cache directory of a mount, or nil for the default.
  ///   - environment: this process's variables.
  ///   - openFileCountMax: how many files a process may open at most.
  /// - Returns: the facts.
  package static func gather(
    cacheDirectory: String?,
    environment: [String: String],
    openFileCountMax: Int?
  ) -> MachineFacts {
    let table = MountTable.current()
    var facts = MachineFacts(
      isRoot: geteuid() == 0,
      kernel: kernelRelease,
      libraries: ["libfuse \(FuseLibrary.version)"]
        + RemoteStore.libraryVersion.split(separator: " ").prefix(2).map {
          String($0.replacing("/", with: " "))
        },
      cache: cache(
        at: MountSettings.cacheDirectory(cacheDirectory, environment),
        table
      )
    )
    do throws(MountFailure) {
      try MountPreparation.checkDevice()
    } catch {
      facts.deviceProblem = error.sentence
    }
    facts.helper = helper(environment["PATH"] ?? "")
    facts.openFileCountMax = openFileCountMax
    facts.hasSystemLog = SystemLog().connect()
    let statuses = ControlClient().statuses(table)
    facts.answeringMountCount = statuses.count { $0.answers }
    facts.silentMounts = statuses.filter { !$0.answers }
      .map { SilentMount(mountpoint: $0.mountpoint, processID: $0.pid) }
    return facts
  }

  private static var kernelRelease: String {
    let bytes = (try? SmallFile.read("/proc/sys/kernel/osrelease")) ?? []
    return String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
  }

  private static func helper(_ search: String) -> Helper? {
    for directory in search.split(separator: ":") {
      let path = "\(directory)/fusermount3"
      var status = stat()
      if stat(path, &status) == 0, access(path, X_OK) == 0 {
        let isRoots = status.st_uid == 0 && status.st_mode & S_ISUID != 0
        return Helper(path: path, isSetUserID: isRoots)
      }
    }
    return nil
  }

  private static func cache(at path: String, _ table: MountTable) -> Cache {
    var cache = Cache(path: path)
    do throws(DiskFailure) {
      let status = try Disk.status(of: path)
      cache.exists = status != nil
      // What isn't there yet is made in the nearest directory that is.
      let nearest = try nearestDirectory(path)
      if let status {
        cache.permissions = status.permissions
        cache.problem =
          status.kind != .directory
          ? .noDirectory
          : status.userID != geteuid()
            ? .foreign(status.userID)
            : status.permissions & 0o022 != 0 ? .open : nil
      }
      if cache.problem == nil, !Disk.isWritable(nearest) { cache.problem = .unwritable }
      cache.freeByteCount = (try? Disk.space(at: nearest))?.free
      let resolved = (try? PathLook.resolve(Array(nearest.utf8))) ?? Array(nearest.utf8)
      cache.fileSystem = MountedPath.mount(of: resolved, in: table)?.type
    } catch {
      cache.problem = .failed(error.reason)
    }
    return cache
  }

  private static func nearestDirectory(_ path: String) throws(DiskFailure) -> String {
    var path = path
    while try Disk.status(of: path) == nil {
      guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
      path = String(path[..<slash])
    }
    return path
  }
}
