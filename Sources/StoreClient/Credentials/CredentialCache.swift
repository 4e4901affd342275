internal import Core
internal import StoreWire

/// Decides when credentials are looked for: at first, some minutes before they end, and when the
/// store refuses them; one look at a time, for all who wait.
struct CredentialCache: Sendable {
  /// What a look found.
  struct Found: Hashable, Sendable {
    var identity: Identity
    /// Where; a sentence fragment.
    var place: String
    /// What a person can do when they have ended.
    var remedy: String
    /// What a person should know of this place and of those that were passed over on the way to it.
    var remarks: [String] = []
  }

  /// What to do about a request for credentials.
  enum Answer: Hashable, Sendable {
    /// They are good.
    case use(Identity)
    /// They are good; start a look, for which nobody waits.
    case useAndLook(Identity)
    /// Start a look and wait for it.
    case look
    /// Wait for the look that is under way.
    case wait
    /// Looking again so soon makes no sense.
    case fail(ConfigurationError)
  }

  private(set) var found: Found?
  private(set) var isLooking = false
  /// When the look ahead of the end is due.
  private var renewal: Timestamp?
  private var failure: ConfigurationError?
  /// From when to when the failure stands for what another look would say.
  private var failureHolds: Range<Timestamp>?

  /// 5 to 10 minutes before the end, but in the last half of what is left.
  ///
  /// Instance metadata has new ones about 5 minutes before. Source: Amazon EC2 User Guide, "Instance metadata role
  /// credentials".
  private static let marginMin = Duration.seconds(300)
  /// 1 s: programs ask in bursts, and each look may start a process.
  private static let failurePause = Duration.seconds(1)

  /// Somebody wants to send a request at `now`.
  mutating func asked(at now: Timestamp) -> Answer {
    if let found, !found.hasEnded(at: now) {
      guard !isLooking, let renewal, now >= renewal else { return .use(found.identity) }
      isLooking = true
      return .useAndLook(found.identity)
    }
    if isLooking { return .wait }
    if let failureHolds, failureHolds.contains(now) { return .fail(verdict(at: now)) }
    isLooking = true
    return .look
  }

  /// The store refused `stale`.
  mutating func refused(_ stale: Identity) -> Answer {
    // Of many requests that were refused together, the first does the looking.
    if let found, found.identity != stale { return .use(found.identity) }
    if isLooking { return .wait }
    isLooking = true
    return .look
  }

  /// The look ended at `now`; `random` is from 0 to 1.
  mutating func lookEnded(
    _ outcome: Result<Found, ConfigurationError>,
    at now: Timestamp,
    random: Double
  ) {
    isLooking = false
    switch outcome {
    case .success(let new) where new.hasEnded(at: now):
      failed(
        ConfigurationError(
          "what was found had expired at \(new.expiryText) already (here it is \(now.iso8601))"
        ),
        at: now
      )
      // The newest that have ended say best when that was.
      if found?.hasEnded(at: now) != false { found = new }
    case .success(let new):
      found = new
      failure = nil
      failureHolds = nil
      renewal = new.expiry.map { Self.renewal(of: $0, at: now, random: random) }
    case .failure(let error):
      failed(error, at: now)
    }
  }

  /// Who asks at `now`, when no look is needed or one has just ended.
  func outcome(at now: Timestamp) -> Result<Identity, ConfigurationError> {
    if let found, !found.hasEnded(at: now) { return .success(found.identity) }
    return .failure(verdict(at: now))
  }

  private mutating func failed(_ error: ConfigurationError, at now: Timestamp) {
    failure = error
    failureHolds = now..<now.advanced(by: Self.failurePause)
    guard let expiry = found?.expiry, expiry > now else { return }
    // What there is still serves; another try after a quarter of what is left.
    let left = expiry.timeSince(now)
    renewal = now.advanced(by: min(max(left / 4, .seconds(1)), .seconds(60)))
  }

  private func verdict(at now: Timestamp) -> ConfigurationError {
    guard let found, found.hasEnded(at: now) else {
      return failure ?? ConfigurationError("there are no credentials")
    }
    let reason = failure.map { "; looking again failed: \($0)" } ?? ""
    return ConfigurationError(
      "the credentials expired at \(found.expiryText); source: \(found.place)\(reason); "
        + found.remedy
    )
  }

  private static func renewal(
    of expiry: Timestamp,
    at now: Timestamp,
    random: Double
  ) -> Timestamp {
    let dice = min(max(random, 0), 1)
    let margin = min(marginMin * (1 + dice), expiry.timeSince(now) * (0.25 + 0.25 * dice))
    return expiry.advanced(by: .zero - margin)
  }
}

extension CredentialCache.Found {
  var expiry: Timestamp? { identity.credentials?.expiry }

  /// When they end, for messages.
  var expiryText: String { expiry?.iso8601 ?? "no set time" }

  func hasEnded(at now: Timestamp) -> Bool {
    expiry.map { $0 <= now } ?? false
  }
}

extension Timestamp {
  /// The moment `duration` later, as far as there are moments.
  func advanced(by duration: Duration) -> Timestamp {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return Timestamp(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
  }

  /// How much later this is than `earlier`.
  func timeSince(_ earlier: Timestamp) -> Duration {
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
    return .nanoseconds(overflow ? (self < earlier ? .min : .max) : difference)
  }
}
