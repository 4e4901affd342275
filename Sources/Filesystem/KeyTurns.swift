internal import Core
internal import Support

/// Lets one at a time change what is at a key: a publishing, a renaming and a removal of one object must not
/// overtake each other.
final class KeyTurns: Sendable {
  /// What somebody changes: some keys, and all keys below some prefixes.
  private struct Claim {
    var keys: Set<ObjectKey> = []
    var prefixes: Set<ObjectKey> = []

    func conflicts(with other: Claim) -> Bool {
      !keys.isDisjoint(with: other.keys) || reachesInto(other) || other.reachesInto(self)
    }

    mutating func formUnion(_ other: Claim) {
      keys.formUnion(other.keys)
      prefixes.formUnion(other.prefixes)
    }

    mutating func subtract(_ other: Claim) {
      keys.subtract(other.keys)
      prefixes.subtract(other.prefixes)
    }

    private func reachesInto(_ other: Claim) -> Bool {
      prefixes.contains { prefix in
        other.keys.contains { $0.hasPrefix(prefix) }
          || other.prefixes.contains { $0.hasPrefix(prefix) }
      }
    }
  }

  private struct State {
    var taken = Claim()
    var waiting: [(claim: Claim, gate: Gate)] = []

    /// Those whose turn it is, in the order in which they came.
    mutating func admit() -> [Gate] {
      var admitted: [Gate] = []
      var wanted = taken
      waiting.removeAll { waiter in
        // Whoever waits longer goes first, also for a part of its keys.
        defer { wanted.formUnion(waiter.claim) }
        guard !wanted.conflicts(with: waiter.claim) else { return false }
        taken.formUnion(waiter.claim)
        admitted.append(waiter.gate)
        return true
      }
      return admitted
    }
  }

  private let state = Lock(State())

  /// Runs `body` when nobody else changes what is at any of `keys`, or below any of `prefixes`.
  func whileTaken<Outcome: Sendable>(
    _ keys: [ObjectKey],
    below prefixes: [ObjectKey] = [],
    _ body: () async -> Outcome
  ) async -> Outcome {
    let claim = Claim(keys: Set(keys), prefixes: Set(prefixes))
    let gate = Gate()
    open(
      state.withLock { state in
        state.waiting.append((claim, gate))
        return state.admit()
      }
    )
    await gate.wait()
    let outcome = await body()
    open(
      state.withLock { state in
        state.taken.subtract(claim)
        return state.admit()
      }
    )
    return outcome
  }

  private func open(_ gates: [Gate]) { for gate in gates { gate.open() } }
}
