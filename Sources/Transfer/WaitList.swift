package import Core
package import Support

/// Those who wait for bytes of one object, until each has been told something once.
///
/// Whoever takes a waiter out tells it: an arrival, a failure, a deadline and a cancellation may race
/// for it. All wait equally long, so one alarm for the whole list is enough.
package final class WaitList: Sendable {
  private struct State {
    var nextID: UInt64 = 0
    var entries: [WaitID: Entry] = [:]
    var hasAlarm = false
  }

  private struct Entry {
    let waiter: any ReadWaiter
    let deadline: Instant
  }

  private let state = Lock(State())
  private let timers: Timers
  private let time: any TimeSource
  private let patience: Duration?
  private let expired: Lock<(@Sendable (WaitID, any ReadWaiter) -> Void)?> = Lock(nil)

  /// Creates an empty list whose waiters wait `patience` long; nil means for ever.
  package init(patience: Duration?, timers: Timers, time: any TimeSource) {
    self.patience = patience
    self.timers = timers
    self.time = time
  }

  /// Sets who is handed the waiters whose time is over.
  package func whenExpired(_ action: @escaping @Sendable (WaitID, any ReadWaiter) -> Void) {
    expired.withLock { $0 = action }
  }

  /// Adds a waiter.
  package func add(_ waiter: any ReadWaiter) -> WaitID {
    let deadline = patience.map { time.now + $0 } ?? .distantFuture
    let (id, needsAlarm) = state.withLock { state in
      let id = WaitID(state.nextID)
      state.nextID += 1
      state.entries[id] = Entry(waiter: waiter, deadline: deadline)
      let needsAlarm = patience != nil && !state.hasAlarm
      if needsAlarm { state.hasAlarm = true }
      return (id, needsAlarm)
    }
    if needsAlarm { setAlarm(at: deadline) }
    return id
  }

  /// Takes a waiter out; nil if somebody else has.
  package func take(_ id: WaitID) -> (any ReadWaiter)? {
    state.withLock { $0.entries.removeValue(forKey: id)?.waiter }
  }

  private func setAlarm(at deadline: Instant) {
    _ = timers.schedule(at: deadline) { [weak self] in self?.alarm() }
  }

  private func alarm() {
    let now = time.now
    let (due, next) = state.withLock { state in
      let due = state.entries.filter { $0.value.deadline <= now }
      for id in due.keys { state.entries[id] = nil }
      let next = state.entries.values.map(\.deadline).min()
      state.hasAlarm = next != nil
      return (due, next)
    }
    if let next { setAlarm(at: next) }
    let action = expired.withLock { $0 }
    for (id, entry) in due.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      action?(id, entry.waiter)
    }
  }
}
