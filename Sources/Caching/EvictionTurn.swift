/// Whose turn it is to evict: one thread at a time, and no wish for it is lost.
///
/// Who evicts decides what goes when it begins. What grows after that it doesn't see, so that a wish
/// that comes in the meantime makes it look once more.
struct EvictionTurn: Hashable, Sendable {
  private enum State: Hashable {
    /// Nobody evicts. Next: `running`.
    case idle
    /// Somebody evicts. Next: `idle`, or `wantedAgain`.
    case running
    /// Somebody evicts, and it was wanted after that began. Next: `running`.
    case wantedAgain
  }

  private var state = State.idle

  /// Evicting is wanted.
  ///
  /// - Returns: whether the caller must begin it; otherwise who is at it goes on.
  mutating func wanted() -> Bool {
    defer { state = state == .idle ? .running : .wantedAgain }
    return state == .idle
  }

  /// Who evicts is through.
  ///
  /// - Returns: whether it must look once more.
  mutating func ended() -> Bool {
    defer { state = state == .wantedAgain ? .running : .idle }
    return state == .wantedAgain
  }
}
