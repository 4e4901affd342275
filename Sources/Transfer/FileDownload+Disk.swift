internal import Core
internal import Support

extension FileDownload {
  func onDisk<Result: Sendable>(
    _ body: @escaping @Sendable () throws(TransferError) -> Result
  ) async throws(TransferError) -> Result {
    try await environment.disk.run(body)
  }

  /// Checks what can be checked before anything is touched, and takes the locks.
  ///
  /// A refusal leaves no lock behind.
  ///
  /// - Returns: the locks: of the target and, if it is elsewhere, of the checkpoint.
  /// - Throws: `TransferError`: `.invalid` for a request that makes no sense here, `.held` if another
  ///   process has one of the locks.
  func prepare() throws(TransferError) -> [LockFile] {
    var locks: [LockFile] = []
    do {
      try checkPaths()
      _ = try plan(of: 0)
      let holder = "a download to \(request.target)"
      locks.append(try LockFile.acquire(lockPath(request.usualCheckpoint), holder: holder))
      if checkpointPath != request.usualCheckpoint {
        locks.append(try LockFile.acquire(lockPath(checkpointPath), holder: holder))
      }
      try refuseForeignFiles()
      if request.forcesRestart { try discard() }
      return locks
    } catch {
      release(locks)
      throw TransferError(error, path: checkpointPath)
    }
  }

  private func lockPath(_ checkpoint: String) -> String {
    CompanionPath.path(checkpoint, ".lock", longestSuffix: ".lock")
  }

  /// Removes the locks' files: the kernel's locks go with the objects, and a name without one is litter.
  func release(_ locks: [LockFile]) {
    for lock in locks { try? lock.removeFile() }
  }

  /// Refuses directories that aren't there, and a temporary file that can't take the target's place.
  private func checkDirectories() throws {
    func status(_ directory: String, of purpose: String) throws -> Disk.Status {
      // A link to a directory is as good: a slash leads through it.
      guard let status = try Disk.status(of: directory + "/") else {
        throw TransferError.invalid(
          "\(purpose)'s directory \(directory) doesn't exist; make it first"
        )
      }
      return status
    }
    let target = try status(request.targetDirectory, of: "the target")
    guard let path = request.temporary else { return }
    let directory = FileDownloadRequest.directory(of: path)
    let temporary = try status(directory, of: "the temporary file")
    guard target.identity.first == temporary.identity.first else {
      throw TransferError.invalid(
        "the temporary file \(path) is not on the file system of the target \(request.target), so it "
          + "can't take its place in one step; put it beside the target"
      )
    }
  }

  /// Refuses targets that can't be replaced by a file, and paths that would overwrite each other.
  private func checkPaths() throws {
    try checkDirectories()
    switch try Disk.status(of: request.target)?.kind {
    case .directory:
      throw TransferError.invalid("the target \(request.target) is a directory")
    case .symbolicLink:
      throw TransferError.invalid(
        "the target \(request.target) is a symbolic link; name the file that it leads to"
      )
    case .other:
      throw TransferError.invalid(
        "the target \(request.target) is not a regular file; '-' writes to standard output"
      )
    case .file, nil:
      break
    }
    let paths = [request.target, request.temporaryPath, checkpointPath]
    var identities = Set<[UInt64]>()
    for path in paths {
      guard let identity = try Disk.status(of: path)?.identity else { continue }
      guard identities.insert(identity).inserted else {
        throw TransferError.invalid("\(path) is named for two purposes; give each its own file")
      }
    }
    guard Set(paths).count == paths.count else {
      throw TransferError.invalid(
        "the target, the temporary file and the checkpoint must be three different files"
      )
    }
  }

  /// Refuses files of the user's that were named as a checkpoint or as the temporary file of an earlier
  /// try: they would be written over or removed.
  private func refuseForeignFiles() throws {
    let text = request.keepsCheckpoint ? try CheckpointFile.text(at: checkpointPath) : nil
    if let text, let kind = Checkpoint.otherKind(text) {
      // It names an unfinished upload that nobody else knows.
      throw TransferError.differs(field: "kind", checkpoint: kind, request: "download")
    }
    if request.checkpoint == checkpointPath, let text, !text.isEmpty,
      !CheckpointIdentity.isHead(of: text)
    {
      throw TransferError.invalid("\(checkpointPath) is there and is not a checkpoint")
    }
    if request.temporary != nil, text.map(CheckpointIdentity.isHead) != true {
      try refuseForeignTemporary()
    }
  }

  /// What an earlier try left; nil if nothing that can be used.
  func readEarlier() throws(TransferError) -> CheckpointIdentity? {
    let path = checkpointPath
    do {
      guard request.keepsCheckpoint, let text = try CheckpointFile.text(at: path) else {
        try refuseForeignTemporary()
        return nil
      }
      let identity = try Checkpoint(parsing: text, dataSize: 0).identity
      if let difference = request.difference(from: identity) { throw difference }
      return identity
    } catch let error as Checkpoint.ParseError {
      switch error {
      case .unknownVersion(let version):
        throw .unknownFormat(path: path, version: version)
      case .otherKind(let kind):
        throw .differs(field: "kind", checkpoint: kind, request: "download")
      case .damaged(let reason):
        report(.startedOver(reason: "the checkpoint \(path) is damaged: \(reason)"))
        try discard()
        return nil
      }
    } catch {
      throw TransferError(error, path: path)
    }
  }

  /// Refuses to empty a file of the user's that was named as the temporary one.
  private func refuseForeignTemporary() throws {
    guard let path = request.temporary,
      let status = try Disk.status(of: path), status.size > 0
    else { return }
    throw TransferError.invalid(
      "the temporary file \(path) is there already and no checkpoint says what it is"
    )
  }

  /// How an object of `size` bytes is cut.
  func plan(of size: Int) throws(TransferError) -> PartPlan {
    do throws(PartLimits.Violation) {
      return try PartPlan(size: size, partSize: request.partSize, limits: request.limits)
    } catch {
      throw .invalid(error.description)
    }
  }

  func open(_ version: ObjectVersion) throws(TransferError) -> PartFile {
    let identity = CheckpointIdentity(
      store: request.storeName,
      version: version,
      task: request.task
    )
    let paths = PartFile.Paths(
      data: request.temporaryPath,
      checkpoint: request.keepsCheckpoint ? checkpointPath : nil
    )
    do {
      let hasData = try Disk.status(of: paths.data) != nil
      do {
        return try PartFile.open(paths, identity: identity, time: environment.time)
      } catch {
        if !hasData { try? Disk.removeFile(paths.data) }
        throw error
      }
    } catch {
      throw TransferError(error, path: checkpointPath)
    }
  }

  /// Verifies the whole and gives it the target's name.
  func publish(_ file: PartFile, _ metadata: ObjectMetadata) throws(TransferError) {
    do {
      let record = file.record
      let whole = ByteRange(0, metadata.size)
      guard record.recorded.contains(whole) else {
        throw TransferError.invalid("bytes are missing although every part was fetched")
      }
      if let expected = metadata.crc64, let actual = record.wholeChecksum, expected != actual {
        try discard()
        throw TransferError.wrongChecksum(expected: expected, actual: actual)
      }
      try verify(record, in: file)
      try file.truncate(to: metadata.size)
      guard try file.isInPlace() else {
        throw TransferError.invalid(
          "\(request.temporaryPath) was replaced while it was filled; nothing was put in the target's place"
        )
      }
      let old = try Disk.status(of: request.target)
      let permissions = old?.kind == .file ? old?.permissions : nil
      try Disk.setPermissions(
        of: request.temporaryPath,
        permissions ?? (0o666 & ~Disk.creationMask)
      )
      try file.synchronize()
      try Disk.rename(request.temporaryPath, to: request.target)
      try? Disk.synchronizeDirectory(request.targetDirectory)
      if request.keepsCheckpoint { try Disk.removeFile(checkpointPath) }
    } catch {
      throw TransferError(error, path: checkpointPath)
    }
  }

  /// Reads every byte once more, from memory mostly: another program may have written into the file, or
  /// cut it, since its bytes arrived.
  private func verify(_ record: Checkpoint, in file: PartFile) throws {
    for unit in record.units(overlapping: ByteRange(0, file.identity.version.size)) {
      guard try file.isGood(unit) else {
        // With a checkpoint the next try fetches just what is wrong.
        if !request.keepsCheckpoint { try discard() }
        throw TransferError.invalid(
          "\(request.temporaryPath) was changed while it was filled; nothing was put in the target's place"
        )
      }
    }
  }

  ///
  /// - Returns: false if there was nothing.
  @discardableResult
  func discard() throws(TransferError) -> Bool {
    do {
      let hadCheckpoint =
        try request.keepsCheckpoint && Disk.status(of: checkpointPath) != nil
      let hadBytes = try Disk.status(of: request.temporaryPath) != nil
      // The bytes mean nothing without it, so it goes first.
      if request.keepsCheckpoint { try Disk.removeFile(checkpointPath) }
      try Disk.removeFile(request.temporaryPath)
      return hadCheckpoint || hadBytes
    } catch {
      throw TransferError(error, path: checkpointPath)
    }
  }
}

extension FileDownloadRequest {
  /// The first field in which an earlier task is not this one; nil if they agree.
  func difference(from earlier: CheckpointIdentity) -> TransferError? {
    let fields: [(name: String, checkpoint: String?, request: String?)] = [
      ("bucket", earlier.store, storeName),
      ("key", "\(earlier.version.key)", "\(key)"),
    ]
    return TransferError.difference(in: fields + TransferError.taskFields(earlier.task, task))
  }

  /// The directory that holds the target.
  var targetDirectory: String { Self.directory(of: target) }

  /// The directory that holds the file at `path`.
  static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}

extension ObjectVersion {
  /// The same version, asked for by `id`, or as the current one.
  func pinned(to id: String?) -> ObjectVersion {
    ObjectVersion(key: key, etag: etag, size: size, lastModified: lastModified, versionID: id)
  }
}
