package import Core

/// A parked reply that ends by a deadline: answered, interrupted or timed out, whichever is first.
///
/// Whoever waits on its behalf registers with `whenGivenUp` and stops waiting when the caller has
/// left.
package final class WaitingReply<Answer: Sendable>: Sendable {
  private struct State {
    var isEnded = false
    var isGivenUp = false
    var timer: Timers.Token?
    var giveUp: (@Sendable () -> Void)?
  }

  /// What the interrupt hook and the timer share with the reply, which they must not keep alive.
  private final class Ending: Sendable {
    let state = Lock(State())

    /// Returns true for the first to end the wait.
    func end(_ timers: Timers) -> Bool {
      let (isFirst, timer) = state.withLock { state in
        defer { state.isEnded = true }
        return (!state.isEnded, state.timer.take())
      }
      if let timer { timers.cancel(timer) }
      return isFirst
    }

    /// The caller has left.
    func abandon() {
      let action = state.withLock { state in
        state.isGivenUp = true
        return state.giveUp.take()
      }
      action?()
    }
  }

  private let reply: ParkedReply<Answer>
  private let ending: Ending
  private let timers: Timers
  private let onFailure: @Sendable (FileError) -> Void

  /// Parks `reply` for at most `patience`; then it fails with `timedOut()`.
  ///
  /// An interrupt ends the wait when `grace` has passed.
  /// `onFailure` is told once of the failure that was answered, unless that was an interrupt.
  package init(
    _ reply: consuming Reply<Answer>,
    patience: Duration,
    grace: Duration = .zero,
    timers: Timers,
    timedOut: @escaping @Sendable () -> FileError,
    onFailure: @escaping @Sendable (FileError) -> Void
  ) {
    let ending = Ending()
    self.ending = ending
    self.timers = timers
    self.onFailure = onFailure
    let parked = ParkedReply(
      reply,
      grace: grace > .zero ? ParkedReply<Answer>.Grace(grace, by: timers) : nil,
      afterInterrupt: { if ending.end(timers) { ending.abandon() } }
    )
    self.reply = parked
    let timer = timers.schedule(after: patience) {
      guard ending.end(timers) else { return }
      let error = timedOut()
      onFailure(error)
      parked.fail(error)
      ending.abandon()
    }
    let isEnded = ending.state.withLock { state in
      if !state.isEnded { state.timer = timer }
      return state.isEnded
    }
    if isEnded { timers.cancel(timer) }
  }

  /// Answers with success, unless it has ended.
  ///
  /// - Returns: true if this call's answer was taken.
  @discardableResult
  package func succeed(_ answer: Answer) -> Bool {
    ending.end(timers) ? reply.succeed(answer) : false
  }

  /// Answers with a failure, unless it has ended.
  package func fail(_ error: FileError) {
    guard ending.end(timers) else { return }
    onFailure(error)
    reply.fail(error)
  }

  /// Registers what to run once if the caller leaves before the answer; it runs at once if it has.
  package func whenGivenUp(_ action: @escaping @Sendable () -> Void) {
    let isGivenUp = ending.state.withLock { state in
      if !state.isEnded { state.giveUp = action }
      return state.isGivenUp
    }
    if isGivenUp { action() }
  }

  /// True once it has been answered or given up.
  package var hasEnded: Bool { ending.state.withLock { $0.isEnded } }
}
