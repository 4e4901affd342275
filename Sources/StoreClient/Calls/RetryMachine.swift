internal import Core
internal import StoreWire

/// Decides after each failed try of one call whether there is another, and when.
///
/// It knows the call's deadline and count of repeats; which kinds are worth repeating and how long
/// to wait is `RetryPolicy`'s business. A read that moves is not a read that fails: progress starts
/// the count and the deadline anew.
struct RetryMachine: Sendable {
  /// What to do next.
  enum Action: Hashable, Sendable {
    /// Wait until then and try again.
    case wait(until: Instant)
    /// Throw this.
    case fail(StoreError)
  }

  private let policy: RetryPolicy
  private let countMax: Int?
  /// The time that the caller gave, counted anew from each progress.
  private let allowance: Duration
  /// When the call must have ended, if nothing more arrives.
  private(set) var deadline: Instant
  private let retryPatience: Duration?
  /// When the first of the failures in a row happened.
  private var failedSince: Instant?
  /// How many tries were started.
  private(set) var tryCount = 0
  /// Failures in a row since the last progress.
  private var failureCount = 0
  /// Answers in a row that broke the protocol.
  private var invalidCount = 0
  /// Answers in a row that said 500.
  private var internalErrorCount = 0
  private var lastFailure: StoreError?
  /// True if bytes arrived since the last failure.
  private var hasProgress = false

  /// 3: what breaks the protocol once may be a proxy's hiccup; what does it four times is how the
  /// store is, and waiting for the deadline changes nothing.
  private static let invalidCountMax = 3

  /// 7: a store that is too busy or not there says 429, 502, 503 or 504, and that passes; what answers
  /// 500 to one request for some ten seconds will do so until the deadline.
  private static let internalErrorCountMax = 7

  init(policy: RetryPolicy, context: RequestContext, now: Instant) {
    self.policy = policy
    countMax = context.retryCountMax
    allowance = context.deadline - now
    deadline = context.deadline
    retryPatience = context.retryPatience
  }

  /// Counts a try that is about to be made.
  ///
  /// - Returns: true if it is not the first.
  mutating func tryStarted() -> Bool {
    tryCount += 1
    return tryCount > 1
  }

  /// Bytes arrived, the last of them at `now`.
  mutating func progressed(at now: Instant) {
    failureCount = 0
    failedSince = nil
    invalidCount = 0
    internalErrorCount = 0
    hasProgress = true
    guard deadline != .distantFuture else { return }
    deadline = max(deadline, now + allowance)
  }

  /// A try failed; `remedy` is what could help against that, `silence` how long nothing had moved by then,
  /// and `random` between 0 and 1.
  mutating func failed(
    _ error: StoreError,
    remedy: RetryPolicy.Remedy,
    at now: Instant,
    silence: Duration = .zero,
    random: Double
  ) -> Action {
    let previous = lastFailure
    let hadProgress = hasProgress
    lastFailure = error
    hasProgress = false
    if error.kind == .timedOut {
      // The try ran into the deadline that it was given, and bytes have moved the deadline since.
      return hadProgress && now < deadline
        ? .wait(until: now) : .fail(outOfTime(previous ?? error))
    }
    failureCount += 1
    if error.kind == .invalidAnswer { invalidCount += 1 }
    internalErrorCount = error.status == 500 ? internalErrorCount + 1 : 0
    let attempt = RetryPolicy.Attempt(
      failure: error,
      remedy: remedy,
      // What may have happened is looked into afterwards, by `settled`.
      isIdempotent: true,
      retryCount: failureCount - 1,
      retryCountMax: countMax,
      // The deadline is looked at below, so that running out of it has its own words.
      timeLeft: .seconds(Int64.max),
      random: random,
      // Those are corrections, which have been tried when this is asked.
      hasCorrectedClock: true,
      hasRefreshed: true
    )
    guard invalidCount <= Self.invalidCountMax, internalErrorCount <= Self.internalErrorCountMax,
      case .retry(let delay) = policy.decide(attempt)
    else {
      return .fail(
        failureCount > 1 ? error.appending("gave up after \(failureCount) tries") : error
      )
    }
    // A wait that doesn't fit is not begun: the caller learns now what it would learn later.
    let since = failedSince ?? now + (.zero - silence)
    failedSince = since
    let last = retryPatience.map { min(deadline, since + $0) } ?? deadline
    guard now + delay < last else { return .fail(outOfTime(error)) }
    return .wait(until: now + delay)
  }

  /// The error of a call that ran out of time; it says what went wrong until then.
  private func outOfTime(_ reason: StoreError) -> StoreError {
    var error = reason
    error.kind = .timedOut
    guard reason.kind != .timedOut else { return error }
    error.message = "no time left to try again after: \(reason.message)"
    return error
  }
}

extension StoreError {
  /// The same error with more to its sentence.
  func appending(_ words: String) -> StoreError {
    var error = self
    error.message += "; \(words)"
    return error
  }
}
