internal import Core
internal import Support

/// A read that waits for its bytes.
final class PendingRead: ReadWaiter {
  private struct State {
    var reply: WaitingReply<DataAnswer>?
    var wait: WaitID?
    var isGivenUp = false
  }

  private let range: ByteRange
  /// Kept, so that the descriptor that the answer names stays open.
  private let object: any CachedObject
  private let state = Lock(State())

  private let onServed: @Sendable () -> Void

  /// Creates a read; `onServed` runs when its bytes have come, even if the caller has left.
  init(
    _ range: ByteRange,
    of object: any CachedObject,
    onServed: @escaping @Sendable () -> Void
  ) {
    self.range = range
    self.object = object
    self.onServed = onServed
  }

  /// Takes the reply over.
  func park(
    _ reply: consuming Reply<DataAnswer>,
    patience: Duration,
    environment: ObjectFile.Environment,
    onFailure: @escaping @Sendable (FileError) -> Void
  ) {
    let (key, range, whole) = (object.version.key, range, environment.patience)
    let waiting = WaitingReply(
      reply,
      patience: patience,
      timers: environment.timers,
      timedOut: {
        FileError(
          .timedOut,
          "\(range.inWords) of \"\(key)\" did not arrive within \(whole)"
        )
      },
      onFailure: onFailure
    )
    state.withLock { $0.reply = waiting }
    waiting.whenGivenUp { [weak self] in self?.giveUp() }
  }

  /// The cache has named the wait.
  func waitStarted(_ wait: WaitID) {
    let isGivenUp = state.withLock { state in
      state.wait = wait
      return state.isGivenUp
    }
    if isGivenUp { object.cancel(wait) }
  }

  func served(from descriptor: Int32) {
    onServed()
    take()?.succeed(.file(descriptor: descriptor, range: range))
  }

  func served(_ bytes: [UInt8]) {
    onServed()
    take()?.succeed(.bytes(bytes))
  }

  func failed(_ error: FetchError) {
    // A caller that was interrupted has had its answer.
    take()?.fail(FileError(error, reading: object.version.key).uninterrupted)
  }

  private func giveUp() {
    let wait = state.withLock { state in
      state.isGivenUp = true
      return state.wait
    }
    if let wait { object.cancel(wait) }
  }

  private func take() -> WaitingReply<DataAnswer>? { state.withLock { $0.reply } }
}
