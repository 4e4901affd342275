internal import Support

/// Asynchronous work that a thread of the operating system waits for.
package enum AsyncWork {
  /// Runs `body` in a task while this thread, never one of Swift's pool, waits for it.
  package static func wait<Answer: Sendable, Failure: Error>(
    _ body: sending @escaping () async throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    let outcome = Monitor<Result<Answer, Failure>?>(nil)
    Task {
      do throws(Failure) {
        let answer = try await body()
        outcome.withLock { $0 = .success(answer) }
      } catch {
        outcome.withLock { $0 = .failure(error) }
      }
    }
    return try outcome.wait { outcome, _ in outcome }.get()
  }
}
