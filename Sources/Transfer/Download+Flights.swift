internal import Core
internal import Support

extension Download {
  /// Does what the machine decided.
  func run(_ actions: [DownloadMachine.Action]) {
    for action in actions {
      switch action {
      case .start(let id, let range, _): launch(id, range)
      case .promote(let id): state.withLock { $0.flights[id] }?.promote()
      case .cancel(let id): state.withLock { $0.flights[id] }?.cancel()
      case .serve(let id): waits.take(id)?.served(from: file.descriptor)
      case .fail(let id, let error): tell(id, error)
      case .fetchUncached(let id, let range): fetchUncached(id, range)
      }
    }
  }

  /// Launches a flight, unless it was cancelled before it came to that.
  private func launch(_ id: DownloadMachine.FlightID, _ range: ByteRange) {
    let flight = state.withLock { state -> Flight? in
      guard let index = state.machine.index(of: id) else { return nil }
      let isUrgent = state.machine.flights[index].isUrgent
      let flight = Flight(id, range, isUrgent: isUrgent, of: self)
      state.flights[id] = flight
      return flight
    }
    flight?.launch()
  }

  /// A flight has its slot.
  ///
  /// - Returns: false if it is not wanted any more.
  func begins(_ id: DownloadMachine.FlightID) -> Bool {
    let now = environment.time.now
    return state.withLock { state in
      state.machine.started(id, at: now)
      return state.machine.index(of: id) != nil
    }
  }

  /// Bytes of a flight are in the file up to `offset`: serves those whose last byte that was.
  func advanced(_ id: DownloadMachine.FlightID, to offset: Int) -> DownloadMachine.Advance? {
    let advance = state.withLock { $0.machine.advanced(id, to: offset) }
    for waiter in advance?.served ?? [] {
      waits.take(waiter)?.served(from: file.descriptor)
    }
    return advance
  }

  /// Enters a finished unit in the checkpoint.
  ///
  /// That it can't be written costs a later fetch, no reader anything.
  func record(_ unit: (range: ByteRange, crc: UInt64)) {
    do throws(DiskFailure) {
      try file.finished(unit.range, crc: unit.crc)
    } catch {
      let isNews = state.withLock { state in
        defer { state.isRecordFailureLogged = true }
        return !state.isRecordFailureLogged
      }
      guard isNews else { return }
      environment.log.write(.warning, "a cached range could not be recorded: \(error)")
    }
  }

  /// Less than this is left to the kernel's own write-back.
  private static let writebackMin = 1 << 20

  /// A flight is over: tells those who counted on it, then records what is left to record.
  func landed(_ flight: Flight, _ landing: Flight.Landing) async {
    let outcome: DownloadMachine.Outcome?
    switch landing {
    case .finished: outcome = .finished
    case .cancelled: outcome = .failed(.givenUp(version.key))
    case .failed(let error): outcome = .failed(error)
    case .refused(let failure):
      refused(failure)
      outcome = .refused(failure, fallsBack: settings.readsUncached)
    }
    let now = environment.time.now
    let actions = state.withLock { state in
      if case .failed(let error) = landing, error.kind != .cancelled { state.lastError = error }
      return outcome.map { state.machine.ended(flight.id, $0, now: now) } ?? []
    }
    run(actions)
    let (arrived, unit) = flight.takeRest()
    if !arrived.isEmpty {
      if arrived.count < Self.writebackMin {
        // One short line; the way to another thread would take longer.
        if let unit { record(unit) }
      } else {
        await environment.disk.run { [self] in
          if let unit { record(unit) }
          // A cold read is bound by the disk where dirty pages pile up before their write-back.
          file.startWriteback(of: arrived)
        }
      }
      observer.downloadGrew(self, by: arrived.count)
      noteIfWhole()
    }
    let gates = state.withLock { state in
      state.flights[flight.id] = nil
      guard state.flights.isEmpty else { return [Gate]() }
      defer { state.landings = [] }
      return state.landings
    }
    for gate in gates { gate.open() }
  }

  private func refused(_ failure: DiskFailure) {
    let retry = environment.time.now + settings.diskRetryDelay
    let isNews = state.withLock { state in
      defer {
        state.diskRetry = retry
        state.diskFailure = failure
      }
      return state.diskRetry == nil
    }
    // Where nobody is answered from memory instead, whoever waits is told.
    if isNews, settings.readsUncached {
      environment.log.write(.warning, "the disk refuses fetched bytes: \(failure)")
    }
    observer.downloadWasRefused(self, failure)
  }

  /// Keeps nothing more for a while: the disk has no room; readers get their bytes from memory.
  package func pauseKeeping() {
    let retry = environment.time.now + settings.diskRetryDelay
    state.withLock { state in
      state.diskRetry = retry
      // ENOSPC.
      state.diskFailure = DiskFailure(
        errno: 28,
        action: "keep more of \(version.key)",
        reason: "the cache's file system has too little room left"
      )
    }
  }

  /// The disk refused bytes a moment ago, or has no room for more.
  package var isKeepingPaused: Bool {
    guard settings.readsUncached, let retry = state.withLock({ $0.diskRetry }) else {
      return false
    }
    return environment.time.now < retry
  }

  /// Fetches a waiter's bytes into memory.
  func fetchUncached(_ id: WaitID, _ range: ByteRange) {
    let fetch = MemoryFetch(version, range)
    state.withLock { $0.memoryFetches[id] = fetch }
    fetch.launch(from: store, in: environment, settings: settings) { [self] result in
      state.withLock { _ = $0.memoryFetches.removeValue(forKey: id) }
      switch result {
      case .success(let bytes): waits.take(id)?.served(bytes)
      case .failure(let error):
        if case .changed = error { run(state.withLock { $0.machine.objectChanged(error) }) }
        tell(id, error)
      }
    }
  }

  /// Tells a waiter that its bytes can't be had, unless it has been told something.
  func tell(_ id: WaitID, _ error: FetchError) {
    guard let waiter = waits.take(id) else { return }
    forget(id)
    waiter.failed(error)
  }

  /// Nobody waits by this name any more.
  func forget(_ id: WaitID) {
    let (actions, fetch) = state.withLock { state in
      (state.machine.waiterCancelled(id), state.memoryFetches[id])
    }
    run(actions)
    fetch?.cancel()
  }

  /// A waiter's time is over.
  func expired(_ id: WaitID, _ waiter: any ReadWaiter) {
    forget(id)
    var text = "the bytes did not arrive in time"
    if let patience = settings.operationDeadline {
      text = "the bytes did not arrive within \(patience)"
    }
    if let error = state.withLock({ $0.lastError }) { text += "; the last failure was: \(error)" }
    waiter.failed(.deadline(text))
  }
}

extension StoreError {
  /// The fetch was given up by this side.
  fileprivate static func givenUp(_ key: ObjectKey) -> StoreError {
    StoreError(.cancelled, .getObject, key: key, message: "the fetch was given up")
  }
}
