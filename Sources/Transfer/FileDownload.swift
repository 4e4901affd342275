package import Core
internal import Crypto
internal import Support

/// Downloads an object into a file: in parallel parts, resumable after any interruption, verified as a
/// whole, and put in the target's place in one step.
///
/// The same machinery as a read through a mount: a part file with a checkpoint, filled by a `Download`.
/// Cancelling the task pauses it; running the same request again resumes.
package struct FileDownload: Sendable {
  let request: FileDownloadRequest
  let store: any ObjectStore
  let environment: TransferEnvironment
  let report: @Sendable (FileDownloadEvent) -> Void

  /// How often progress is reported.
  private static let progressInterval = Duration.milliseconds(200)
  /// How long one try for the object's head may take.
  private static let headDeadline = Duration.seconds(60)

  /// Creates a download; `report` is called from several threads and must not block.
  package init(
    _ request: FileDownloadRequest,
    from store: any ObjectStore,
    in environment: TransferEnvironment,
    report: @escaping @Sendable (FileDownloadEvent) -> Void = { _ in }
  ) {
    self.request = request
    self.store = store
    self.environment = environment
    self.report = report
  }

  /// Where the checkpoint lies.
  package var checkpointPath: String {
    guard let path = request.checkpoint else { return request.usualCheckpoint }
    return TaskCheckpoint.path(
      at: path,
      naming: [Array(request.storeName.utf8), Array(request.target.utf8), request.key.bytes]
    )
  }

  /// Runs it to the end.
  ///
  /// - Returns: what the store says of the object that the file now holds.
  /// - Throws: `TransferError`; after all but `.wrongChecksum` the same request goes on where this one
  ///   stopped. An existing target is as it was.
  package func run() async throws(TransferError) -> ObjectMetadata {
    let locks = try await onDisk { () throws(TransferError) in try prepare() }
    defer { release(locks) }
    let metadata = try await runLocked()
    report(.finished(path: request.target, StoredObject(metadata)))
    return metadata
  }

  private func runLocked() async throws(TransferError) -> ObjectMetadata {
    let earlier = try await onDisk { () throws(TransferError) in try readEarlier() }
    let metadata = try await head(earlier)
    if metadata.size == 0 { try await checkEmpty(metadata) }
    let plan = try plan(of: metadata.size)
    let file: PartFile
    do throws(TransferError) {
      file = try await onDisk { () throws(TransferError) in try open(metadata.version) }
    } catch {
      report(.temporaryFailed(path: request.temporaryPath, error))
      throw error
    }
    report(.createdTemporary(path: request.temporaryPath))
    var settings = DownloadSettings()
    settings.operationDeadline = nil
    // A part may be 5 GiB on a slow line; what a store that stalls costs is the transport's business.
    settings.flightDeadline = .seconds(24 * 3600)
    settings.retryCountMax = request.retryCountMax
    settings.readsUncached = false
    // The store counts the retries; beginning a part again would be one more that nobody counts.
    settings.limits.restartsFlights = request.retryCountMax == nil
    let download = Download(file, from: store, in: environment, settings: settings)
    let failure = await withTaskCancellationHandler {
      await fill(download, plan)
    } onCancel: {
      download.stop()
    }
    if let failure {
      // Without a checkpoint nothing of it can be used again.
      let isOfNoUse = failure.isSourceGone || !request.keepsCheckpoint
      if isOfNoUse { try? await onDisk { _ = try? discard() } }
      throw failure
    }
    do throws(TransferError) {
      try await onDisk { () throws(TransferError) in try publish(file, metadata) }
    } catch {
      report(.renameFailed(path: request.target, error))
      throw error
    }
    return metadata
  }

  /// Gives an earlier try of the request up: removes its bytes and its checkpoint.
  ///
  /// - Returns: false if there was nothing to give up.
  @discardableResult
  package func abort() async throws(TransferError) -> Bool {
    try await onDisk { () throws(TransferError) in
      let locks = try prepare()
      defer { release(locks) }
      return try discard()
    }
  }

  private func head(
    _ earlier: CheckpointIdentity?
  ) async throws(TransferError) -> ObjectMetadata {
    var metadata: ObjectMetadata
    do throws(StoreError) {
      metadata = try await store.head(
        request.key,
        versionID: request.versionID,
        conditions: request.conditions,
        context: RequestContext(
          deadline: environment.time.now + Self.headDeadline,
          retryCountMax: request.retryCountMax
        )
      )
    } catch {
      if let earlier {
        if error.kind == .preconditionFailed {
          throw .sourceChanged(was: earlier.version, isNow: nil)
        }
        // What is left of it can't be gone on with.
        if error.kind == .notFound { try? await onDisk { _ = try? discard() } }
      }
      throw TransferError(error)
    }
    metadata.version = metadata.version.pinned(to: request.versionID)
    if let earlier, !earlier.version.isSameContent(as: metadata.version) {
      throw .sourceChanged(was: earlier.version, isNow: metadata.version)
    }
    return metadata
  }

  /// Asks for the first byte of an object that HEAD says has none: bytes that don't come would be missed by
  /// nobody.
  private func checkEmpty(_ metadata: ObjectMetadata) async throws(TransferError) {
    do throws(StoreError) {
      try await store.checkEmpty(
        metadata,
        context: RequestContext(
          deadline: environment.time.now + Self.headDeadline,
          retryCountMax: request.retryCountMax
        )
      )
    } catch {
      if error.kind == .preconditionFailed {
        throw .sourceChanged(was: metadata.version, isNow: nil)
      }
      throw TransferError(error)
    }
  }

  /// Verifies what is there and fetches the rest, some parts at a time.
  ///
  /// - Returns: why not all of it is there; nil if it is.
  private func fill(_ download: Download, _ plan: PartPlan) async -> TransferError? {
    let whole = ByteRange(0, download.version.size)
    await environment.disk.run { _ = download.verify(whole) }
    let present = download.progress.present
    report(
      .started(download.version, partCount: plan.count, presentByteCount: download.cachedByteCount)
    )
    let missing = plan.numbers.filter { !present.contains(plan.range(ofPart: $0)) }
    let failure = await fetch(missing, plan, of: download)
    await download.settled()
    report(.progressed(byteCount: download.cachedByteCount, size: download.version.size))
    return switch failure {
    case nil: Task.isCancelled ? .paused : nil
    case .cancelled: .paused
    case .changed(let cause?) where cause.kind == .notFound: .store(cause)
    case .changed: .sourceChanged(was: download.version, isNow: nil)
    case .disk(let failure): .disk(failure)
    case .some(let error): .fetch(error)
    }
  }

  /// Fetches parts, so many at a time; after a failure none is begun any more.
  private func fetch(
    _ numbers: [Int],
    _ plan: PartPlan,
    of download: Download
  ) async -> FetchError? {
    enum Ended {
      case part(FetchError?)
      case reporting
    }
    return await withTaskGroup(of: Ended.self) { group in
      group.addTask {
        await reportProgress(of: download)
        return .reporting
      }
      let parallel = PartLimits.parallel(request.parallel)
      var next = numbers.makeIterator()
      var running = 0
      var first: FetchError?
      while true {
        while first == nil, running < parallel, let number = next.next() {
          let range = plan.range(ofPart: number)
          group.addTask { .part(await fetch(number, range, of: download)) }
          running += 1
        }
        guard running > 0, let ended = await group.next() else { break }
        guard case .part(let failure) = ended else { continue }
        running -= 1
        if let failure, first == nil {
          first = failure
          // What the others have brought is recorded.
          download.stop()
        }
      }
      group.cancelAll()
      return first
    }
  }

  private func fetch(
    _ number: Int,
    _ part: ByteRange,
    of download: Download
  ) async -> FetchError? {
    let outcome = await withUnsafeContinuation { continuation in
      let waiter = PartWaiter(continuation)
      switch download.read(part, plan: FetchPlan(demand: [part]), makeWaiter: { waiter }) {
      case .ready(let descriptor): waiter.served(from: descriptor)
      case .waiting: break
      case .failed(let error): waiter.failed(error)
      }
    }
    switch outcome {
    case nil: report(.partFinished(number, part))
    case .cancelled: report(.partAborted(number, part))
    case .some(let error): report(.partFailed(number, part, error))
    }
    return outcome
  }

  /// Reports until it is cancelled.
  private func reportProgress(of download: Download) async {
    while !Task.isCancelled {
      report(.progressed(byteCount: download.cachedByteCount, size: download.version.size))
      await environment.timers.sleep(until: environment.time.now + Self.progressInterval)
    }
  }
}

/// Lets a task wait for a part.
private final class PartWaiter: ReadWaiter {
  private let continuation: UnsafeContinuation<FetchError?, Never>

  init(_ continuation: UnsafeContinuation<FetchError?, Never>) {
    self.continuation = continuation
  }

  func served(from descriptor: Int32) { continuation.resume(returning: nil) }
  func served(_ bytes: [UInt8]) { continuation.resume(returning: nil) }
  func failed(_ error: FetchError) { continuation.resume(returning: error) }
}
