package import Core
package import Dipper
internal import Support

/// What a mount is to be, read from a command line and the environment.
package struct MountSettings: Sendable {
  /// What to mount.
  package var url: BucketURL
  /// Where, as it was given.
  package var mountpoint: String
  /// How to reach the bucket.
  package var bucket: BucketOptions
  /// Where fetched parts are kept.
  package var cacheDirectory: String
  /// Bytes that the cache may take on disk.
  package var cacheSize = 20 << 30
  /// Bytes of memory that transfers may use.
  package var memory = Self.memoryDefault
  /// The largest request in bytes.
  package var partSize = 8 << 20
  /// How many requests there may be at once.
  package var parallel = 8
  /// How often a request is tried again; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// How long names and attributes are believed.
  package var metadataTTL: Duration = .seconds(10)
  /// How long an operation may wait for the store.
  package var deadline: Duration = .seconds(60)
  /// True if the store is not to be asked: what the cache has is all there is.
  package var isOffline = false
  /// True if nothing can be changed through the mount.
  package var isReadOnly = false
  /// The owner of everything.
  package var userID: UInt32
  /// The group of everything.
  package var groupID: UInt32
  /// Permission bits that nothing has.
  package var umask: UInt16 = 0
  /// The permissions of files.
  package var fileMode: UInt16 = 0o644
  /// The permissions of directories.
  package var directoryMode: UInt16 = 0o755
  /// How owner, mode and time that a program sets are stored.
  package var metadataStyle = MetadataStyle.s3fs
  /// The storage class of files that are made; nil is the store's standard.
  package var storageClass: String?
  /// The tags of files that are made.
  package var tags: [String: String] = [:]
  /// Whether files are asked for what a listing doesn't tell of them.
  package var metadataSource = MetadataSource.listing
  /// How long a closed file may lie on the local disk alone; nil: `close` waits for the store.
  package var writeBackDelay: Duration?
  /// True if other users may enter.
  package var allowsOther = false
  /// True if the mountpoint may have files in it.
  package var allowsNonEmpty = false
  /// The kernel's flags of a mount that were asked for.
  package var mountFlags = MountFlags()
  /// True if the kernel may read files that are wholly in the cache by itself.
  package var usesPassthrough = true

  /// How long what is set of a closed file or of a directory may wait for what else is set: long enough for
  /// programs that set one after the other, and soon for who looks from elsewhere.
  package var attributeDelay: Duration { mountFlags.isSynchronous ? .zero : .seconds(1) }

  /// Bytes of memory that transfers may use unless it is said.
  static let memoryDefault = 256 << 20

  /// Reads the settings of a `mount` command.
  ///
  /// - Parameters:
  ///   - invocation: the command line.
  ///   - url: its first operand, resolved.
  ///   - environment: this process's variables.
  /// - Throws: `UsageError` if the mountpoint is no path, or the store can't have what is asked of it.
  package init(
    _ invocation: Invocation,
    url: BucketURL,
    environment: [String: String]
  ) throws(UsageError) {
    self.url = url
    mountpoint = ProcessEnvironment.absolute(try invocation.operands[1].path(named: "MOUNTPOINT"))
    try StorageRules.check(invocation, for: url.scheme)
    bucket = BucketOptions(invocation)
    cacheDirectory = Self.cacheDirectory(invocation.text(.cacheDirectory), environment)
    cacheSize = invocation.number(.cacheSize) ?? cacheSize
    memory = invocation.number(.memory) ?? memory
    let partSize = invocation.number(.partSize) ?? 0
    self.partSize = partSize == 0 ? self.partSize : partSize
    parallel = min(max(invocation.number(.parallel) ?? parallel, 1), 1000)
    retryCountMax = invocation.number(.maxRetries)
    metadataTTL = invocation.duration(.metadataTTL) ?? metadataTTL
    deadline = invocation.duration(.deadline) ?? deadline
    isOffline = invocation.has(.offline)
    // Offline there is nobody to store anything.
    isReadOnly = invocation.has(.readOnly) || isOffline
    userID = invocation.number(.uid).map { UInt32($0) } ?? ProcessEnvironment.userID
    groupID = invocation.number(.gid).map { UInt32($0) } ?? ProcessEnvironment.groupID
    umask = UInt16(invocation.number(.umask) ?? 0)
    fileMode = invocation.number(.fileMode).map { UInt16($0) } ?? fileMode
    directoryMode = invocation.number(.directoryMode).map { UInt16($0) } ?? directoryMode
    metadataStyle =
      invocation.text(.metadataStyle).flatMap(MetadataStyle.init(rawValue:)) ?? metadataStyle
    storageClass = invocation.text(.storageClass)
    tags = invocation.pairs(.tag)
    metadataSource =
      invocation.text(.metadataFrom).flatMap(MetadataSource.init(rawValue:)) ?? metadataSource
    writeBackDelay = invocation.duration(.writeBack)
    allowsOther = invocation.has(.allowOther)
    allowsNonEmpty = invocation.has(.nonEmpty)
    mountFlags = invocation.mountFlags
    usesPassthrough = !invocation.has(.noPassthrough)
    // A few beyond the parts, for lookups and listings.
    bucket.requestCountMax = parallel + 16
  }

  /// Where the cache is if nothing is said: as the desktop's rules have it.
  ///
  /// Source: XDG Base Directory Specification 0.8: a relative path in the variable is ignored.
  static func cacheDirectory(_ given: String?, _ environment: [String: String]) -> String {
    if let given { return ProcessEnvironment.absolute(given) }
    if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return "\(base)/dipper" }
    // At boot, where fstab is mounted, there is no HOME.
    let variable = environment["HOME"].flatMap { $0.hasPrefix("/") && $0 != "/" ? $0 : nil }
    if let home = variable ?? ProcessEnvironment.homeDirectory { return "\(home)/.cache/dipper" }
    return "/var/cache/dipper-\(ProcessEnvironment.userID)"
  }
}
