package import Core
internal import Support

/// The bytes of one object version: a part file, the flights that fill it, and those who wait.
///
/// The shell around `DownloadMachine`: what is decided under the lock is done outside it. A read that
/// hits is a look under the lock and nothing else. Flights keep the download alive until they have
/// landed. `close` ends it; merely dropped, its flights go on to their end.
package final class Download: CachedObject {
  struct State {
    var machine: DownloadMachine
    /// Launched and not yet landed, whether or not the machine still knows them.
    var flights: [DownloadMachine.FlightID: Flight] = [:]
    var memoryFetches: [WaitID: MemoryFetch] = [:]
    var lastError: StoreError?
    /// Until when the disk is not tried.
    var diskRetry: Instant?
    /// Why.
    var diskFailure: DiskFailure?
    /// It was said already that ranges can't be recorded.
    var isRecordFailureLogged = false
    var isClosed = false
    /// The observer knows that every byte is there.
    var isKnownWhole = false
    var landings: [Gate] = []
  }

  package let version: ObjectVersion
  /// Where its bytes are.
  package let file: PartFile
  /// How it behaves.
  package let settings: DownloadSettings
  let store: any ObjectStore
  let environment: TransferEnvironment
  let state: Lock<State>
  let waits: WaitList
  let observer: any DownloadObserver
  /// Units that some thread is verifying, by their offsets; others wait rather than read them too.
  private let verifying = Monitor(Set<Int>())

  /// Creates the download of `file`'s object from `store`; `isVerified` if what its checkpoint lists has
  /// been verified in this process already.
  package init(
    _ file: PartFile,
    from store: any ObjectStore,
    in environment: TransferEnvironment,
    settings: DownloadSettings = DownloadSettings(),
    isVerified: Bool = false,
    observer: any DownloadObserver = UnobservedDownload()
  ) {
    self.file = file
    self.store = store
    self.environment = environment
    self.settings = settings
    self.observer = observer
    version = file.identity.version
    var machine = DownloadMachine(
      size: file.identity.version.size,
      recorded: file.loaded,
      limits: settings.limits
    )
    if isVerified {
      for range in file.loaded.ranges { machine.verified(range) }
    }
    state = Lock(State(machine: machine))
    waits = WaitList(
      patience: settings.operationDeadline,
      timers: environment.timers,
      time: environment.time
    )
    waits.whenExpired { [weak self] id, waiter in self?.expired(id, waiter) }
  }

  package var cachedByteCount: Int { state.withLock { $0.machine.cachedByteCount } }

  package var link: Link? { environment.scheduler.link }

  /// What is on disk, verified or not, what is on its way, and what is neither.
  package var map: CacheMap {
    let (present, flights) = progress
    return CacheMap(size: version.size, cached: present, underWay: ByteRangeSet(flights))
  }

  /// What is on disk, verified or not, and what is on its way; for `status`.
  package var progress: (present: ByteRangeSet, flights: [ByteRange]) {
    state.withLock { state in
      var present = state.machine.present
      for range in state.machine.recorded.ranges { present.insert(range) }
      return (present, state.machine.flights.map(\.remaining))
    }
  }

  package func read(
    _ range: ByteRange,
    plan: FetchPlan,
    makeWaiter: () -> (any ReadWaiter)?
  ) -> ReadStart {
    if let start = startWithoutWaiting(range) { return start }
    guard let waiter = makeWaiter() else { return .failed(.cancelled) }
    let id = waits.add(waiter)
    environment.metrics.read(range.count, isHit: false)
    if isKeepingPaused {
      fetchUncached(id, range)
    } else {
      let now = environment.time.now
      run(
        state.withLock { state in
          state.isClosed
            ? [.fail(id, .cancelled)]
            : state.machine.requested(by: id, range, plan: plan, now: now)
        }
      )
    }
    return .waiting(id)
  }

  package func prefetch(_ plan: FetchPlan) {
    guard !isKeepingPaused else { return }
    run(
      state.withLock { state in
        state.isClosed ? [] : state.machine.wanted(ahead: plan.demand + plan.ahead)
      }
    )
  }

  package func cancel(_ wait: WaitID) {
    guard let waiter = waits.take(wait) else { return }
    forget(wait)
    waiter.failed(.cancelled)
  }

  package func abandonPrefetch(of ranges: [ByteRange]) {
    run(state.withLock { $0.machine.abandoned(ranges) })
  }

  package func wholeFile(verifiedSizeMax: Int) -> Int32? {
    let isWhole = state.withLock { $0.machine.isWhole }
    if !isWhole {
      guard version.size <= verifiedSizeMax, cachedByteCount == version.size,
        verify(ByteRange(0, version.size))
      else { return nil }
    }
    noteIfWhole()
    // Whoever reads the file to its end must find the object's.
    guard let status = try? file.dataStatus(), status.size == version.size else { return nil }
    return file.descriptor
  }

  /// Tells the observer, once, that every byte is on disk and verified.
  func noteIfWhole() {
    let isNews = state.withLock { state in
      guard !state.isKnownWhole, state.machine.isWhole else { return false }
      state.isKnownWhole = true
      return true
    }
    if isNews { observer.downloadIsWhole(self) }
  }

  /// Ends all flights, records what they brought, tells those who wait, and returns when it is done.
  package func close() async {
    stop()
    await settled()
  }

  /// Ends all flights and tells those who wait; what arrived is recorded soon.
  ///
  /// Bytes that are not on disk can't be read any more.
  package func stop() {
    let (actions, fetches) = state.withLock { state in
      state.isClosed = true
      return (state.machine.closed(), Array(state.memoryFetches.values))
    }
    run(actions)
    for fetch in fetches { fetch.cancel() }
  }

  /// Returns when no flight is under way and all that arrived is recorded.
  package func settled() async {
    let gate = Gate()
    let isSettled = state.withLock { state in
      if !state.flights.isEmpty { state.landings.append(gate) }
      return state.flights.isEmpty
    }
    if !isSettled { await gate.wait() }
  }

  /// Answers a read whose bytes are on disk, or that can't be answered at all.
  private func startWithoutWaiting(_ range: ByteRange) -> ReadStart? {
    let (isPresent, needsVerifying) = state.withLock { state in
      (state.machine.present.contains(range), state.machine.recorded.intersects(range))
    }
    if isPresent || (needsVerifying && verify(range)) {
      if !isPresent { noteIfWhole() }
      environment.metrics.read(range.count, isHit: true)
      return .ready(descriptor: file.descriptor)
    }
    return state.withLock { state in
      if state.machine.present.contains(range) { return .ready(descriptor: file.descriptor) }
      if let changed = state.machine.changed { return .failed(changed) }
      return state.isClosed ? .failed(.cancelled) : nil
    }
  }

  /// Verifies the recorded units that a read touches, outside the lock.
  ///
  /// - Returns: true if all of the range is present now.
  package func verify(_ range: ByteRange) -> Bool {
    for unit in file.units(overlapping: range) {
      let isMine = verifying.wait { verifying, _ in
        // Somebody else is at it: wait until they are done.
        guard !verifying.contains(unit.range.lowerBound) else { return nil as Bool? }
        let isRecorded = state.withLock { $0.machine.recorded.intersects(unit.range) }
        if isRecorded { verifying.insert(unit.range.lowerBound) }
        return isRecorded
      }
      guard isMine else { continue }
      verify(unit)
      verifying.withLock(wakingAll: true) { _ = $0.remove(unit.range.lowerBound) }
    }
    return state.withLock { $0.machine.present.contains(range) }
  }

  private func verify(_ unit: Checkpoint.Unit) {
    var reason = "its checksum is wrong"
    do throws(DiskFailure) {
      if try file.isGood(unit) {
        return state.withLock { $0.machine.verified(unit.range) }
      }
    } catch {
      reason = error.description
    }
    environment.log.write(
      .warning,
      "a cached range is not used and will be fetched again: \(reason)",
      ["key": "\(version.key)", "range": "\(unit.range)", "file": file.paths.data]
    )
    state.withLock { $0.machine.rejected(unit.range) }
    file.forget(unit)
  }
}

/// Is told what a download does to its part file.
package protocol DownloadObserver: AnyObject, Sendable {
  /// Bytes were added to the data.
  func downloadGrew(_ download: Download, by byteCount: Int)
  /// The disk refused bytes.
  func downloadWasRefused(_ download: Download, _ failure: DiskFailure)
  /// Every byte is on disk and has been received or verified in this process.
  func downloadIsWhole(_ download: Download)
}

extension DownloadObserver {
  package func downloadIsWhole(_ download: Download) {}
}

/// Nobody listens.
package final class UnobservedDownload: DownloadObserver {
  /// Creates it.
  package init() {}
  package func downloadGrew(_ download: Download, by byteCount: Int) {}
  package func downloadWasRefused(_ download: Download, _ failure: DiskFailure) {}
}
