/// When a mount's process may end, and how.
///
/// Events come from the main thread (it starts, mounts, serves) and from signals and `unmount`. What is
/// to be done follows from the state alone.
struct LifecycleMachine: Hashable, Sendable {
  /// Where the mount is in its life.
  enum State: Hashable, Sendable {
    /// Nothing is mounted yet. Next: `mounting`.
    case starting
    /// The kernel is being asked. Next: `serving`, or `leaving` if that was wanted meanwhile.
    case mounting(isStopWanted: Bool)
    /// The mount answers. Next: `leaving`.
    case serving
    /// The mount is being taken off, or is off and the kernel has not let go of it.
    case leaving
  }

  /// What to do.
  enum Action: Hashable, Sendable {
    /// Nothing, or not yet.
    case wait
    /// End at once: there is nothing to clear.
    case end
    /// Take the mount off; if it is in use, out of the tree at once.
    case leave
    /// Stop serving without waiting for anybody.
    case force
  }

  private(set) var state = State.starting

  /// The kernel is about to be asked.
  mutating func mountStarted() {
    state = .mounting(isStopWanted: false)
  }

  /// The mount is there.
  mutating func mounted() -> Action {
    guard case .mounting(let isStopWanted) = state else {
      preconditionFailure("mounted in \(state)")
    }
    state = isStopWanted ? .leaving : .serving
    return isStopWanted ? .leave : .wait
  }

  /// The mount was taken off without a signal; what is left of it is not worth a wait.
  mutating func takenOff() {
    if state == .serving { state = .leaving }
  }

  /// Somebody wants it to end: by a signal, or again by another one.
  mutating func stopRequested() -> Action {
    switch state {
    case .starting:
      return .end
    case .mounting:
      state = .mounting(isStopWanted: true)
      return .wait
    case .serving:
      state = .leaving
      return .leave
    case .leaving:
      return .force
    }
  }
}
