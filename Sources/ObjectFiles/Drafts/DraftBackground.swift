internal import Core
internal import Support

/// Publishes drafts that nobody waits for: those that were closed and kept, and those that failed.
final class DraftBackground: Sendable {
  private struct State {
    var tokens: [String: Timers.Token] = [:]
    var isClosed = false
  }

  /// How long after a failure it is tried again; doubled with each, up to the most.
  private static let delayMin = Duration.seconds(30)
  private static let doublingCountMax = 4

  private let state = Lock(State())

  /// Has a draft published after `delay`, unless it is already due.
  func schedule(_ draft: Draft, after delay: Duration) {
    let isWanted = state.withLock { !$0.isClosed && $0.tokens[draft.id] == nil }
    guard isWanted else { return }
    let timers = draft.environment.files.timers
    let token = timers.schedule(after: delay) { [self] in
      state.withLock { $0.tokens[draft.id] = nil }
      Task { _ = await draft.publish() }
    }
    let isKept = state.withLock { state in
      guard !state.isClosed, state.tokens[draft.id] == nil else { return false }
      state.tokens[draft.id] = token
      return true
    }
    if !isKept { timers.cancel(token) }
  }

  /// Has a draft published again some time after it failed, if that may help.
  func retry(_ draft: Draft, after error: FileError, failureCount: Int) {
    switch error.code {
    case .exists, .stale, .tooLarge: return
    default: break
    }
    let doublings = min(max(failureCount - 1, 0), Self.doublingCountMax)
    schedule(draft, after: Self.delayMin * (1 << doublings))
  }

  /// A draft is published, or nothing is to be done about it any more.
  func cancel(_ draft: Draft) {
    let token = state.withLock { $0.tokens.removeValue(forKey: draft.id) }
    if let token { draft.environment.files.timers.cancel(token) }
  }

  /// Nothing is published in the background any more.
  func close(_ timers: Timers) {
    let tokens = state.withLock { state in
      state.isClosed = true
      defer { state.tokens = [:] }
      return state.tokens.values
    }
    for token in tokens { timers.cancel(token) }
  }
}
