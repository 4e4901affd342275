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

  init(_ range: ByteRange, of object: any CachedObject) {
    self.range = range
    self.object = object
  }

  /// Takes the reply over.
  func park(
    _ reply: consuming Reply<DataAnswer>,
    environment: ObjectFile.Environment,
    onFailure: @escaping @Sendable (FileError) -> Void
  ) {
    let (key, range, patience) = (object.version.key, range, environment.patience)
    let waiting = WaitingReply(
      reply,
      patience: patience,
      timers: environment.timers,
      timedOut: {
        FileError(
          .timedOut,
          "bytes \(range) of \"\(key)\" did not arrive within \(patience)"
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
    take()?.succeed(.file(descriptor: descriptor, range: range))
  }

  func served(_ bytes: [UInt8]) {
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
