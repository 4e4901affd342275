/// Work that must be done although the task that asks for it may be cancelled: what is left at a store
/// or on the disk is put away after a pause, too.
enum Shielded {
  /// Runs `body` to its end and returns what came of it.
  static func run<Answer: Sendable, Failure: Error>(
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
    return try await task.value.get()
  }
}
