/// Which corrections one call has made, so that none is made for ever.
struct CorrectionBudget: Sendable {
  private var hasSetClock = false
  private var hasRenewedCredentials = false
  private var regions: Set<String>

  /// 2: a bucket's own region, and one more for a bucket that was just made elsewhere.
  private static let regionCountMax = 2

  /// Creates the budget of a call that starts in `region`.
  init(region: String) {
    regions = [region]
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
      guard regions.count <= Self.regionCountMax else { return false }
      return regions.insert(region).inserted
    }
  }
}
