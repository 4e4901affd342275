package import Core
package import Support

/// Makes a draft the object at its key: by one request, by a copy at the store, or by a multipart upload
/// that sends what is new and has the store copy what isn't.
///
/// Other clients see the old object or the new one. Bodies are sent from files, never loaded. A multipart
/// upload goes on after any interruption as long as the draft is what it was. Where the store doesn't look
/// at conditions, the target is looked at just before.
package struct ObjectPublishing: Sendable {
  /// Returns an open file that has the bytes of a range of the draft at their own offsets; nothing may
  /// change them until the publishing has ended.
  package typealias Bytes = @Sendable (ByteRange) async throws(TransferError) -> FileDescriptor

  let request: PublishRequest
  let bytes: Bytes
  let store: any ObjectStore
  let environment: TransferEnvironment
  let report: @Sendable (MultipartEvent) -> Void
  let faults: PartFile.DiskFaults?

  /// Creates a publishing.
  ///
  /// - Parameters:
  ///   - request: what is to become what.
  ///   - bytes: where the draft's bytes are.
  ///   - store: where it goes.
  ///   - environment: what transfers of this process share.
  ///   - faults: lets steps of the disk fail in tests.
  ///   - report: is called from several threads and must not block.
  package init(
    _ request: PublishRequest,
    bytes: @escaping Bytes,
    to store: any ObjectStore,
    in environment: TransferEnvironment,
    faults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) {
    self.request = request
    self.bytes = bytes
    self.store = store
    self.environment = environment
    self.faults = faults
    self.report = report
  }

  /// Runs it to the end.
  ///
  /// - Parameter early: the upload in which parts have been sent while the draft was written.
  /// - Returns: what the store says of the object; nil if the plan has nothing to do.
  /// - Throws: `TransferError`: `.targetChanged` if the condition doesn't hold, `.sourceChanged` if an
  ///   object that is copied from is not what it was.
  package func run(_ early: UploadCheckpoint? = nil) async throws(TransferError) -> StoredObject? {
    do throws(TransferError) {
      return try await publish(request.target.condition, early)
    } catch {
      // The store has just said that it knows no conditions; now it is known not to.
      guard case .store(let failure) = error, failure.kind == .unsupported,
        request.target.condition != .none, !obeys(request.target.condition)
      else { throw error }
      return try await publish(request.target.condition, nil)
    }
  }

  /// Gives up the upload that a checkpoint tells of, and forgets it only then.
  package static func abandon(
    _ checkpointPath: String,
    at store: any ObjectStore,
    in environment: TransferEnvironment
  ) async throws(TransferError) {
    guard let earlier = try await earlier(checkpointPath, environment) else { return }
    let steps = MultipartSteps(
      store: store,
      request: PutRequest(key: earlier.upload.reference.key),
      retryCountMax: nil,
      environment: environment,
      report: { _ in }
    )
    try await steps.giveUp(earlier.upload.reference)
    try await onDisk(environment) { () throws(DiskFailure) in try Disk.removeFile(checkpointPath) }
  }

  private func publish(
    _ condition: WriteCondition,
    _ early: UploadCheckpoint?
  ) async throws(TransferError) -> StoredObject? {
    let isObeyed = obeys(condition)
    if !isObeyed { try await checkTarget(condition) }
    let steps = steps(isObeyed ? condition : .none)
    do throws(TransferError) {
      switch request.plan {
      case .nothing: return nil
      case .put:
        try await abandon()
        return try await put(steps)
      case .copy(let version):
        try await abandon()
        if !request.needsCopy, version.key == request.target.key,
          store.capabilities.hasInPlaceMetadata
        {
          return try await replaceFacts(of: version, steps)
        }
        return try await copy(version, steps.request)
      case .parts(let parts):
        return try await upload(parts, steps, early) { () async throws(TransferError) in
          if !isObeyed { try await checkTarget(condition) }
        }
      }
    } catch {
      // S3 says so of an object that was to be replaced.
      if case .store(let failure) = error, failure.kind == .notFound, condition.namesVersion {
        throw .targetChanged(failure)
      }
      throw error
    }
  }

  func steps(_ condition: WriteCondition) -> MultipartSteps {
    var target = request.target
    target.condition = condition
    return MultipartSteps(
      store: store,
      request: target,
      retryCountMax: request.retryCountMax,
      retryPatience: request.retryPatience,
      environment: environment,
      report: report
    )
  }

  /// Whether the store looks at a condition, as far as is known; where it isn't, it is tried.
  private func obeys(_ condition: WriteCondition) -> Bool {
    let capabilities = store.capabilities
    if case .parts = request.plan, capabilities.hasConditionalComplete == false { return false }
    switch condition {
    case .none: return true
    case .ifAbsent: return capabilities.hasConditionalCreate ?? true
    case .ifMatch: return capabilities.hasConditionalReplace ?? true
    }
  }

  /// The nearest there is where the store doesn't look at conditions: another's write between this and ours
  /// is not noticed.
  private func checkTarget(_ condition: WriteCondition) async throws(TransferError) {
    let key = request.target.key
    do throws(StoreError) {
      let found = try await store.head(
        key,
        versionID: nil,
        ifMatch: nil,
        context: steps(.none).context()
      )
      switch condition {
      case .none: return
      case .ifMatch(let etag) where found.version.etag == etag: return
      case .ifMatch:
        throw StoreError(.preconditionFailed, .headObject, key: key, message: "it was replaced")
      case .ifAbsent:
        throw StoreError(.alreadyExists, .headObject, key: key, message: "there is an object")
      }
    } catch {
      if error.kind == .notFound, !condition.namesVersion { return }
      if error.isRefusedCondition || error.kind == .notFound { throw .targetChanged(error) }
      throw TransferError(error)
    }
  }

  /// Sends all in one request.
  private func put(_ steps: MultipartSteps) async throws(TransferError) -> StoredObject {
    let range = ByteRange(0, request.draft.size)
    guard !range.isEmpty else {
      return try await steps.putWhole(.empty) {
        (kinds) throws(TransferError) in PartChecksums.of([], kinds)
      }
    }
    let file = try await bytes(range)
    return try await steps.putWhole(.file(descriptor: file.number, range: range)) {
      (kinds) async throws(TransferError) in try await checksums(range, of: file, kinds)
    }
  }

  /// Gives an object other headers and user metadata where it is.
  private func replaceFacts(
    of version: ObjectVersion,
    _ steps: MultipartSteps
  ) async throws(TransferError) -> StoredObject {
    // The call itself looks at no condition.
    try await checkTarget(request.target.condition)
    do throws(StoreError) {
      try await store.replaceMetadata(steps.request, context: steps.context())
    } catch {
      throw steps.failure(error)
    }
    return StoredObject(key: version.key, size: version.size, etag: version.etag)
  }

  /// The draft's facts and those of the object that it is a copy of (C4).
  ///
  /// Bytes that are served as compressed, say, must go on to be. What the draft has of its own counts
  /// more; but a media type that only the name tells is less than what the object says.
  private func joined(
    _ target: PutRequest,
    with version: ObjectVersion
  ) async throws(TransferError) -> (facts: PutRequest, found: ObjectMetadata?) {
    let context = steps(.none).context()
    do throws(StoreError) {
      let found = try await store.head(
        version.key,
        versionID: version.versionID,
        ifMatch: version.etag,
        context: context
      )
      var joined = target
      joined.headers = found.headers
      joined.headers.contentType = found.headers.contentType ?? target.headers.contentType
      joined.userMetadata.merge(found.userMetadata ?? [:]) { own, _ in own }
      if store.capabilities.hasTags, found.tagCount != 0 {
        let tags = try await store.tags(
          of: version.key,
          versionID: version.versionID,
          context: context
        )
        // Those of its own are what the mount gives to whatever is new.
        if !tags.isEmpty { joined.tags = tags }
      }
      return (joined, found)
    } catch {
      if error.kind == .unsupported { return (target, nil) }
      let isGone = error.kind == .preconditionFailed || error.kind == .notFound
      throw isGone ? .sourceChanged(was: version, isNow: nil) : TransferError(error)
    }
  }

  /// Has the store copy a whole object, with the draft's facts.
  private func copy(
    _ version: ObjectVersion,
    _ target: PutRequest
  ) async throws(TransferError) -> StoredObject {
    var copy = ObjectCopyRequest(
      from: version.key,
      of: request.storeName,
      to: target.key,
      of: request.storeName
    )
    copy.versionID = version.versionID
    copy.conditions.ifMatch = version.etag
    copy.condition = target.condition
    copy.storageClass = target.storageClass
    var facts = target
    if version.key != target.key {
      (facts, copy.known) = try await joined(target, with: version)
    }
    copy.facts = .replaced(facts.headers, userMetadata: facts.userMetadata, tags: facts.tags)
    copy.parallel = request.parallel
    copy.retryCountMax = request.retryCountMax
    copy.retryPatience = request.retryPatience
    do throws(TransferError) {
      return try await ObjectCopy(copy, from: store, to: store, in: environment, report: report)
        .run()
    } catch {
      guard case .store(let failure) = error, failure.kind == .preconditionFailed else {
        throw error
      }
      throw .sourceChanged(was: version, isNow: nil)
    }
  }

  func checksums(
    _ range: ByteRange,
    of file: FileDescriptor,
    _ kinds: ChecksumKinds
  ) async throws(TransferError) -> PartChecksums {
    let sums = try await Self.onDisk(environment) { () throws(DiskFailure) in
      try PartChecksums.of(range, in: file, kinds)
    }
    guard let sums else {
      // EIO.
      let reason = "the file ends before byte \(range.upperBound)"
      throw .disk(DiskFailure(errno: 5, action: "read \(request.target.key)", reason: reason))
    }
    return sums
  }

  static func onDisk<Answer: Sendable>(
    _ environment: TransferEnvironment,
    _ body: @escaping @Sendable () throws(DiskFailure) -> Answer
  ) async throws(TransferError) -> Answer {
    do throws(DiskFailure) { return try await environment.disk.run(body) } catch {
      throw .disk(error)
    }
  }
}
