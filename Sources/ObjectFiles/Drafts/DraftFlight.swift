internal import Core
internal import Support

/// One try to publish a draft, which all who ask meanwhile share.
final class DraftFlight: Sendable {
  /// What comes of it.
  typealias Outcome = Result<ObjectMetadata?, FileError>

  private let outcome = Lock(Outcome?.none)
  private let gate = Gate()
  /// The changes that it covers; nil before it is known.
  let revision = Lock(Int?.none)
  /// Ends it.
  let task = Lock(Task<Void, Never>?.none)

  func end(_ outcome: Outcome) {
    self.outcome.withLock { $0 = outcome }
    gate.open()
  }

  /// Waits until it is over.
  func result() async -> Outcome {
    await gate.wait()
    return outcome.withLock { $0 }
      ?? .failure(FileError(.inputOutput, "publishing ended without an outcome"))
  }
}
