package import Core
package import ObjectFiles
package import Support

/// A bucket, or the keys below a prefix of it, as a file system.
///
/// What is known is answered on the calling thread. What isn't is parked: the reply waits for a
/// question to the store that all who ask the same share, and is answered by its outcome, by an
/// interrupt or by the deadline, whichever is first.
///
/// Knowledge comes from listings (`DirectoryListing`), which answer for every name in a directory,
/// and from single questions. Either is believed for `metadataTTL` after the store was asked; then
/// it is confirmed before it is used again, and if the store can't be reached, used as it is.
package final class MountedBucket: FileOperations {
  struct Tables {
    var inodes: InodeTable
    var handles: [HandleID: Handle] = [:]
    var lastHandle: UInt64 = 0
    var open = OpenNodes()
    var drafts = DraftTable()
    /// What this mount changed in the names of directories, by their prefixes.
    var changes: [ObjectKey: NameChanges] = [:]
    /// What drafts are to have of other objects.
    var copies = PendingCopies()
    /// What is shown of nodes since they were changed through this mount.
    var shown: [NodeID: ShownFacts] = [:]
    /// Files that were to be written while the kernel read them by itself: it is to ask for their bytes.
    var writtenKeys: Set<ObjectKey> = []
    /// Drafts that are stored in a moment, by their names.
    var deferred: Set<String> = []
    /// Whether the store keeps user metadata of directories' markers; nil until it was tried.
    var keepsMarkerFacts: Bool?
    /// The renamings under way that take a while, by their old prefixes or keys.
    var renamings: [ObjectKey: Renaming] = [:]
    /// What is left of renamings is tried again in a while.
    var repeatsRenamings = false
    /// Names that the store said are absent, and until when that is believed.
    var absentNames: [NameKey: Instant] = [:]
    /// The components that names which show only a beginning were found to mean.
    var longComponents: [NameKey: [UInt8]] = [:]
    /// The store could not be reached, and until then isn't asked about what is known.
    var outageUntil = Instant(nanoseconds: .min)
    /// What was learned before is to be confirmed.
    var invalidatedAt = Instant(nanoseconds: .min)

    /// Makes a handle.
    mutating func add(_ handle: Handle) -> HandleID {
      lastHandle += 1
      let id = HandleID(lastHandle)
      handles[id] = handle
      return id
    }
  }

  /// What is open.
  enum Handle: Sendable {
    case file(OpenFile)
    case directory(OpenDirectory)
  }

  let options: FilesystemOptions
  let cache: any PartCache
  let files: ObjectFile.Environment
  let time: any TimeSource
  let timers: Timers
  let log: Log
  let reporter: FailureReporter
  let queries: StoreQueries
  let mountedAt: Timestamp
  /// Lookups and confirmations under way, by what was asked for.
  let lookups = FlightTable<NameKey, LookupOutcome>()
  let heads = FlightTable<ObjectKey, HeadOutcome>()
  /// What system calls have waited in vain.
  let patience: Lock<PatienceLedger>
  let listingMemory: ListingMemory
  let walks = Lock(WalkTable())
  /// Who changes what is at which key.
  let turns = KeyTurns()
  let deletes: DeleteQueue
  /// Directories that may have become empty.
  let emptied = EmptiedDirectories()
  /// What is being written; nil in a mount that only reads.
  let drafts: Drafts?
  /// Opens cache entries ahead of their readers: disk calls, which no reader should wait for.
  let aheadPool = BlockingPool(threadCount: 2)
  /// What is known of versions' user metadata.
  let facts = Lock(FactsMemory())
  /// Keeps news of that for the next mount.
  let recordFacts: (@Sendable (RecordedFacts) -> Void)?
  /// True if a process has the file with an inode number open for writing.
  let hasWriter: @Sendable (UInt64, Int32) -> Bool
  // Lock order: `tables` and the others here are never held together, nor while anything is called.
  let tables: Lock<Tables>

  /// Creates the file system; nothing is asked of the store yet.
  ///
  /// `digest` tells components apart that are too long for a name; `makeDrafts` makes what is written to,
  /// and without it the mount only reads. `knownFacts` is what earlier mounts have learned, the newest last,
  /// and `recordFacts` keeps more of it. `hasWriter`
  /// tells of an inode number and a process whether that one has the file open for writing.
  package init(
    store: any ObjectStore,
    cache: any PartCache,
    options: FilesystemOptions,
    digest: NameDigest,
    time: any TimeSource = SystemClock(),
    timers: Timers,
    memory: MemoryBudget = MemoryBudget(limit: .max),
    errors: ErrorRing = ErrorRing(),
    log: Log = Log(),
    knownFacts: [RecordedFacts] = [],
    recordFacts: (@Sendable (RecordedFacts) -> Void)? = nil,
    hasWriter: @escaping @Sendable (UInt64, Int32) -> Bool = ProcessDescriptors.hasWriter,
    makeDrafts: ((any DraftObserver, ObjectFile.Environment) -> Drafts)? = nil
  ) {
    self.options = options
    self.cache = cache
    self.time = time
    self.timers = timers
    self.log = log
    self.recordFacts = recordFacts
    self.hasWriter = hasWriter
    files = ObjectFile.Environment(
      cache: cache,
      timers: timers,
      time: time,
      patience: options.deadline,
      prefetch: options.prefetch
    )
    patience = Lock(
      PatienceLedger(patience: options.deadline, span: ObjectFile.repetitionSpan)
    )
    listingMemory = ListingMemory(limit: options.listingMemoryMax, budget: memory)
    reporter = FailureReporter(log: log, errors: errors, time: time)
    queries = StoreQueries(store: store, time: time, options: options, digest: digest)
    mountedAt = time.wallTime.wholeSecond
    deletes = DeleteQueue(store: store, time: time, options: options)
    let observer = MountDraftObserver()
    drafts = makeDrafts?(observer, files)
    let root = Directory(
      node: .root,
      prefix: options.directoryPrefix,
      inodeNumber: InodeNumber.root,
      parentInodeNumber: InodeNumber.root
    )
    tables = Lock(Tables(inodes: InodeTable(rootDirectory: root)))
    observer.bucket = self
    facts.withLock { facts in
      for known in knownFacts { facts.recall(known) }
    }
  }

  /// What `status` shows of the file system itself.
  package struct Snapshot: Hashable, Sendable {
    /// Files and directories that the kernel knows.
    package var nodeCount: Int
    /// Open files and directories.
    package var handleCount: Int
    /// Bytes of memory that names and attributes take.
    package var metadataByteCount: Int
  }

  /// What the file system holds now.
  package var snapshot: Snapshot {
    let listingByteCount = listingMemory.usedByteCount
    return tables.withLock { tables in
      Snapshot(
        nodeCount: tables.inodes.count,
        handleCount: tables.handles.count,
        metadataByteCount: tables.inodes.byteCount + listingByteCount
      )
    }
  }

  /// Everything that is known is to be confirmed by the store before it is used again.
  package func invalidateAll() {
    let now = time.now
    let directories = tables.withLock { tables in
      tables.invalidatedAt = now
      tables.absentNames = [:]
      for prefix in tables.changes.keys { tables.changes[prefix]?.told(at: .distantFuture) }
      tables.changes = tables.changes.filter { $0.value.count > 0 }
      tables.outageUntil = Instant(nanoseconds: .min)
      return tables.inodes.enteredDirectories
    }
    // What lies ready in flat listings is as old.
    walks.withLock { $0 = WalkTable() }
    for directory in directories { directory.expire() }
  }

  package func forget(_ node: NodeID, count: UInt64) {
    let ended = tables.withLock { tables -> Draft? in
      tables.inodes.forget(node, lookupCount: count)
      guard tables.inodes.node(node) == nil else { return nil }
      if !tables.shown.isEmpty { tables.shown[node] = nil }
      return tables.drafts.forget(node)
    }
    if let ended { drafts?.end(ended) }
    reporter.forget(node)
  }

  package func statistics(reply: consuming Reply<StatisticsAnswer>) {
    // A bucket has no end; numbers that programs which multiply them by the block size can hold.
    reply.succeed(
      StatisticsAnswer(
        blockSize: 4096,
        blockCount: 1 << 40,
        freeBlockCount: 1 << 40,
        fileCount: 1 << 40,
        freeFileCount: 1 << 40,
        nameLengthMax: NameCodec.nameLengthMax
      )
    )
  }
}

extension MountedBucket {
  /// How long what was learned is believed.
  var timeToLive: Duration {
    // Offline, as good as for ever.
    options.isOffline ? .seconds(100 * 365 * 86_400) : options.metadataTTL
  }

  /// How long the kernel may keep what is used although it could not be confirmed.
  var unconfirmedTimeout: Duration { min(.seconds(1), options.metadataTTL) }

  /// The time from now to `moment`, or the least there is.
  func timeout(until moment: Instant, at now: Instant) -> Duration {
    min(max(moment - now, .zero), options.metadataTTL)
  }

  /// The attributes of a child.
  func attributes(of entry: Entry) -> FileAttributes {
    let numbers = InodeNumber.Prefix(entry.page.prefix)
    let number = InodeNumber.of(entry.component, kind: entry.kind, in: numbers)
    let posix = facts.withLock { $0.facts(of: entry)?.posix }
    guard entry.kind == .file else {
      return directoryAttributes(inodeNumber: number).showing(posix.map { ShownFacts($0) })
    }
    var attributes = FileAttributes(
      inodeNumber: number,
      kind: .file,
      size: entry.size,
      permissions: posix?.permissions ?? options.fileMode & ~options.umask,
      userID: posix?.userID ?? options.userID,
      groupID: posix?.groupID ?? options.groupID,
      modified: posix?.modified ?? entry.modified,
      linkCount: 1
    )
    attributes.accessed = posix?.accessed
    return attributes
  }

  /// The attributes of a child that the kernel knows: what it is being written to, if it is.
  func attributes(of entry: Entry, _ node: NodeID) -> FileAttributes {
    let (draft, shown, known, isLink) = tables.withLock { tables in
      (
        tables.drafts[node], tables.shown.isEmpty ? nil : tables.shown[node],
        tables.inodes.node(node), tables.inodes.isLink(node)
      )
    }
    // Its draft may have been stored, and be over, since the entry was looked at.
    let entry = known?.entry ?? entry
    var attributes = attributes(of: entry).showing(shown)
    if isLink { (attributes.kind, attributes.permissions) = (.symbolicLink, Self.linkPermissions) }
    if let draft {
      attributes.size = draft.size
      if draft.isDirty { attributes.modified = draft.modified }
    }
    if known?.isRemoved ?? false { attributes.linkCount = 0 }
    return attributes
  }

  /// The attributes of a directory.
  ///
  /// Its time is the mount's, unless its marker's metadata is known: a parent's listing doesn't tell the
  /// time of a marker, and two looks at an unchanged directory must agree. It has one link, which tells `find` that the number of
  /// links doesn't count its directories.
  func directoryAttributes(inodeNumber: UInt64) -> FileAttributes {
    FileAttributes(
      inodeNumber: inodeNumber,
      kind: .directory,
      size: 0,
      permissions: options.directoryMode & ~options.umask,
      userID: options.userID,
      groupID: options.groupID,
      modified: mountedAt,
      linkCount: 1
    )
  }

  /// The path of a key in the mount, for messages.
  func path(of key: ObjectKey) -> String {
    let prefix = options.directoryPrefix
    return key.hasPrefix(prefix)
      ? key.bytes.dropFirst(prefix.bytes.count).printable : key.description
  }

  /// Makes a handle.
  func addHandle(_ handle: Handle) -> HandleID {
    tables.withLock { $0.add(handle) }
  }

  /// The error for a node or handle that the kernel shouldn't have.
  static let unknownNode = FileError(.stale, "the file system doesn't know this file any more")
  static let unknownHandle = FileError(.badHandle, "this is not an open file or directory")
}
