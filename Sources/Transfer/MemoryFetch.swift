package import Core
internal import Support

/// Fetches bytes into memory, for a reader whose disk can't take them.
///
/// Its memory counts against the budget from its turn until the bytes have been handed over.
package final class MemoryFetch: BodySink {
  private struct State {
    var bytes: [UInt8] = []
    var slot: FetchSlot?
    var task: Task<Void, Never>?
    var isCancelled = false
  }

  private let version: ObjectVersion
  private let range: ByteRange
  private let state = Lock(State())

  /// Creates a fetch of `range` of `version`.
  package init(_ version: ObjectVersion, _ range: ByteRange) {
    self.version = version
    self.range = range
  }

  /// Starts it; `completion` is called once, with all bytes or the reason why not.
  package func launch(
    from store: any ObjectStore,
    in environment: TransferEnvironment,
    settings: DownloadSettings,
    completion: @escaping @Sendable (Result<[UInt8], FetchError>) -> Void
  ) {
    let slot = environment.scheduler.line(isUrgent: true, byteCount: range.count)
    state.withLock { $0.slot = slot }
    let task = Task.immediate {
      let result: Result<[UInt8], FetchError>
      if await slot.wait() {
        let deadline = environment.time.now + settings.flightDeadline
        result = await self.fetch(
          from: store,
          RequestContext(deadline: deadline, retryCountMax: settings.retryCountMax)
        )
      } else {
        result = .failure(.cancelled)
      }
      completion(result)
      slot.leave()
    }
    let isLate = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isLate { cancel() }
  }

  /// Gives it up.
  package func cancel() {
    let (slot, task) = state.withLock { state in
      state.isCancelled = true
      return (state.slot, state.task)
    }
    slot?.giveUpWaiting()
    task?.cancel()
  }

  package func receive(_ bytes: RawSpan, at offset: Int) {
    state.withLock { state in
      if state.bytes.isEmpty { state.bytes.reserveCapacity(range.count) }
      bytes.withUnsafeBytes { state.bytes.append(contentsOf: $0) }
    }
  }

  private func fetch(
    from store: any ObjectStore,
    _ context: RequestContext
  ) async -> Result<[UInt8], FetchError> {
    do throws(StoreError) {
      _ = try await store.get(
        GetRequest(version: version, range: range),
        into: self,
        context: context
      )
    } catch {
      return .failure(FetchError(error))
    }
    let bytes = state.withLock { state in
      defer { state.bytes = [] }
      return state.bytes
    }
    guard bytes.count == range.count else {
      return .failure(.store(.endedShort(of: range)))
    }
    return .success(bytes)
  }
}

extension FetchError {
  /// What a failure of the store means to who wanted bytes of one version.
  package init(_ error: StoreError) {
    switch error.kind {
    // An object that is gone is no longer the version either.
    case .preconditionFailed, .notFound: self = .changed(error)
    case .cancelled: self = .cancelled
    case .noSuchBucket, .noSuchUpload, .accessDenied, .badCredentials, .alreadyExists, .archived,
      .rangeNotSatisfiable, .throttled, .serverFailure, .unreachable, .untrusted, .timedOut,
      .invalidAnswer, .wrongRegion, .unsupported, .conflict, .tooLarge, .invalidRequest,
      .sinkRefused, .offline:
      self = .store(error)
    }
  }
}
