package import Core
internal import Support

/// What goes wrong with one call of a simulated store.
package struct Fault: Sendable {
  /// The kinds of mishap.
  package enum Effect: Sendable {
    /// Nothing happens at the store, and the call fails; of a body, this many bytes went over first.
    case fail(StoreError.Kind, afterByteCount: Int = 0)
    /// The store does it, but the answer is lost and the call fails.
    case loseAnswer(StoreError.Kind)
    /// The object gets new content when this many bytes of the old have gone over. The rest of the
    /// old follows, as from a server that has the file open; or, if `breaksOff`, the call fails with
    /// `.preconditionFailed`, as a resumed download does.
    case replaceObject(SimulatedContent, afterByteCount: Int, breaksOff: Bool)
    /// The call hangs until its deadline or its cancellation; of a body, this many bytes go over.
    case hang(afterByteCount: Int = 0)
  }

  /// The operation that it strikes; nil is any.
  package var operation: StoreOperation?
  /// The key that it strikes; nil is any.
  package var key: ObjectKey?
  /// Which of the calls that match is struck first, counted from 1.
  package var callNumber: Int
  /// How many calls are struck, one after the other.
  package var callCount: Int
  /// What happens.
  package var effect: Effect

  /// Creates a fault.
  package init(
    _ effect: Effect,
    operation: StoreOperation? = nil,
    key: ObjectKey? = nil,
    callNumber: Int = 1,
    callCount: Int = 1
  ) {
    self.effect = effect
    self.operation = operation
    self.key = key
    self.callNumber = callNumber
    self.callCount = callCount
  }
}

/// The faults of one run, as data: which calls are struck and how.
package final class FaultPlan: Sendable {
  private struct Armed {
    let fault: Fault
    var matchCount = 0
    var strikeCount = 0
  }

  private let armed: Lock<[Armed]>

  /// Creates a plan; of several faults that strike the same call the first counts.
  package init(_ faults: [Fault] = []) {
    armed = Lock(faults.map { Armed(fault: $0) })
  }

  /// Adds a fault whose count starts with the next call.
  package func add(_ fault: Fault) {
    armed.withLock { $0.append(Armed(fault: fault)) }
  }

  /// Takes all faults back.
  package func clear() {
    armed.withLock { $0.removeAll() }
  }

  /// How many calls have been struck.
  package var strikeCount: Int { armed.withLock { $0.reduce(0) { $0 + $1.strikeCount } } }

  /// Counts a call and returns what happens to it.
  package func strike(_ operation: StoreOperation, key: ObjectKey?) -> Fault.Effect? {
    armed.withLock { armed in
      var effect: Fault.Effect?
      for index in armed.indices {
        let fault = armed[index].fault
        guard fault.operation == nil || fault.operation == operation,
          fault.key == nil || fault.key == key
        else { continue }
        armed[index].matchCount += 1
        let number = armed[index].matchCount - fault.callNumber
        guard effect == nil, number >= 0, number < fault.callCount else { continue }
        armed[index].strikeCount += 1
        effect = fault.effect
      }
      return effect
    }
  }
}

/// Says which round of `exhaustFaults` a failure belongs to.
package struct FaultRoundFailure: Error, CustomStringConvertible {
  /// The number of the call that was struck.
  package let callNumber: Int
  /// What happened to it.
  package let effect: Fault.Effect
  /// What the scenario threw.
  package let failure: any Error

  package var description: String {
    "with call \(callNumber) struck by \(effect): \(failure)"
  }
}

/// Runs a scenario with its first call struck, then with its second, and so on until no call is
/// left to strike; so for each of `effects`.
///
/// The scenario makes its store with the plan that it is given, runs, and checks what must hold; it
/// must end by itself whatever happens.
///
/// - Returns: how many rounds were struck, which a test compares with what it expects at least.
/// - Throws: `FaultRoundFailure` around what the scenario threw.
@discardableResult
package func exhaustFaults(
  _ effects: [Fault.Effect] = [.fail(.unreachable), .loseAnswer(.unreachable)],
  operation: StoreOperation? = nil,
  roundCountMax: Int = 1000,
  _ scenario: (FaultPlan) async throws -> Void
) async throws -> Int {
  var struckCount = 0
  for effect in effects {
    for callNumber in 1...roundCountMax {
      let plan = FaultPlan([Fault(effect, operation: operation, callNumber: callNumber)])
      do {
        try await scenario(plan)
      } catch {
        throw FaultRoundFailure(callNumber: callNumber, effect: effect, failure: error)
      }
      if plan.strikeCount == 0 { break }
      precondition(callNumber < roundCountMax, "the scenario never runs out of calls")
      struckCount += 1
    }
  }
  return struckCount
}
