package import Core
internal import Support

/// A clock that stands still until a test moves it.
///
/// Calendar time and the steady clock advance together. What was scheduled runs on the thread that
/// advances the clock, in the order of its moments, before `advance` returns.
package final class SimulatedClock: TimeSource {
  private struct State {
    var elapsed: Int64 = 0
    var nextID = 0
    var alarms: [Int: Alarm] = [:]
  }

  private struct Alarm {
    let moment: Instant
    let action: @Sendable () -> Void
  }

  /// Names something scheduled.
  package struct Token: Hashable, Sendable {
    fileprivate let id: Int
  }

  private let state = Lock(State())
  private let start: Timestamp

  /// Creates a clock whose calendar starts at `wallTime` and whose steady clock starts at one hour,
  /// so that a test can name moments before the start.
  package init(wallTime: Timestamp = Timestamp(seconds: 1_767_225_600)) {
    start = wallTime
  }

  /// Nanoseconds of the steady clock at its start.
  private static let startNanoseconds: Int64 = 3_600_000_000_000

  package var now: Instant {
    Instant(nanoseconds: Self.startNanoseconds + state.withLock { $0.elapsed })
  }

  package var wallTime: Timestamp {
    Timestamp(nanoseconds: start.nanoseconds + state.withLock { $0.elapsed })
  }

  /// Moves the clock forward and runs what falls due on the way.
  package func advance(by duration: Duration) {
    let target = now + duration
    while let action = state.withLock({ Self.takeNext(&$0, upTo: target) }) { action() }
    state.withLock { state in
      state.elapsed = max(state.elapsed, target.nanoseconds - Self.startNanoseconds)
    }
  }

  private static func takeNext(
    _ state: inout State,
    upTo target: Instant
  ) -> (@Sendable () -> Void)? {
    let due = state.alarms.filter { $0.value.moment <= target }
    guard let next = due.min(by: { ($0.value.moment, $0.key) < ($1.value.moment, $1.key) }) else {
      return nil
    }
    state.alarms[next.key] = nil
    state.elapsed = max(state.elapsed, next.value.moment.nanoseconds - startNanoseconds)
    return next.value.action
  }

  /// Runs `action` once the clock has come to `moment`; at once if it has already.
  @discardableResult
  package func schedule(at moment: Instant, _ action: @escaping @Sendable () -> Void) -> Token {
    let (token, isDue) = state.withLock { state in
      state.nextID += 1
      let isDue = Self.startNanoseconds + state.elapsed >= moment.nanoseconds
      if !isDue { state.alarms[state.nextID] = Alarm(moment: moment, action: action) }
      return (Token(id: state.nextID), isDue)
    }
    if isDue { action() }
    return token
  }

  /// Takes back what was scheduled; nothing happens if it has run.
  package func cancel(_ token: Token) {
    state.withLock { $0.alarms[token.id] = nil }
  }

  /// How many alarms are set: lets a test wait until what it tests sleeps.
  package var alarmCount: Int { state.withLock { $0.alarms.count } }

  /// Returns when the clock has come to `moment`, or when the task is cancelled.
  package func sleep(until moment: Instant) async {
    let gate = Gate()
    let token = schedule(at: moment) { gate.open() }
    await withTaskCancellationHandler {
      await gate.wait()
    } onCancel: {
      cancel(token)
      gate.open()
    }
  }
}
