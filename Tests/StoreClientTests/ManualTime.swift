import Core
import Support

/// A clock that stands still until somebody waits: sleeping moves it on at once.
final class ManualTime: TimeSource {
  private struct State {
    var elapsed: Duration = .zero
    var sleeps: [Duration] = []
  }

  private let state = Lock(State())
  /// 2026-11-30T08:30:00Z.
  private static let start = Timestamp(seconds: 1_796_027_400)

  var now: Instant {
    Instant(nanoseconds: 1_000_000_000) + state.withLock { $0.elapsed }
  }

  var wallTime: Timestamp {
    Timestamp(nanoseconds: Self.start.nanoseconds + state.withLock { $0.elapsed.wholeNanoseconds })
  }

  /// Every wait so far, in order.
  var sleeps: [Duration] { state.withLock { $0.sleeps } }

  func advance(by duration: Duration) {
    state.withLock { $0.elapsed += duration }
  }

  func sleep(until deadline: Instant) async {
    let duration = deadline - now
    state.withLock { state in
      state.sleeps.append(duration)
      if duration > .zero { state.elapsed += duration }
    }
  }
}
