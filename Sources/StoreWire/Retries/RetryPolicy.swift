package import Core

/// Decides whether and when a failed request is tried again.
///
/// A pure value: the failure, the time and the dice are passed in. Waits grow exponentially with
/// full jitter, so that clients that failed together don't come back together; what a store asks
/// for in `Retry-After` is a minimum. No try begins after the deadline.
///
/// Source: AWS Architecture Blog, "Exponential Backoff And Jitter"; the table of what is retried
/// is in docs/protocol.md.
package struct RetryPolicy: Hashable, Sendable {
  /// What to do about a failure.
  package enum Decision: Hashable, Sendable {
    /// Send the request again, signed anew, after a wait.
    case retry(after: Duration)
    /// Take over the store's clock from the answer's `Date`, then send the request again at once.
    case retryAfterClockCorrection
    /// Get fresh credentials, then send the request again at once.
    case retryAfterRefresh
    /// Report the failure.
    case giveUp
  }

  /// A failed try and all that the decision depends on.
  package struct Attempt: Hashable, Sendable {
    /// How it failed.
    package var failure: StoreError
    /// What could help against that.
    package var remedy: Remedy
    /// True if a repeat after a lost answer has the same outcome.
    package var isIdempotent: Bool
    /// How many retries there were before; 0 after the first try.
    package var retryCount: Int
    /// How many of them the caller allows; nil leaves it to the deadline.
    package var retryCountMax: Int?
    /// How much time is left until the deadline.
    package var timeLeft: Duration
    /// A random number in `0..<1`.
    package var random: Double
    /// True if the clock was corrected for this request already.
    package var hasCorrectedClock = false
    /// True if the credentials were refreshed for this request already.
    package var hasRefreshed = false

    /// Creates an attempt.
    package init(
      failure: StoreError,
      remedy: Remedy,
      isIdempotent: Bool,
      retryCount: Int,
      retryCountMax: Int?,
      timeLeft: Duration,
      random: Double,
      hasCorrectedClock: Bool = false,
      hasRefreshed: Bool = false
    ) {
      self.failure = failure
      self.remedy = remedy
      self.isIdempotent = isIdempotent
      self.retryCount = retryCount
      self.retryCountMax = retryCountMax
      self.timeLeft = timeLeft
      self.random = random
      self.hasCorrectedClock = hasCorrectedClock
      self.hasRefreshed = hasRefreshed
    }
  }

  /// The bound of the first wait; each further one doubles it.
  package var firstDelayMax = Duration.milliseconds(100)
  /// The bound of every wait that the store doesn't ask for.
  package var delayMax = Duration.seconds(20)

  /// Creates the policy with its usual waits.
  package init() {}

  /// Returns what to do.
  package func decide(_ attempt: Attempt) -> Decision {
    guard attempt.timeLeft > .zero else { return .giveUp }
    switch attempt.remedy {
    case .none: return .giveUp
    case .clock: return attempt.hasCorrectedClock ? .giveUp : .retryAfterClockCorrection
    case .refresh: return attempt.hasRefreshed ? .giveUp : .retryAfterRefresh
    case .times(let countMax) where attempt.retryCount >= countMax: return .giveUp
    case .times, .wait: break
    }
    if let countMax = attempt.retryCountMax, attempt.retryCount >= countMax { return .giveUp }
    if !attempt.isIdempotent, Self.outcomeIsUnknown(after: attempt.failure) { return .giveUp }
    let delay = max(jittered(attempt), attempt.failure.retryAfter ?? .zero)
    return delay < attempt.timeLeft ? .retry(after: delay) : .giveUp
  }

  /// Returns true if the request may have done its work although it failed.
  ///
  /// Whoever repeats a request that isn't idempotent after such a failure must be ready to find
  /// its own work; a HEAD tells.
  package static func outcomeIsUnknown(after failure: StoreError) -> Bool {
    switch failure.kind {
    case .serverFailure, .timedOut, .invalidAnswer, .cancelled: true
    // With a status the store has said itself that the body didn't arrive.
    case .unreachable: failure.status == nil
    case .notFound, .noSuchBucket, .noSuchUpload, .accessDenied, .badCredentials,
      .preconditionFailed, .alreadyExists, .archived, .rangeNotSatisfiable, .throttled,
      .untrusted, .wrongRegion, .unsupported, .conflict, .tooLarge, .invalidRequest,
      .sinkRefused, .offline:
      false
    }
  }

  /// A random part of the wait's bound.
  private func jittered(_ attempt: Attempt) -> Duration {
    // 2^20 times any base is beyond the cap; more would overflow.
    let factor = 1 << min(max(attempt.retryCount, 0), 20)
    let bound = min(delayMax, firstDelayMax * factor)
    return bound * min(max(attempt.random, 0), 1)
  }
}
