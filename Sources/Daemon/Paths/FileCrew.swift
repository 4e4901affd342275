package import Core
internal import Support

/// A few threads that work on files which a walk finds: the walk waits when they are behind, so that
/// memory stays the same however large the tree is.
package final class FileCrew<File: Sendable>: Sendable {
  private struct State {
    var queue: [File] = []
    var busyCount = 0
    var hasAll = false
    var isStopped = false

    var isDone: Bool { busyCount == 0 && (isStopped || (hasAll && queue.isEmpty)) }
  }

  private static var queueCountMax: Int { 64 }

  private let state = Monitor(State())
  private let work: @Sendable (File) -> Void

  /// Creates a crew of `threadCount` threads that do `work`, or of as many as the system gives.
  ///
  /// - Throws: `DiskFailure` if it gives none.
  package init(
    threadCount: Int,
    work: @escaping @Sendable (File) -> Void
  ) throws(DiskFailure) {
    self.work = work
    try Thread.require("dipper-file") { [self] in runWorker() }
    for _ in 1..<max(1, threadCount) {
      guard Thread.start("dipper-file", { [self] in runWorker() }) else { break }
    }
  }

  /// Hands a file over, when there is room.
  ///
  /// - Returns: false if nobody works any more.
  package func offer(_ file: File) -> Bool {
    let isTaken = state.wait { state, _ -> Bool? in
      if state.isStopped { return false }
      return state.queue.count < Self.queueCountMax ? true : nil
    }
    guard isTaken else { return false }
    // One walk offers, so the room is still there.
    state.withLock(wakingAll: true) { $0.queue.append(file) }
    return true
  }

  /// No file follows.
  package func finish() { state.withLock(wakingAll: true) { $0.hasAll = true } }

  /// Starts no further file.
  package func stop() { state.withLock(wakingAll: true) { $0.isStopped = true } }

  /// Waits until all is done, for at most `patience`.
  ///
  /// - Returns: whether it is.
  package func waitUntilDone(for patience: Duration) -> Bool {
    let end = SystemClock().now + patience
    return state.wait { state, deadline in
      if state.isDone { return true }
      deadline = end.nanoseconds
      return SystemClock().now >= end ? false : nil
    }
  }

  private func runWorker() {
    while true {
      let file = state.wait { state, _ -> File?? in
        if state.isStopped || (state.hasAll && state.queue.isEmpty) { return .some(nil) }
        guard !state.queue.isEmpty else { return nil }
        state.busyCount += 1
        return .some(state.queue.removeFirst())
      }
      guard let file else { return }
      // Room for the walk, which may wait among the other workers.
      state.withLock(wakingAll: true) { _ in }
      work(file)
      state.withLock(wakingAll: true) { $0.busyCount -= 1 }
    }
  }
}
