package import Core
internal import Support
package import Transfer

/// An object that is read without a cache, because its disk can't be used or its store gives no tag to
/// know its versions by.
///
/// Each read is one request for exactly its bytes, into memory that counts against the budget.
package final class UncachedObject: CachedObject {
  private struct State {
    var fetches: [WaitID: MemoryFetch] = [:]
    var changed: FetchError?
    var isClosed = false
  }

  package let version: ObjectVersion
  private let store: any ObjectStore
  private let environment: TransferEnvironment
  private let settings: DownloadSettings
  private let state = Lock(State())
  private let waits: WaitList

  /// Creates the object.
  package init(
    _ version: ObjectVersion,
    from store: any ObjectStore,
    in environment: TransferEnvironment,
    settings: DownloadSettings = DownloadSettings()
  ) {
    self.version = version
    self.store = store
    self.environment = environment
    self.settings = settings
    waits = WaitList(
      patience: settings.operationDeadline,
      timers: environment.timers,
      time: environment.time
    )
    waits.whenExpired { [weak self] id, waiter in
      self?.stop(id)
      waiter.failed(.deadline("the bytes did not arrive in time, read without a cache"))
    }
  }

  package var cachedByteCount: Int { 0 }

  package func read(
    _ range: ByteRange,
    plan: FetchPlan,
    makeWaiter: () -> (any ReadWaiter)?
  ) -> ReadStart {
    let refusal = state.withLock { $0.changed ?? ($0.isClosed ? .cancelled : nil) }
    if let refusal { return .failed(refusal) }
    guard let waiter = makeWaiter() else { return .failed(.cancelled) }
    environment.metrics.read(range.count, isHit: false)
    let id = waits.add(waiter)
    let fetch = MemoryFetch(version, range)
    state.withLock { $0.fetches[id] = fetch }
    fetch.launch(from: store, in: environment, settings: settings) { [self] result in
      state.withLock { state in
        state.fetches[id] = nil
        if case .failure(let error) = result, case .changed = error { state.changed = error }
      }
      let waiter = waits.take(id)
      switch result {
      case .success(let bytes): waiter?.served(bytes)
      case .failure(let error): waiter?.failed(error)
      }
    }
    return .waiting(id)
  }

  package func prefetch(_ plan: FetchPlan) {}

  package func cancel(_ wait: WaitID) {
    let waiter = waits.take(wait)
    stop(wait)
    waiter?.failed(.cancelled)
  }

  package func abandonPrefetch(of ranges: [ByteRange]) {}

  private func stop(_ id: WaitID) {
    state.withLock { $0.fetches[id] }?.cancel()
  }
}
