internal import Core
internal import Support

/// Lets one at a time change what is at a key: a publishing, a renaming and a removal of one object must not
/// overtake each other.
final class KeyTurns: Sendable {
  private struct State {
    var taken: Set<ObjectKey> = []
    var waiting: [(keys: [ObjectKey], gate: Gate)] = []

    /// Those whose turn it is, in the order in which they came.
    mutating func admit() -> [Gate] {
      var admitted: [Gate] = []
      var wanted = taken
      waiting.removeAll { waiter in
        // Whoever waits longer goes first, also for a part of its keys.
        defer { wanted.formUnion(waiter.keys) }
        guard wanted.isDisjoint(with: waiter.keys) else { return false }
        taken.formUnion(waiter.keys)
        admitted.append(waiter.gate)
        return true
      }
      return admitted
    }
  }

  private let state = Lock(State())

  /// Runs `body` when nobody else changes what is at any of `keys`.
  func whileTaken<Outcome: Sendable>(
    _ keys: [ObjectKey],
    _ body: () async -> Outcome
  ) async -> Outcome {
    let gate = Gate()
    open(
      state.withLock { state in
        state.waiting.append((keys, gate))
        return state.admit()
      }
    )
    await gate.wait()
    let outcome = await body()
    open(
      state.withLock { state in
        state.taken.subtract(keys)
        return state.admit()
      }
    )
    return outcome
  }

  private func open(_ gates: [Gate]) { for gate in gates { gate.open() } }
}
