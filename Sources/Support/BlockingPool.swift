/// A few threads for disk calls that may take long, so that they never block Swift's own pool, which
/// has only as many threads as there are cores.
///
/// The threads end with this object, after the jobs they were given.
package final class BlockingPool: Sendable {
  private struct State {
    var jobs: [@Sendable () -> Void] = []
    var idleCount = 0
    var threadCount = 0
    var isClosed = false
  }

  private let state = Monitor(State())
  private let threadCountMax: Int

  /// Creates a pool that starts up to `threadCount` threads as they are needed.
  package init(threadCount: Int) {
    threadCountMax = threadCount
  }

  /// Runs `body` on one of the threads and returns what it returns.
  package func run<Result: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    // The outcome goes through a lock, not through a continuation, whose hand-over from one thread to
    // another the thread sanitizer does not see.
    let outcome = Lock(Swift.Result<Result, Failure>?.none)
    let gate = Gate()
    submit {
      let result: Swift.Result<Result, Failure>
      do throws(Failure) {
        result = .success(try body())
      } catch {
        result = .failure(error)
      }
      outcome.withLock { $0 = result }
      gate.open()
    }
    await gate.wait()
    guard let result = outcome.withLock({ $0 }) else {
      preconditionFailure("the gate opened without an outcome")
    }
    return try result.get()
  }

  /// Runs `job` on one of the threads, some time.
  package func submit(_ job: @escaping @Sendable () -> Void) {
    let needsThread = state.withLock { state in
      state.jobs.append(job)
      guard state.idleCount < state.jobs.count, state.threadCount < threadCountMax else {
        return false
      }
      state.threadCount += 1
      return true
    }
    guard needsThread, !Thread.start("dipper-disk", { [state] in Self.work(state) }) else { return }
    // The system gives no more threads: those that there are do it, or else this one.
    let orphans = state.withLock { state -> [@Sendable () -> Void] in
      state.threadCount -= 1
      guard state.threadCount == 0 else { return [] }
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in orphans { job() }
  }

  private static func work(_ state: Monitor<State>) {
    while true {
      state.update { state, _ in state.idleCount += 1 }
      let job = state.wait { state, _ -> (@Sendable () -> Void)?? in
        guard state.jobs.isEmpty else {
          state.idleCount -= 1
          return state.jobs.removeFirst()
        }
        return state.isClosed ? .some(nil) : nil
      }
      guard let job else { return }
      job()
    }
  }

  deinit {
    state.withLock(wakingAll: true) { $0.isClosed = true }
  }
}
