internal import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  /// What an operation on `key` may wait that begins at `now`.
  func budget(for key: ObjectKey, at now: Instant) -> PatienceLedger.Budget {
    patience.withLock { $0.budget(for: key, at: now) }
  }

  /// Parks a reply until it is answered, interrupted, or its system call is out of time.
  ///
  /// - Returns: nil if the call is out of time already; the reply has been answered then.
  func park<Answer: Sendable>(
    _ reply: consuming Reply<Answer>,
    _ operation: FailureReporter.Operation,
    _ budget: PatienceLedger.Budget,
    grace: Duration = .zero
  ) -> WaitingReply<Answer>? {
    if let refusal = budget.refusal {
      reporter.report(refusal, operation)
      reply.fail(refusal)
      return nil
    }
    let patience = options.deadline
    return WaitingReply(
      reply,
      patience: budget.deadline - time.now,
      grace: grace,
      timers: timers,
      timedOut: {
        FileError(
          .timedOut,
          "\(operation.name) of \"\(operation.path)\" had no answer from the store within \(patience)"
        )
      },
      onFailure: { [self] error in
        if error.code == .timedOut {
          self.patience.withLock { $0.failed(budget, error, at: time.now) }
        }
        reporter.report(error, operation)
      }
    )
  }

  /// An operation is about to be answered: if that is with older knowledge, the wait before it counts
  /// against what its system call does next.
  func waited(_ budget: PatienceLedger.Budget) {
    let now = time.now
    guard isInOutage(at: now) else { return }
    patience.withLock { $0.fellBack(budget, at: now) }
  }
}
