internal import Support

/// Ends one transfer early, once: pauses it, or gives it up.
///
/// A paused transfer is gone on with by the same call again, which has a control of its own. This one
/// can't be used a second time, nor when its transfer has ended: either is an error.
public final class TransferControl: Sendable {
  private enum State {
    /// The transfer has no task yet.
    case preparing
    case running(cancel: @Sendable () -> Void)
    case paused
    case aborted
    case ended
  }

  private let state = Lock((current: State.preparing, isAborted: false))

  init() {}

  /// Stops the transfer and keeps what is needed to go on: checkpoint, gathered bytes, unfinished upload.
  ///
  /// It has stopped when its `value` ends, with an error of kind `.paused`.
  ///
  /// - Throws: `DipperError` of kind `.invalid` if the control was used before or the transfer has ended.
  public func pause() throws(DipperError) {
    try use(.paused)
  }

  /// Stops the transfer and clears what it left, so that the next one begins anew.
  ///
  /// That is done when its `value` ends, with an error of kind `.aborted`.
  ///
  /// - Throws: `DipperError` of kind `.invalid` if the control was used before or the transfer has ended.
  public func abort() throws(DipperError) {
    try use(.aborted)
  }

  /// The transfer is to be given up rather than paused.
  var isAborted: Bool { state.withLock { $0.isAborted } }

  func began(cancelling task: Task<some Sendable, Never>) {
    state.withLock { state in
      if case .preparing = state.current { state.current = .running(cancel: { task.cancel() }) }
    }
  }

  func ended() {
    state.withLock { $0.current = .ended }
  }

  private func use(_ end: State) throws(DipperError) {
    let outcome = state.withLock { state -> Result<@Sendable () -> Void, DipperError> in
      switch state.current {
      case .running(let cancel):
        state.current = end
        if case .aborted = end { state.isAborted = true }
        return .success(cancel)
      case .paused, .aborted:
        return .failure(
          DipperError(.invalid, "this control has been used; a resumed transfer has one of its own")
        )
      case .preparing, .ended:
        return .failure(
          DipperError(.invalid, "the transfer of this control has ended; each has one of its own")
        )
      }
    }
    try outcome.get()()
  }
}
