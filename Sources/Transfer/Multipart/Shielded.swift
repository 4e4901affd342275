internal import Core
internal import Support

/// Work that must be done although the task that asks for it may be cancelled: what is left at a store
/// or on the disk is put away after a pause, too.
enum Shielded {
  /// Runs `body` to its end and returns what came of it.
  ///
  /// - Parameters:
  ///   - lingering: how long `body` goes on at most after the task that asks was cancelled; nil is for
  ///     as long as it takes.
  ///   - timers: what ends it then.
  ///   - body: the work.
  /// - Returns: what came of it.
  /// - Throws: what `body` throws.
  static func run<Answer: Sendable, Failure: Error>(
    lingering: Duration? = nil,
    timers: Timers? = nil,
    _ body: @escaping @Sendable () async throws(Failure) -> Answer
  ) async throws(Failure) -> Answer {
    // A task of its own, because a child would be cancelled with its parent.
    let task = Task<Result<Answer, Failure>, Never> {
      do throws(Failure) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    }
    let outcome = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      guard let lingering, let timers else { return }
      // Cancelling what has ended does nothing, so nobody need take this back.
      _ = timers.schedule(after: lingering) { task.cancel() }
    }
    return try outcome.get()
  }
}
