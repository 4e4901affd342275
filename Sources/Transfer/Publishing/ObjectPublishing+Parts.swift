internal import Core
internal import Support

extension ObjectPublishing {
  /// How long the store may take to copy a part: a silent store, and 1 MiB a second for the bytes.
  private static func patience(_ byteCount: Int) -> Duration {
    .seconds(120 + (byteCount >> 20))
  }

  /// Puts the object together from parts.
  func upload(
    _ parts: [PublishPart],
    _ steps: MultipartSteps,
    _ early: UploadCheckpoint?,
    checkTarget: @escaping @Sendable () async throws(TransferError) -> Void
  ) async throws(TransferError) -> StoredObject {
    let earlier: UploadCheckpoint? =
      if let early { early } else { try await continued() }
    let proof = PartProof(store.capabilities)
    let versions = Set(parts.compactMap(\.copied))
    let task = MultipartTask(
      steps: steps,
      plan: PartPlan(tiling: parts.map(\.range)),
      identity: request.identity,
      storeName: request.storeName,
      checkpointPath: request.checkpointPath,
      isCheckpointDispensable: true,
      parallel: PartLimits.parallel(request.parallel),
      crc64: nil,
      faults: faults,
      send: { (upload, number, range) async throws(TransferError) in
        switch parts[number - 1].source {
        case .upload: try await send(range, as: number, of: upload, steps, proof)
        case .copy(let version, let offset):
          try await copy(version, offset, range.count, as: number, of: upload, steps)
        }
      },
      checkSource: { () async throws(TransferError) in
        for version in versions { try await checkUnchanged(version, steps) }
        try await checkTarget()
      }
    )
    do throws(TransferError) {
      return try await task.run(earlier)
    } catch {
      if error.isConflict {
        // Nothing can come of its upload. If the store can't be asked, the checkpoint stays.
        try? await Shielded.run { () async throws(TransferError) in try await abandon() }
      }
      throw error
    }
  }

  /// Gives up what an earlier try has left that this one doesn't go on with.
  func abandon() async throws(TransferError) {
    guard let path = request.checkpointPath else { return }
    try await Self.abandon(path, at: store, in: environment)
  }

  /// Reads what an interrupted try has left.
  ///
  /// A text that can't be read is moved beside its place: it may name an upload.
  static func earlier(
    _ path: String,
    _ environment: TransferEnvironment
  ) async throws(TransferError) -> UploadCheckpoint? {
    try await environment.disk.run { () throws(TransferError) in
      do {
        return try CheckpointFile.text(at: path).map { try UploadCheckpoint(parsing: $0) }
      } catch Checkpoint.ParseError.unknownVersion(let version) {
        throw TransferError.unknownFormat(path: path, version: version)
      } catch let error as Checkpoint.ParseError {
        environment.log.write(
          .warning,
          "the checkpoint of an upload is damaged and set aside; the upload may be left at the store: "
            + "\(error)",
          ["file": path]
        )
        do throws(DiskFailure) {
          try Disk.rename(path, to: path + ".damaged")
        } catch {
          throw .disk(error)
        }
        return nil
      } catch {
        throw TransferError(error, path: path)
      }
    }
  }

  private func continued() async throws(TransferError) -> UploadCheckpoint? {
    guard let path = request.checkpointPath,
      let earlier = try await Self.earlier(path, environment)
    else { return nil }
    if request.continues(earlier) { return earlier }
    try await abandon()
    return nil
  }

  private func send(
    _ range: ByteRange,
    as number: Int,
    of upload: UploadReference,
    _ steps: MultipartSteps,
    _ proof: PartProof
  ) async throws(TransferError) -> UploadedPart {
    let file = try await bytes(range)
    return try await steps.uploadPart(
      number,
      of: upload,
      .file(descriptor: file.number, range: range),
      proof
    ) { (kinds) async throws(TransferError) in try await checksums(range, of: file, kinds) }
  }

  private func copy(
    _ version: ObjectVersion,
    _ offset: Int,
    _ count: Int,
    as number: Int,
    of upload: UploadReference,
    _ steps: MultipartSteps
  ) async throws(TransferError) -> UploadedPart {
    do throws(StoreError) {
      return try await store.uploadPartCopy(
        upload,
        partNumber: number,
        source: CopySource(version),
        range: ByteRange(offset: offset, count: count),
        context: steps.context(Self.patience(count))
      )
    } catch {
      let isGone = error.kind == .preconditionFailed || error.kind == .notFound
      throw isGone ? .sourceChanged(was: version, isNow: nil) : TransferError(error)
    }
  }

  /// Asks once more when all parts are there: not every store looks at the condition of a part.
  private func checkUnchanged(
    _ version: ObjectVersion,
    _ steps: MultipartSteps
  ) async throws(TransferError) {
    do throws(StoreError) {
      let now = try await store.head(
        version.key,
        versionID: version.versionID,
        ifMatch: nil,
        context: steps.context()
      )
      let found = now.version.pinned(to: version.versionID)
      guard version.isSameContent(as: found) else {
        throw StoreError(.preconditionFailed, .headObject, key: version.key, message: "replaced")
      }
    } catch {
      let isGone = error.kind == .preconditionFailed || error.kind == .notFound
      throw isGone ? .sourceChanged(was: version, isNow: nil) : TransferError(error)
    }
  }
}

extension TransferError {
  /// The target, or an object that is copied from, is not what it was.
  fileprivate var isConflict: Bool {
    switch self {
    case .targetChanged, .sourceChanged, .fetch(.changed): true
    case .fetch(.store(let error)): error.kind == .notFound
    default: false
    }
  }
}

extension PublishPart {
  /// The version that it is copied from.
  fileprivate var copied: ObjectVersion? {
    if case .copy(let version, _) = source { version } else { nil }
  }
}

extension CopySource {
  /// The object that the store copies from, if it is this version.
  fileprivate init(_ version: ObjectVersion) {
    self.init(key: version.key, versionID: version.versionID, ifMatch: version.etag)
    // A tag says all; without one the time must do.
    if version.etag == nil { conditions.ifUnmodifiedSince = version.lastModified }
  }
}
