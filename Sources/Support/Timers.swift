package import Core

/// Runs actions at deadlines, on one thread of its own that sleeps while there is nothing to do.
///
/// The thread starts with the first action and ends with this object; actions that are pending then
/// don't run.
package final class Timers: Sendable {
  private struct State {
    var nextID: UInt64 = 0
    /// What is still wanted, by id.
    var actions: [UInt64: @Sendable () -> Void] = [:]
    /// What was ever scheduled and isn't due yet; an id without an action was cancelled.
    var queue = DeadlineQueue()
    var hasThread = false
    var isClosed = false
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

  /// Starts the thread now rather than with the first action.
  ///
  /// - Throws: `DiskFailure` if the system gives no more threads.
  package func begin() throws(DiskFailure) {
    let needsThread = state.update { state, _ in
      defer { state.hasThread = true }
      return !state.hasThread
    }
    guard needsThread else { return }
    do throws(DiskFailure) {
      try Thread.require("dipper-timers") { [state, time] in Self.work(state, time) }
    } catch {
      state.update { state, _ in state.hasThread = false }
      throw error
    }
  }

  /// Runs `action` once at `deadline`, unless it is cancelled.
  ///
  /// It must not block.
  package func schedule(at deadline: Instant, _ action: @escaping @Sendable () -> Void) -> Token {
    let id = state.update { state, wakes in
      let id = state.nextID
      state.nextID += 1
      state.actions[id] = action
      // The thread sleeps until the earliest deadline: only an earlier one concerns it.
      wakes = state.queue.earliest.map { deadline < $0 } ?? true
      state.queue.insert(id, at: deadline)
      return id
    }
    // Without a thread the next call tries again; a program begins its timers before all else.
    try? begin()
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
    state.update { state, _ in
      state.actions[token.id] = nil
      // Most actions are cancelled long before they are due; they must not pile up.
      if state.queue.count > 2 * state.actions.count + 64 {
        let actions = state.actions
        state.queue.keep { actions[$0] != nil }
      }
    }
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
        guard !state.isClosed else { return [] }
        let now = time.now
        var due: [@Sendable () -> Void] = []
        while let earliest = state.queue.earliest {
          if let id = state.queue.first, state.actions[id] == nil {
            state.queue.removeFirst()
          } else if earliest <= now, let id = state.queue.removeFirst() {
            if let action = state.actions.removeValue(forKey: id) { due.append(action) }
          } else {
            wakeUp = earliest.nanoseconds
            break
          }
        }
        return due.isEmpty ? nil : due
      }
      if due.isEmpty { return }
      for action in due { action() }
    }
  }

  deinit {
    state.update { state, wakes in
      state.isClosed = true
      state.actions = [:]
      wakes = true
    }
  }
}
