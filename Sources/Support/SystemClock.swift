package import Core
internal import Glibc

/// The machine's clocks.
package struct SystemClock: TimeSource {
  /// Creates it.
  package init() {}

  package var now: Instant { Instant(nanoseconds: nanoseconds(of: CLOCK_MONOTONIC)) }
  package var wallTime: Timestamp { Timestamp(nanoseconds: nanoseconds(of: CLOCK_REALTIME)) }

  private func nanoseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
