internal import Caching
package import Core
internal import Support
internal import Transfer

/// An object that is being written through the mount: a random-access file whose bytes are where they
/// happen to be, and which becomes the object when it is published.
///
/// What is written lies in the draft's own files on the local disk; what wasn't touched stays at the store
/// and is read through the cache. Reads see every write that has returned, whoever made it. All methods
/// may be called from any thread; those that aren't `async` touch memory and the local disk alone and
/// never wait for the store.
///
/// A draft is *dirty* while the store lacks something of it: a new file is, even without a byte. It ends
/// by `Drafts.end(_:)`. Whoever has it may drop it at any time: what isn't published stays listed in
/// `Drafts.pending`, and on the disk.
package final class Draft: Sendable {
  /// Tells drafts apart; the name of its directory in the staging area.
  package var id: String { staged.id }

  /// Where its bytes are kept on the local disk.
  package var path: String { staged.path }

  let staged: StagedDraft
  let environment: Drafts.Environment
  let state: Monitor<DraftState>
  /// Held while the end of the file is sought and written to: two who append must not get one offset.
  let appending = Lock(())
  /// Held while the journal is written, whose lines must be in the order of the changes.
  let journaling = Lock(())
  /// The versions that ranges are read from.
  let sources: DraftSources

  init(_ state: DraftState, staged: StagedDraft, environment: Drafts.Environment) {
    self.staged = staged
    self.environment = environment
    self.state = Monitor(state)
    sources = DraftSources(environment)
  }

  /// The key of the object that it is to be.
  package var key: ObjectKey { state.withLock { $0.key } }

  /// Its bytes now.
  package var size: Int { state.withLock { $0.extents.size } }

  /// When a program wrote to it last, or the time that one has set since.
  package var modified: Timestamp { state.withLock { $0.modified } }

  /// The store lacks something of it: bytes, facts, or the object altogether.
  package var isDirty: Bool { state.withLock { $0.isDirty } }

  /// Bytes that only the local disk has.
  package var dirtyByteCount: Int {
    state.withLock { $0.isDiscarded ? 0 : $0.extents.dirtyByteCount }
  }

  /// The object that the store has of it: what was edited, or what was published last; nil if it has none.
  package var base: ObjectMetadata? { state.withLock { $0.base } }

  /// Why the last try to publish it failed; nil if none did, or one has succeeded since.
  package var failure: FileError? { state.withLock { $0.failure } }

  /// Headers, user metadata, tags and storage class as they will be published; nil if only the store knows
  /// them so far (see `loadFacts`).
  package var facts: ObjectFacts? { state.withLock { $0.knowsFacts ? $0.facts : nil } }

  /// Changes the facts; the next publishing brings them to the store, with the bytes.
  ///
  /// - Parameter change: runs under the draft's lock and must not call anything.
  /// - Returns: false, and nothing has changed, if they aren't known: `loadFacts` first.
  @discardableResult
  package func updateFacts(_ change: (inout ObjectFacts) -> Void) -> Bool {
    let isKnown = state.withLock { state in
      guard state.knowsFacts else { return false }
      var facts = state.facts
      change(&facts)
      if facts != state.facts { state.record(.facts(facts, isNew: true)) }
      return true
    }
    // A disk that doesn't take it has been reported; what is published has it.
    try? journal()
    return isKnown
  }

  /// Sets the modification time, until something is written again.
  ///
  /// It is published in `Drafts.Settings.metadataStyle`.
  package func setModified(_ time: Timestamp) {
    try? record(.timed(time))
  }

  /// All of its bytes are the object's that the store has, so that at most facts are to be published.
  package var hasOnlyFacts: Bool { state.withLock { $0.hasOnlyFacts } }

  /// Takes back a change of facts that could not be published, whose maker was told; call it when the
  /// publishing has failed.
  ///
  /// - Parameters:
  ///   - facts: what they were.
  ///   - modified: what the time was.
  /// - Returns: false, and nothing has changed, if more than facts is to be published.
  package func withdraw(to facts: ObjectFacts, modified: Timestamp) -> Bool {
    let isDone = state.withLock { state in state.withdraw(to: facts, modified: modified) }
    guard isDone else { return false }
    environment.background.cancel(self)
    try? journal()
    return true
  }

  /// The name was removed, or the store's object: the draft is never published any more.
  ///
  /// What reads and writes it goes on with the local bytes. A publishing under way is ended first, and an
  /// upload that one has left is given up. Call it before the object is deleted at the store: otherwise one
  /// that is under way could bring the object back.
  package func discard() async {
    let flight = state.withLock { state in
      state.record(.discarded)
      return state.flight
    }
    try? journal()
    environment.background.cancel(self)
    if let flight {
      flight.task.withLock { $0 }?.cancel()
      _ = await flight.result()
    }
    _ = await endEarly()
    await abandonUpload()
  }

  /// Gives up the unfinished upload that a checkpoint tells of; if that fails, `Drafts.recover` tries again.
  func abandonUpload() async {
    do throws(TransferError) {
      try await ObjectPublishing.abandon(
        staged.checkpointPath,
        at: environment.store,
        in: environment.transfers
      )
    } catch {
      environment.transfers.log.write(
        .warning,
        "an unfinished upload could not be given up: \(error)",
        ["key": "\(key)"]
      )
    }
  }

  /// The draft is the object at another key from now on, where the store has moved its `base`.
  ///
  /// Call it when a publishing is not under way.
  package func moved(to object: ObjectMetadata) {
    state.withLock { state in
      state.record(.moved(object.key, .none, object.version))
      if state.base != nil { state.base = object }
    }
    try? journal()
  }
}
