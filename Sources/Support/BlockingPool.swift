/// A few threads for disk calls that may take long, so that they never block Swift's own pool, which
/// has only as many threads as there are cores.
package final class BlockingPool: Sendable {
  private struct State {
    var jobs: [@Sendable () -> Void] = []
    var idleCount = 0
    var threadCount = 0
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
    let outcome = await withUnsafeContinuation {
      (continuation: UnsafeContinuation<Swift.Result<Result, Failure>, Never>) in
      submit {
        do throws(Failure) {
          continuation.resume(returning: .success(try body()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try outcome.get()
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
    if needsThread { Thread.start("dipper-disk") { [state] in Self.work(state) } }
  }

  private static func work(_ state: Monitor<State>) {
    while true {
      state.withLock { $0.idleCount += 1 }
      let job = state.wait { state, _ in
        guard !state.jobs.isEmpty else { return nil as (@Sendable () -> Void)? }
        state.idleCount -= 1
        return state.jobs.removeFirst()
      }
      job()
    }
  }
}
