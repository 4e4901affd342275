/// A moment of calendar time: nanoseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Hashable, Comparable, Sendable {
  /// Nanoseconds since the epoch; negative before it.
  package let nanoseconds: Int64

  /// Creates a moment from nanoseconds since the epoch.
  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Creates a moment from whole seconds since the epoch, clamped to what fits (1677 to 2262).
  package init(seconds: Int) {
    let (product, overflow) = Int64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    nanoseconds = overflow ? (seconds < 0 ? .min : .max) : product
  }

  /// Whole seconds since the epoch, rounded down.
  package var seconds: Int { Int(nanoseconds.flooredDivision(by: 1_000_000_000)) }

  /// The same moment without its fraction of a second.
  package var wholeSecond: Timestamp { Timestamp(seconds: seconds) }

  package static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}

/// A moment of a clock that never steps back: nanoseconds since an arbitrary start.
package struct Instant: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's start.
  package let nanoseconds: Int64

  /// Creates a moment from nanoseconds since the clock's start.
  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The moment `duration` later; never past the clock's end.
  package static func + (instant: Instant, duration: Duration) -> Instant {
    let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return Instant(nanoseconds: overflow ? .max : sum)
  }

  /// The time from `earlier` to `later`; negative if they are the other way round.
  package static func - (later: Instant, earlier: Instant) -> Duration {
    .nanoseconds(later.nanoseconds - earlier.nanoseconds)
  }

  /// A moment that never comes.
  package static let distantFuture = Instant(nanoseconds: .max)
}

/// The two clocks, passed in so that what decides by time can be tested without waiting.
package protocol TimeSource: Sendable {
  /// The present moment of the clock that never steps back.
  var now: Instant { get }
  /// The present calendar time.
  var wallTime: Timestamp { get }
}

extension Duration {
  /// The duration in nanoseconds, clamped to what fits (292 years).
  package var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return carry ? (seconds < 0 ? .min : .max) : sum
  }
}

extension Int64 {
  /// Division that rounds toward negative infinity.
  fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
