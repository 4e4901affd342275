internal import Caching
internal import Core
internal import Dipper
internal import Filesystem
internal import FuseBridge
internal import ObjectFiles
internal import Support
internal import Transfer

/// The rows of the house, put together for one mount.
struct MountParts: Sendable {
  private let settings: MountSettings
  private let cache: ObjectCache
  private let record: FactsRecord
  let filesystem: MountedBucket
  private let metrics: Metrics
  private let errors: ErrorRing
  private let since: Timestamp
  let recovery: RenameRecovery
  private let log: Log
  /// The bucket with its prefix, as the user named it.
  let bucketName: String

  /// Reaches the bucket, then opens the cache.
  static func make(
    _ settings: MountSettings,
    mountpoint: Mountpoint,
    report: StartReport,
    log: Log
  ) async throws(MountFailure) -> MountParts {
    let metrics = Metrics()
    let bucket = try await reach(settings, metrics: metrics, log: log)
    func warn(_ sentence: String?) {
      guard let sentence else { return }
      report.note(sentence)
      log.write(.warning, sentence)
    }
    warn(try await MountPreparation.emptyPrefixWarning(settings, of: bucket))
    let time = SystemClock()
    let timers = Timers(time: time)
    do throws(DiskFailure) { try timers.begin() } catch { throw MountFailure("\(error)") }
    let budget = MemoryBudget(limit: settings.memory)
    let environment = TransferEnvironment(
      scheduler: FetchScheduler(parallel: settings.parallel, budget: budget),
      timers: timers,
      time: time,
      metrics: metrics,
      log: log
    )
    let errors = ErrorRing()
    let offline = settings.isOffline ? OfflineStore(name: bucket.store.name) : nil
    let store: any ObjectStore = offline ?? bucket.store
    let cache = try await open(settings, bucket.location, store, mountpoint, environment)
    if let offline {
      let known = await cache.knownObjects(under: ObjectKey(settings.url.key))
      warn(MountPreparation.emptyCacheWarning(settings, known))
      offline.learn(known)
    }
    let (record, knownFacts) = FactsRecord.open(in: cache.path, log: log)
    let filesystem = MountedBucket(
      store: store,
      cache: cache,
      options: options(settings),
      digest: .sha256,
      time: time,
      timers: timers,
      memory: budget,
      errors: errors,
      log: log,
      knownFacts: knownFacts,
      recordFacts: { record.append($0) },
      makeDrafts: try drafts(settings, bucket.location, store, cache, environment)
    )
    environment.answers.listen { [weak filesystem] object, askedAt in
      filesystem?.learnFacts(object, askedAt: askedAt)
    }
    warn((await filesystem.recoverDrafts())?.message)
    filesystem.startRecoveringRenamings()
    return MountParts(
      settings: settings,
      cache: cache,
      record: record,
      filesystem: filesystem,
      metrics: metrics,
      errors: errors,
      since: time.wallTime,
      recovery: recovery(settings, bucket, store, cache, environment, filesystem),
      log: log,
      bucketName: name(settings.url)
    )
  }

  /// What `dipper recover` asks the mount for.
  private static func recovery(
    _ settings: MountSettings,
    _ bucket: Bucket,
    _ store: any ObjectStore,
    _ cache: ObjectCache,
    _ environment: TransferEnvironment,
    _ filesystem: MountedBucket
  ) -> RenameRecovery {
    RenameRecovery(
      of: store,
      at: bucket.location,
      below: ObjectKey(settings.url.key).asBeginning,
      journalDirectory: cache.path + "/renames",
      environment: environment
    ) { source, target, body in
      await filesystem.whileAlone(below: source, target, body)
    }
  }

  private static func reach(
    _ settings: MountSettings,
    metrics: Metrics,
    log: Log
  ) async throws(MountFailure) -> Bucket {
    do throws(DipperError) {
      let bucket = try await Bucket.open(
        settings.url,
        options: settings.bucket,
        environment: ProcessEnvironment.variables,
        metrics: metrics,
        log: log
      )
      guard !settings.isOffline else { return bucket }
      // A mistyped endpoint is told within seconds; what fails later may take until the deadline.
      try await bucket.probe(
        deadline: settings.deadline,
        retryCountMax: settings.retryCountMax ?? 5
      )
      return bucket
    } catch {
      throw MountFailure("\(name(settings.url)) can't be mounted: \(error.description)")
    }
  }

  private static func open(
    _ settings: MountSettings,
    _ location: String,
    _ store: any ObjectStore,
    _ mountpoint: Mountpoint,
    _ environment: TransferEnvironment
  ) async throws(MountFailure) -> ObjectCache {
    var stated = ObjectCache.Settings(
      root: settings.cacheDirectory,
      storeName: location,
      holder: "mount of \(name(settings.url)) on \(mountpoint.path)",
      byteCountMax: settings.cacheSize
    )
    stated.download.operationDeadline = settings.deadline
    stated.download.flightDeadline = settings.deadline
    stated.download.retryCountMax = settings.retryCountMax
    // After `umount` and at once `mount` the daemon before may still be putting things away.
    var triesLeft = 15
    while true {
      do throws(CacheError) {
        return try ObjectCache(stated, of: store, in: environment)
      } catch {
        guard case .held = error, triesLeft > 0 else { throw failure(error, settings) }
      }
      triesLeft -= 1
      await environment.timers.sleep(until: environment.time.now + .milliseconds(200))
    }
  }

  private static func failure(_ error: CacheError, _ settings: MountSettings) -> MountFailure {
    guard case .disk(let failure) = error else { return MountFailure(error.description) }
    let directory = settings.cacheDirectory.utf8.printable
    // ENOSPC, EDQUOT.
    guard failure.errno == 28 || failure.errno == 122 else {
      return MountFailure("the cache directory \(directory) can't be used: \(failure)")
    }
    return MountFailure(
      "the disk of the cache directory \(directory) is full (\(failure.reason)); make room on it, or "
        + "give a directory on another disk with --cache-dir"
    )
  }

  private static func options(_ settings: MountSettings) -> FilesystemOptions {
    var options = FilesystemOptions()
    options.prefix = ObjectKey(settings.url.key)
    options.userID = settings.userID
    options.groupID = settings.groupID
    options.fileMode = settings.fileMode
    options.directoryMode = settings.directoryMode
    options.umask = settings.umask
    options.metadataTTL = settings.metadataTTL
    options.deadline = settings.deadline
    options.retryCountMax = settings.retryCountMax
    // To the others the kernel would not listen.
    options.offersWholeFiles = settings.usesPassthrough && ProcessEnvironment.userID == 0
    options.isOffline = settings.isOffline
    options.contentTypes = contentTypes()
    options.metadataStyle = settings.metadataStyle
    options.storageClass = settings.storageClass
    options.tags = settings.tags
    options.metadataSource = settings.metadataSource
    options.attributeDelay = settings.attributeDelay
    // The other half is left to transfers.
    options.listingMemoryMax = settings.memory / 2
    options.prefetch = PrefetchPolicy.Limits(
      partSize: settings.partSize,
      aheadMax: settings.partSize * settings.parallel,
      parallelMax: settings.parallel
    )
    return options
  }

  /// The system's table of content types, empty where there is none.
  private static func contentTypes() -> ContentTypes {
    // Source: mime.types(5): this is where it lies.
    guard let bytes = try? SmallFile.read("/etc/mime.types") else { return ContentTypes() }
    return ContentTypes(parsing: String(decoding: bytes, as: UTF8.self))
  }

  /// Makes what is written to; nil in a mount that only reads.
  private static func drafts(
    _ settings: MountSettings,
    _ location: String,
    _ store: any ObjectStore,
    _ cache: ObjectCache,
    _ environment: TransferEnvironment
  ) throws(MountFailure) -> ((any DraftObserver, ObjectFile.Environment) -> Drafts)? {
    guard !settings.isReadOnly else { return nil }
    let staging: StagingArea
    do throws(DiskFailure) {
      staging = try StagingArea(at: cache.path + "/staged", log: environment.log)
    } catch {
      throw failure(.disk(error), settings)
    }
    var stated = Drafts.Settings()
    stated.parallel = settings.parallel
    stated.retryCountMax = settings.retryCountMax
    stated.writeBackDelay = settings.writeBackDelay
    stated.metadataStyle = settings.metadataStyle
    stated.markerBeginning = ObjectKey(settings.url.key).asBeginning
    stated.storageTask = settings.bucket.storageTask
    return { observer, files in
      Drafts(
        Drafts.Environment(
          store: store,
          storeName: location,
          staging: staging,
          transfers: environment,
          files: files,
          observer: observer,
          settings: stated
        )
      )
    }
  }

  private static func name(_ url: BucketURL) -> String {
    url.key.isEmpty ? url.bucketName : "\(url.bucketName)/\(url.key.printable)"
  }

  /// The session that serves this file system.
  func session(at mountpoint: Mountpoint, whenReady: @escaping @Sendable () -> Void) -> FuseSession
  {
    var options = MountOptions(fsName: bucketName)
    options.isReadOnly = settings.isReadOnly
    options.allowsOther = settings.allowsOther
    options.extraOptions = settings.mountFlags.kernelOptions
    options.backingDirectory = settings.usesPassthrough ? cache.path : nil
    return FuseSession(
      operations: filesystem,
      mountpoint: mountpoint.path,
      options: options,
      log: log,
      whenReady: whenReady
    )
  }

  /// Stores what isn't stored yet.
  ///
  /// - Returns: what could not be; its bytes stay in the cache directory for the next mount.
  func finish() async -> [PendingFile] { await filesystem.finish() }

  /// What is to be stored before the mount can end, in words; nil if nothing is.
  var pendingWords: String? { PendingWords.waiting(for: filesystem.pendingFiles) }

  /// Ends what is on its way, keeps what arrived, and lets go of the cache.
  func close() async {
    await record.finish()
    await cache.close()
  }

  /// Carries out what `dipper warm`, `evict` and `map` ask for.
  var cacheRequests: CacheRequests {
    CacheRequests(
      cache: cache,
      partSize: settings.partSize,
      version: { [filesystem] names in filesystem.version(at: names.map { FileName($0) }) },
      isOpen: { [cache] version in
        cache.openDownloads.contains { $0.version.isSameContent(as: version) }
      }
    )
  }

  /// What `dipper status` shows.
  func status(at mountpoint: Mountpoint, _ passthrough: Passthrough?) -> MountStatus {
    var status = MountStatus(
      mountpoint: mountpoint.path,
      bucket: bucketName,
      processID: Disk.processID,
      since: since,
      isReadOnly: settings.isReadOnly,
      cache: MountStatus.Cache(
        directory: cache.path,
        bytes: cache.byteCount,
        limitBytes: settings.cacheSize,
        dirtyBytes: filesystem.dirtyByteCount
      ),
      memory: MountStatus.Memory(
        residentBytes: ProcessLimits.residentByteCount,
        budgetBytes: settings.memory
      ),
      counters: MountStatus.Counters(metrics.snapshot)
    )
    status.log = log.place
    status.passthrough = passthrough?.description
    status.counters?.passthroughOpens = passthrough?.openCount ?? 0
    let pending = filesystem.pendingFiles
    status.transfers = cache.openDownloads.compactMap(transfer) + pending.map { transfer($0) }
    status.transfers? += filesystem.renamings.map { transfer($0) }
    status.unsaved = unsaved(pending)
    status.errors = errors.all.map { MountStatus.Failure($0, errnoName: $0.error.code.errnoName) }
    return status
  }

  /// What could not be stored.
  private func unsaved(_ files: [PendingFile]) -> [MountStatus.Unsaved] {
    let known = files.compactMap { file in
      file.failure.map { reason in
        MountStatus.Unsaved(
          path: file.path,
          bytes: file.size,
          reason: reason,
          keptAt: file.keptAt
        )
      }
    }
    let unknown = filesystem.unreadableDrafts.map { path in
      MountStatus.Unsaved(
        path: "",
        bytes: 0,
        reason: "what an earlier mount left here is damaged, or of another version of dipper",
        keptAt: path
      )
    }
    return known + unknown
  }

  /// A file that is being written, or is to be stored.
  private func transfer(_ file: PendingFile) -> MountStatus.Transfer {
    MountStatus.Transfer(
      uploadOf: file.key,
      bytesDone: max(0, file.size - file.dirtyByteCount),
      bytesTotal: file.size,
      state: file.failure == nil ? "waiting" : "failed",
      error: file.failure
    )
  }

  /// What is being renamed; a directory's parts are the keys below it.
  private func transfer(_ renaming: Renaming) -> MountStatus.Transfer {
    MountStatus.Transfer(
      renamingOf: renaming.source,
      to: renaming.target,
      bytesDone: renaming.progress.byteCountDone,
      bytesTotal: renaming.progress.byteCount,
      partsDone: renaming.progress.keyCountDone,
      partsTotal: renaming.progress.keyCount
    )
  }

  /// A download with something on its way.
  private func transfer(_ download: Download) -> MountStatus.Transfer? {
    let (present, flights) = download.progress
    guard !flights.isEmpty else { return nil }
    let size = download.version.size
    let partCount = max(1, (size + settings.partSize - 1) / settings.partSize)
    let finishedCount = (0..<partCount).count { index in
      let start = index * settings.partSize
      return present.contains(ByteRange(start, min(size, start + settings.partSize)))
    }
    return MountStatus.Transfer(
      downloadOf: download.version.key.description,
      bytesDone: present.byteCount,
      bytesTotal: size,
      partsDone: finishedCount,
      partsTotal: partCount
    )
  }
}
