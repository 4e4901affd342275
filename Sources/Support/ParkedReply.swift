package import Core

/// A `Reply` that a table or a task holds until somebody answers it.
///
/// Answering it twice does nothing the second time, so that an answer, a deadline and an interrupt
/// may race for it.
package final class ParkedReply<Answer: Sendable>: Sendable {
  private let reply: Lock<Slot>

  private struct Slot: ~Copyable {
    var reply: Reply<Answer>?
  }

  /// How long an answer may still come after an interrupt.
  package struct Grace: Sendable {
    let duration: Duration
    let timers: Timers

    /// Creates a grace of `duration`.
    package init(_ duration: Duration, by timers: Timers) {
      self.duration = duration
      self.timers = timers
    }
  }

  /// Parks `reply`.
  ///
  /// When the caller is interrupted before the answer, it is answered `EINTR` and
  /// `afterwards` runs: at once, or when the `grace` is over.
  package init(
    _ reply: consuming Reply<Answer>,
    grace: Grace? = nil,
    afterInterrupt afterwards: @escaping @Sendable () -> Void = {}
  ) {
    let hook = reply.interruptHook
    self.reply = Lock(Slot(reply: consume reply))
    // Registered while nobody else knows this object, so the request can't have been answered.
    let interrupt: @Sendable () -> Void = { [weak self] in
      self?.fail(FileError(.interrupted, "the caller was interrupted"))
      afterwards()
    }
    hook {
      guard let grace else { return interrupt() }
      _ = grace.timers.schedule(after: grace.duration, interrupt)
    }
  }

  /// Answers with success, unless it has been answered.
  ///
  /// - Returns: true if this call's answer was taken.
  @discardableResult
  package func succeed(_ answer: Answer) -> Bool {
    guard let reply = take() else { return false }
    return reply.succeed(answer)
  }

  /// Answers with a failure, unless it has been answered.
  package func fail(_ error: FileError) {
    take()?.fail(error)
  }

  private func take() -> Reply<Answer>? {
    reply.withLock { $0.reply.take() }
  }
}
