/// When bytes may move so that no more than so many do per second.
///
/// The first move at once and leave a debt, which the next wait out: pieces of any size keep the rate
/// over time, and a pause saves nothing up.
package struct Pace: Hashable, Sendable {
  /// Bytes per second.
  package let rate: Int
  /// When everything that has moved so far is paid for.
  private var paidAt: Instant

  /// Creates a pace without a debt.
  ///
  /// - Precondition: the rate is positive.
  package init(rate: Int, now: Instant) {
    precondition(rate > 0, "a rate must be positive, not \(rate)")
    self.rate = rate
    paidAt = now
  }

  /// Notes that `byteCount` bytes are to move.
  ///
  /// - Returns: how long they must wait; zero if they may move at once.
  package mutating func take(_ byteCount: Int, now: Instant) -> Duration {
    let start = max(paidAt, now)
    paidAt = start + Self.time(byteCount, rate: rate)
    return start - now
  }

  private static func time(_ byteCount: Int, rate: Int) -> Duration {
    // Whole seconds apart from the rest, so that nothing overflows.
    let (seconds, rest) = byteCount.quotientAndRemainder(dividingBy: rate)
    return .seconds(seconds) + .nanoseconds(Int64(Double(rest) / Double(rate) * 1_000_000_000))
  }
}
