package import Core
internal import Support

/// Copies an object on the server: no byte of it passes through this machine.
///
/// One request copies what the store takes at once, else parts are copied side by side, resumable after
/// any interruption. What goes along with the bytes (headers, metadata, tags, storage class) is carried
/// over either way, although a multipart copy doesn't do it by itself. Every request names the version
/// that the task began with, so that two are never mixed. Cancelling the task pauses it; running the
/// same request again resumes.
package struct ObjectCopy: Sendable {
  let request: ObjectCopyRequest
  let source: any ObjectStore
  let target: any ObjectStore
  let environment: TransferEnvironment
  let report: @Sendable (MultipartEvent) -> Void
  let faults: PartFile.DiskFaults?

  /// Creates a copy.
  ///
  /// - Parameters:
  ///   - request: what to copy where.
  ///   - source: the store that has the source, to ask it; the target's own if it is in the same bucket.
  ///   - target: the store that makes the copy.
  ///   - environment: what transfers of this process share.
  ///   - faults: lets steps of the disk fail in tests.
  ///   - report: is called from several threads and must not block.
  package init(
    _ request: ObjectCopyRequest,
    from source: any ObjectStore,
    to target: any ObjectStore,
    in environment: TransferEnvironment,
    faults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) {
    self.request = request
    self.source = source
    self.target = target
    self.environment = environment
    self.faults = faults
    self.report = report
  }

  /// Runs it to the end.
  ///
  /// - Returns: what the store says of the copy.
  /// - Throws: `TransferError`; after all but `.wrongChecksum` the same request goes on where this one
  ///   stopped, and what is at the target's key is as it was.
  package func run() async throws(TransferError) -> StoredObject {
    try await runForFacts().stored
  }

  /// What came of a copy.
  package struct Outcome: Sendable {
    /// What the store says of the copy.
    package var stored: StoredObject
    /// All facts of it; nil if they were not told, as those of a copy in parts aren't.
    package var metadata: ObjectMetadata?
  }

  /// The same as `run`, with what was told of the copy's facts on the way.
  package func runForFacts() async throws(TransferError) -> Outcome {
    try check()
    guard let checkpoint else { return try await copy(nil) }
    return try await checkpoint.whileLocked(on: environment.disk) {
      () async throws(TransferError) in
      let earlier = try await state(checkpoint).open(forcesRestart: request.forcesRestart) {
        request.difference(from: $0)
      }
      return try await copy(earlier)
    }
  }

  /// Gives an earlier try of the request up: its unfinished upload and its checkpoint.
  ///
  /// - Returns: false if there was none.
  @discardableResult
  package func abort() async throws(TransferError) -> Bool {
    guard let checkpoint else { return false }
    return try await checkpoint.whileLocked(on: environment.disk) {
      () async throws(TransferError) -> Bool in
      try await state(checkpoint).abort { request.differenceOfObjects(from: $0) }
    }
  }

  /// What an earlier try has made the object, although its answer never came.
  ///
  /// - Returns: what is at the target's key, if it is what the parts of the checkpoint make.
  /// - Throws: `TransferError` if the checkpoint can't be read or is another task's, or the store can't be asked.
  func completed() async throws(TransferError) -> StoredObject? {
    guard let checkpoint else { return nil }
    return try await checkpoint.whileLocked(on: environment.disk) {
      () async throws(TransferError) in
      let earlier = try await state(checkpoint).open(forcesRestart: false) {
        request.differenceOfObjects(from: $0)
      }
      guard let earlier else { return nil }
      let parts = earlier.parts.values.sorted { $0.partNumber < $1.partNumber }
      guard parts.reduce(0, { $0 + ($1.size ?? 0) }) == earlier.identity.version.size else {
        return nil
      }
      return try await steps(PutRequest(key: request.targetKey)).completed(parts, crc64: nil)
    }
  }

  /// Where the checkpoint lies; nil if none is kept.
  package var checkpointPath: String? { checkpoint?.path }

  private var checkpoint: TaskCheckpoint? {
    request.checkpoint.map { named in
      TaskCheckpoint(
        at: named,
        naming: [
          Array("copy".utf8), Array(request.sourceStoreName.utf8), request.sourceKey.bytes,
          Array((request.versionID ?? "").utf8), Array(request.targetStoreName.utf8),
          request.targetKey.bytes,
        ],
        holder: "a copy of \(request.sourceKey) to \(request.targetKey)"
      )
    }
  }

  private func state(_ checkpoint: TaskCheckpoint) -> UploadTaskState {
    UploadTaskState(
      checkpoint: checkpoint,
      steps: steps(PutRequest(key: request.targetKey)),
      storeName: request.targetStoreName
    )
  }

  func steps(_ put: PutRequest) -> MultipartSteps {
    MultipartSteps(
      store: target,
      request: put,
      retryCountMax: request.retryCountMax,
      retryPatience: request.retryPatience,
      environment: environment,
      report: report
    )
  }

  /// Refuses what makes no sense, before anything is asked or touched.
  private func check() throws(TransferError) {
    do throws(PartLimits.Violation) {
      _ = try request.limits.partSize(request.partSize)
    } catch {
      throw .invalid(error.description)
    }
    guard request.changesAnything else {
      throw .invalid(
        "\(request.sourceKey) can't be copied onto itself: the source and the target are the same object"
      )
    }
  }

  private func copy(_ earlier: UploadCheckpoint?) async throws(TransferError) -> Outcome {
    let found = try await head(earlier)
    let method: CopyMethod
    do throws(PartLimits.Violation) {
      method = try CopyMethod(
        size: found.size,
        partSize: request.partSize,
        wholeSizeMax: earlier == nil ? request.wholeSizeMax : 0,
        singleRequestSizeMax: target.capabilities.singleRequestSizeMax,
        limits: request.limits
      )
    } catch {
      throw .invalid(error.description)
    }
    var outcome: Outcome
    switch method {
    case .whole:
      // The store carries over what is to be carried.
      let put = targetRequest(found, tags: [:])
      let metadata = try await copyWhole(found, put)
      outcome = Outcome(stored: StoredObject(metadata), metadata: metadata)
    case .parts(let plan):
      let isCarried = request.facts == .carried && request.tags == nil
      let put = targetRequest(found, tags: isCarried ? try await tags(of: found) : [:])
      outcome = Outcome(stored: try await copyParts(found, put, plan, earlier))
    }
    report(.completed(outcome.stored))
    return outcome
  }

  /// Asks what there is to copy.
  private func head(_ earlier: UploadCheckpoint?) async throws(TransferError) -> ObjectMetadata {
    var metadata: ObjectMetadata
    if let known = request.known, earlier == nil { return known }
    do throws(StoreError) {
      metadata = try await source.head(
        request.sourceKey,
        versionID: request.versionID,
        conditions: request.conditions,
        context: steps(PutRequest(key: request.targetKey)).context()
      )
    } catch {
      if let earlier {
        if error.kind == .preconditionFailed {
          throw .sourceChanged(was: earlier.identity.version, isNow: nil)
        }
        if error.kind == .notFound, let checkpoint {
          // Nothing can come of its upload. If the store can't be asked, the checkpoint stays.
          try? await state(checkpoint).clear(earlier)
        }
      }
      throw TransferError(error)
    }
    metadata.version = metadata.version.pinned(to: request.versionID)
    if let earlier, !earlier.identity.version.isSameContent(as: metadata.version) {
      throw .sourceChanged(was: earlier.identity.version, isNow: metadata.version)
    }
    return metadata
  }

  /// What the copy is created with; `tags` are the source's.
  private func targetRequest(_ found: ObjectMetadata, tags: [String: String]) -> PutRequest {
    var put = PutRequest(key: request.targetKey, like: found, condition: request.condition)
    if let replacement = request.replacement {
      put = replacement
      put.storageClass = found.storageClass
    } else {
      put.tags = request.tags ?? tags
    }
    if let storageClass = request.storageClass { put.storageClass = storageClass }
    return put
  }

  /// The source's tags, if it has any.
  private func tags(of found: ObjectMetadata) async throws(TransferError) -> [String: String] {
    guard source.capabilities.hasTags, found.tagCount != 0 else { return [:] }
    do throws(StoreError) {
      return try await source.tags(
        of: request.sourceKey,
        versionID: request.versionID,
        context: steps(PutRequest(key: request.targetKey)).context()
      )
    } catch {
      // A store that has no tags has lost none.
      if error.kind == .unsupported { return [:] }
      throw TransferError(error)
    }
  }
}

extension ObjectCopyRequest {
  /// False if the copy would put an object in its own place, as it is.
  fileprivate var changesAnything: Bool {
    guard sourceStoreName == targetStoreName, sourceKey == targetKey else { return true }
    return versionID != nil || facts != .carried || storageClass != nil || tags != nil
      || storageTask["acl"] != nil || storageTask["sse"] != nil
  }
}
