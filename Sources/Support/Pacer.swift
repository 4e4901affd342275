package import Core
internal import Glibc

/// Holds transfers back to so many bytes per second, all that share it together.
package final class Pacer: Sendable {
  /// Bytes per second; nil holds nothing back.
  package let rate: Int?
  private let pace: Lock<Pace>?
  private let time: any TimeSource

  /// How long a blocked thread sleeps before it looks whether it is still to wait.
  private static let lookInterval = Duration.milliseconds(100)

  /// Creates a pacer; without a rate it holds nothing back.
  package init(rate: Int?, time: any TimeSource = SystemClock()) {
    self.rate = rate
    self.time = time
    pace = rate.map { Lock(Pace(rate: max(1, $0), now: time.now)) }
  }

  /// Returns when `byteCount` bytes may move, or at once when the task is cancelled.
  package func pass(_ byteCount: Int, _ timers: Timers) async {
    let wait = take(byteCount)
    guard wait > .zero else { return }
    await timers.sleep(until: time.now + wait)
  }

  /// Blocks the thread until `byteCount` bytes may move.
  ///
  /// - Parameters:
  ///   - byteCount: how many bytes are to move.
  ///   - look: is asked again and again; throws to end the wait.
  /// - Throws: what `look` throws.
  package func block<Failure: Error>(
    _ byteCount: Int,
    look: () throws(Failure) -> Void
  ) throws(Failure) {
    var left = take(byteCount)
    while left > .zero {
      try look()
      let step = min(left, Self.lookInterval)
      usleep(useconds_t(step.wholeNanoseconds / 1000))
      left -= step
    }
  }

  private func take(_ byteCount: Int) -> Duration {
    let now = time.now
    return pace?.withLock { $0.take(byteCount, now: now) } ?? .zero
  }
}
