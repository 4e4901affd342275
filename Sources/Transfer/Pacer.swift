internal import Core
internal import Support

/// Holds transfers back to so many bytes per second.
final class Pacer: Sendable {
  private let pace: Lock<Pace>?
  private let timers: Timers
  private let time: any TimeSource

  /// Creates a pacer; without a rate it holds nothing back.
  init(rate: Int?, timers: Timers, time: any TimeSource) {
    pace = rate.map { Lock(Pace(rate: max(1, $0), now: time.now)) }
    self.timers = timers
    self.time = time
  }

  /// Returns when `byteCount` bytes may move, or at once when the task is cancelled.
  func pass(_ byteCount: Int) async {
    guard let pace else { return }
    let now = time.now
    let wait = pace.withLock { $0.take(byteCount, now: now) }
    guard wait > .zero else { return }
    await timers.sleep(until: now + wait)
  }
}
