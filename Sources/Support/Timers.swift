package import Core

/// Runs actions at deadlines, on one thread of its own that sleeps while there is nothing to do.
package final class Timers: Sendable {
  private struct State {
    var nextID: UInt64 = 0
    var pending: [UInt64: Entry] = [:]
    var hasThread = false
  }

  private struct Entry {
    let deadline: Instant
    let action: @Sendable () -> Void
  }

  private let state = Monitor(State())
  private let time: any TimeSource

  /// Creates timers on `time`'s clock.
  package init(time: any TimeSource = SystemClock()) {
    self.time = time
  }

  /// A pending action.
  package struct Token: Hashable, Sendable {
    fileprivate let id: UInt64
  }

  /// Runs `action` once at `deadline`, unless it is cancelled.
  ///
  /// It must not block.
  package func schedule(at deadline: Instant, _ action: @escaping @Sendable () -> Void) -> Token {
    let (id, needsThread) = state.withLock { state in
      let id = state.nextID
      state.nextID += 1
      state.pending[id] = Entry(deadline: deadline, action: action)
      let needsThread = !state.hasThread
      state.hasThread = true
      return (id, needsThread)
    }
    if needsThread { Thread.start("dipper-timers") { [state, time] in Self.work(state, time) } }
    return Token(id: id)
  }

  /// Runs `action` once when `delay` has passed, unless it is cancelled.
  ///
  /// It must not block.
  package func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> Token {
    schedule(at: time.now + delay, action)
  }

  /// Takes an action back; nothing happens if it has run.
  package func cancel(_ token: Token) {
    state.withLock { _ = $0.pending.removeValue(forKey: token.id) }
  }

  /// Waits until `deadline` or until the task is cancelled.
  package func sleep(until deadline: Instant) async {
    let gate = Gate()
    let token = schedule(at: deadline) { gate.open() }
    await withTaskCancellationHandler {
      await gate.wait()
    } onCancel: {
      cancel(token)
      gate.open()
    }
  }

  private static func work(_ state: Monitor<State>, _ time: any TimeSource) {
    while true {
      let due = state.wait { state, wakeUp -> [@Sendable () -> Void]? in
        let now = time.now
        let dueIDs = state.pending.filter { $0.value.deadline <= now }.map(\.key)
        guard dueIDs.isEmpty else {
          return dueIDs.compactMap { state.pending.removeValue(forKey: $0)?.action }
        }
        wakeUp = state.pending.values.map(\.deadline.nanoseconds).min()
        return nil
      }
      for action in due { action() }
    }
  }
}

/// A door that opens once; a task may wait at it.
package final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [UnsafeContinuation<Void, Never>] = []
  }

  private let state = Lock(State())

  /// Creates a closed gate.
  package init() {}

  /// Opens it; opening it again does nothing.
  package func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when it is open.
  package func wait() async {
    await withUnsafeContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiters.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}
