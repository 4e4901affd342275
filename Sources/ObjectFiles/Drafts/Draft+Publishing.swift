internal import Caching
package import Core
internal import Support
internal import Transfer

extension Draft {
  /// Makes the draft the object, and returns when the store has all that was written before the call: what
  /// `fsync` means.
  ///
  /// Whoever calls it while one is under way joins that, if it covers all that the caller knows of. What
  /// is written while it runs makes the draft dirty again and waits for the next. It goes on when the
  /// calling task is cancelled.
  ///
  /// - Returns: what the store says of the object; nil if the draft was discarded. After a failure, which
  ///   is logged here, the draft is as dirty as before, its bytes are kept and it is listed in
  ///   `Drafts.unsaved`; the next call tries again. Codes: `.exists` (it was to be new, and something is
  ///   there), `.stale` (the object is not the version that was edited), `.accessDenied`, `.timedOut`,
  ///   `.noSpace`, `.tooLarge`, `.inputOutput`.
  package func publish() async -> Result<ObjectMetadata?, FileError> {
    let wanted = state.withLock { $0.revision }
    while true {
      let (flight, isOurs): (DraftFlight?, Bool) = state.withLock { state in
        if state.isDiscarded || state.publishedRevision >= wanted { return (nil, false) }
        if let flight = state.flight { return (flight, false) }
        let flight = DraftFlight()
        state.flight = flight
        return (flight, true)
      }
      guard let flight else {
        return .success(state.withLock { $0.isDiscarded ? nil : $0.base })
      }
      if isOurs { start(flight) }
      let outcome = await flight.result()
      // One that began before what the caller wants says nothing about that.
      guard let covered = flight.revision.withLock({ $0 }), covered < wanted else { return outcome }
    }
  }

  /// Reads the facts from the store, unless they are known.
  ///
  /// One HEAD, and one request for the tags if there are any.
  package func loadFacts() async -> Result<ObjectFacts, FileError> {
    let (known, base) = state.withLock { ($0.knowsFacts ? $0.facts : nil, $0.base) }
    if let known { return .success(known) }
    guard let base else { return .success(ObjectFacts()) }
    let store = environment.store
    let context = RequestContext(
      deadline: environment.files.time.now + environment.files.patience,
      retryCountMax: environment.settings.retryCountMax
    )
    do throws(StoreError) {
      let found =
        base.userMetadata == nil
        ? try await store.head(
          base.key,
          versionID: base.version.versionID,
          ifMatch: base.version.etag,
          context: context
        ) : base
      var facts = ObjectFacts(
        headers: found.headers,
        userMetadata: found.userMetadata ?? [:],
        storageClass: found.storageClass
      )
      if store.capabilities.hasTags, found.tagCount != 0 {
        facts.tags = try await store.tags(
          of: base.key,
          versionID: base.version.versionID,
          context: context
        )
      }
      let known = state.withLock { [facts] state in
        if !state.knowsFacts { state.record(.facts(facts, isNew: false)) }
        return state.facts
      }
      return .success(known)
    } catch {
      return .failure(FileError(error, of: .openFile))
    }
  }

  /// Runs a publishing to its end in a task of its own: whoever asked for it may be gone before.
  private func start(_ flight: DraftFlight) {
    let task = Task { [self] in
      let outcome = await run(flight)
      await ended(flight, outcome)
      flight.end(outcome)
    }
    flight.task.withLock { $0 = task }
  }

  private func run(_ flight: DraftFlight) async -> DraftFlight.Outcome {
    if case .failure(let error) = await settle() { return .failure(error) }
    if case .failure(let error) = await loadFacts() {
      guard error.code == .stale, let cause = error.cause else { return .failure(error) }
      return .failure(
        state.withLock { FileError(.targetChanged(cause), publishing: $0.key, .none) }
      )
    }
    while true {
      let snapshot = await freeze()
      flight.revision.withLock { $0 = snapshot.revision }
      // Needed only by who finds the upload after a crash.
      try? await environment.transfers.disk.run { [self] () throws(DiskFailure) in
        try writeJournal(all: true)
      }
      do throws(TransferError) {
        let (object, lacksFacts) = try await FrozenDraft(self, snapshot).publish()
        let isDone = state.withLock(wakingAll: true) { state in
          guard !state.isDiscarded else { return true }
          state.published(object, of: snapshot.token)
          if lacksFacts { state.record(.facts(state.facts, isNew: true)) }
          state.thaw()
          return !lacksFacts
        }
        if isDone { return .success(state.withLock { $0.isDiscarded ? nil : $0.base }) }
      } catch {
        // What refuses it may be what an earlier try has made after all.
        if case .targetChanged = error, case .success(true) = await settle() { continue }
        state.withLock { $0.failed(isUnclear: error.leavesDoubt) }
        return .failure(FileError(error, publishing: snapshot.key, snapshot.condition))
      }
    }
  }

  /// Finds out whether a try that got no clear answer has been done, and if so goes on from its object.
  ///
  /// - Returns: true if it has; a failure if the store can't be asked.
  private func settle() async -> Result<Bool, FileError> {
    guard let unclear = state.withLock({ $0.unclear }) else { return .success(false) }
    do throws(TransferError) {
      guard let object = try await FrozenDraft(self, unclear).settled() else {
        return .success(false)
      }
      state.withLock(wakingAll: true) { state in
        state.thaw()
        state.published(object, of: unclear.token)
      }
      return .success(true)
    } catch {
      return .failure(FileError(error, publishing: unclear.key, unclear.condition))
    }
  }

  /// Puts down what came of it, and says so.
  private func ended(_ flight: DraftFlight, _ outcome: DraftFlight.Outcome) async {
    let (isDiscarded, failureCount) = state.withLock(wakingAll: true) { state in
      state.flight = nil
      state.thaw()
      let isDiscarded = state.isDiscarded
      if case .failure(let error) = outcome, !isDiscarded {
        state.failure = error
        state.failureCount += 1
        // Whoever loses the race for a lock file has written nothing that could be kept.
        if error.code == .exists, state.holdsNothing { state.record(.discarded) }
      }
      return (isDiscarded, state.failureCount)
    }
    switch outcome {
    case .success(let object):
      try? await environment.transfers.disk.run { [self] () throws(DiskFailure) in
        try writeJournal(all: true)
      }
      if !isDirty { environment.background.cancel(self) }
      if let object { environment.observer.published(self, object) }
    case .failure(let error) where !isDiscarded:
      // From now on nothing but the disk has it for certain.
      do throws(DiskFailure) {
        try await makeDurable()
      } catch {
        environment.transfers.log.write(
          .error,
          "what could not be stored can't be kept on the disk either: \(error)",
          ["key": "\(key)"]
        )
      }
      environment.observer.publishFailed(self, error)
      environment.background.retry(self, after: error, failureCount: failureCount)
    case .failure: break
    }
  }

  /// Waits until nobody writes, and takes the snapshot that is published.
  private func freeze() async -> DraftState.Snapshot {
    while true {
      let gate = Gate()
      let snapshot = state.withLock { state in
        if state.snapshot == nil, !state.isFreezing { state.freeze() }
        if state.snapshot == nil { state.whenFrozen = gate }
        return state.snapshot
      }
      if let snapshot { return snapshot }
      await gate.wait()
    }
  }
}
