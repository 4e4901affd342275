package import Core
internal import Support

extension Draft {
  /// Has a renaming bring the facts to the store: they are given to the copy that it makes.
  ///
  /// Nobody publishes the draft meanwhile. When the renaming has succeeded the store has them, and the caller
  /// goes on with `moved(to:)`; when it has failed they are to be published as before.
  ///
  /// - Parameter rename: is given what the store has and the facts as they are to be published, and returns
  ///   what is at the new key.
  /// - Returns: what `rename` returned; nil, and nothing has happened, if more than facts is to be published,
  ///   or something else is being published, or may have been.
  /// - Throws: what `rename` throws.
  package func publishFacts(
    byRenaming rename: (ObjectMetadata, ObjectFacts) async throws(FileError) -> ObjectMetadata
  ) async throws(FileError) -> ObjectMetadata? {
    let flight = DraftFlight()
    let begun = state.withLock { state -> (base: ObjectMetadata, DraftState.Snapshot)? in
      guard let base = state.base, state.isDirty, state.hasOnlyFacts, state.knowsFacts,
        state.flight == nil, state.writerCount == 0, state.unclear == nil, state.inDoubt == nil,
        state.early == nil
      else { return nil }
      state.freeze()
      guard let snapshot = state.snapshot else { return nil }
      state.flight = flight
      return (base, snapshot)
    }
    guard let (base, snapshot) = begun else { return nil }
    environment.background.cancel(self)
    var facts = snapshot.facts
    environment.stamp(&facts, snapshot.timeSet)
    do throws(FileError) {
      let object = try await rename(base, facts)
      state.withLock(wakingAll: true) { state in
        state.published(object, of: snapshot.token)
        state.thaw()
        state.flight = nil
      }
      try? journal()
      flight.revision.withLock { $0 = snapshot.revision }
      flight.end(.success(object))
      return object
    } catch {
      state.withLock(wakingAll: true) { state in
        state.failed(isUnclear: false)
        state.thaw()
        state.flight = nil
      }
      try? journal()
      // Whoever waited for it to be published tries that now.
      flight.revision.withLock { $0 = .min }
      flight.end(.failure(error))
      throw error
    }
  }
}
