/// Starts work that waits for the store: the one place of this target that makes tasks.
///
/// The task begins on the calling thread and goes on elsewhere once it has to wait, so what needs
/// no waiting costs no change of threads.
func startControlTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
  Task.immediate { await body() }
}
