import Support

/// The end of a process: from a step on nothing of it goes on, while others do.
///
/// Let the hook of a `SimulatedStore` call `Death.current?.pass()`, and run what is to die as a task with
/// `current` set.
package final class Death: Sendable {
  /// That of the process that this task belongs to.
  @TaskLocal package static var current: Death?

  private struct State {
    var step: Int
    var count = 0

    var isDead: Bool { count >= step }
  }

  private let state: Lock<State>
  private let came = Gate()
  private let over = Gate()

  /// Creates the death that comes with a step, counted from 1.
  package init(at step: Int) { state = Lock(State(step: step)) }

  /// A step of the process; it doesn't return once death has come.
  package func pass() async {
    let isDead = state.withLock { state in
      state.count += 1
      return state.isDead
    }
    guard isDead else { return }
    came.open()
    await over.wait()
  }

  /// Waits for death or the end of `task`; what has come to its end lives on.
  ///
  /// - Returns: true if death came.
  package func comes<Answer: Sendable>(before task: Task<Answer, Never>) async -> Bool {
    let watch = Task {
      _ = await task.value
      came.open()
    }
    await came.wait()
    watch.cancel()
    return state.withLock { state in
      if !state.isDead { state.step = .max }
      return state.isDead
    }
  }

  /// The test is over.
  package func end() { over.open() }
}
