/// Which corrections one call has made, so that none is made for ever.
struct CorrectionBudget: Sendable {
  private var hasSetClock = false
  private var hasRenewedCredentials = false
  private var hasMoved = false
  private let region: String

  /// Creates the budget of a call that starts in `region`.
  init(region: String) {
    self.region = region
  }

  /// Returns true if `correction` is still allowed, and counts it.
  mutating func allows(_ correction: Correction) -> Bool {
    switch correction {
    case .clock:
      defer { hasSetClock = true }
      return !hasSetClock
    case .credentials:
      defer { hasRenewedCredentials = true }
      return !hasRenewedCredentials
    case .region(let region):
      // Once: a bucket has one region, and stores that point to each other would be asked for ever.
      defer { hasMoved = true }
      return !hasMoved && region != self.region
    }
  }
}
