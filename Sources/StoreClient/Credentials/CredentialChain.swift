package import Core
internal import StoreWire
package import Support

/// Asks one place after another for credentials, remembers the first that it finds, and looks again
/// before they end.
package final class CredentialChain: Sendable {
  /// The clock and the dice; tests bring their own.
  package struct Surroundings: Sendable {
    var time: any TimeSource
    var sleep: @Sendable (Instant) async -> Void
    var random: @Sendable () -> Double
    var log: Log

    /// Creates surroundings; whatever isn't given is the real thing.
    package init(
      time: any TimeSource = SystemClock(),
      sleep: (@Sendable (Instant) async -> Void)? = nil,
      random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) },
      log: Log = Log()
    ) {
      self.time = time
      if let sleep {
        self.sleep = sleep
      } else {
        let timers = Timers(time: time)
        self.sleep = { await timers.sleep(until: $0) }
      }
      self.random = random
      self.log = log
    }
  }

  /// What came of asking again for credentials that the store had refused.
  enum Renewal: Hashable, Sendable {
    /// There are others now.
    case fresh
    /// There are none but those; what a person can do.
    case same(String)
  }

  private struct State {
    var cache = CredentialCache()
    var waiters: [Gate] = []
  }

  private let sources: [any CredentialSource]
  private let surroundings: Surroundings
  private let state = Lock(State())

  /// 60 s: a program that asks a person, or a service that is down, is not waited for longer.
  private static let lookMax = Duration.seconds(60)

  /// Creates a chain that asks `sources` in order.
  package init(_ sources: [any CredentialSource], surroundings: Surroundings = Surroundings()) {
    self.sources = sources
    self.surroundings = surroundings
  }

  /// Returns the identity in use, looking for it the first time and when it has ended.
  ///
  /// - Parameters:
  ///   - deadline: how long the caller can wait.
  ///   - clockOffset: what to add to this machine's clock to have the store's.
  /// - Returns: who asks.
  /// - Throws: `ConfigurationError` with everything that was looked at, if no place has one, or with
  ///   when the credentials ended and what to do.
  package func identity(
    by deadline: Instant = .distantFuture,
    clockOffset: Duration = .zero
  ) async throws(ConfigurationError) -> Identity {
    let begin = now(clockOffset)
    switch state.withLock({ $0.cache.asked(at: begin) }) {
    case .use(let identity): return identity
    case .fail(let error): throw error
    case .useAndLook(let identity):
      startLook(clockOffset)
      return identity
    case .look:
      startLook(clockOffset)
      fallthrough
    case .wait:
      await waitForLook(until: deadline)
    }
    let end = now(clockOffset)
    let (outcome, isLooking) = state.withLock { state in
      (state.cache.outcome(at: end), state.cache.isLooking)
    }
    if case .failure = outcome, isLooking {
      throw ConfigurationError("no credentials in time; still looking in: \(places)")
    }
    return try outcome.get()
  }

  /// Looks again, because the store refused `stale`.
  func renew(
    _ stale: Identity,
    by deadline: Instant = .distantFuture,
    clockOffset: Duration = .zero
  ) async -> Renewal {
    switch state.withLock({ $0.cache.refused(stale) }) {
    case .use, .useAndLook: return .fresh
    case .fail: break
    case .look:
      startLook(clockOffset)
      await waitForLook(until: deadline)
    case .wait:
      await waitForLook(until: deadline)
    }
    let found = state.withLock { $0.cache.found }
    guard let found else { return .same("there are no credentials any more") }
    guard found.identity == stale else { return .fresh }
    let end = found.expiry.map { ", which end at \($0.iso8601)" } ?? ""
    return .same("the credentials are those of \(found.place)\(end); \(found.remedy)")
  }

  /// Where the credentials in use come from and when they end, looking for them if there are none yet.
  package func origin(by deadline: Instant) async throws(ConfigurationError) -> CredentialOrigin {
    let identity = try await identity(by: deadline)
    let found = state.withLock { $0.cache.found }
    return CredentialOrigin(
      place: found?.place ?? "an unknown place",
      accessKey: identity.credentials?.accessKey,
      expiry: identity.credentials?.expiry,
      remarks: found?.remarks ?? []
    )
  }

  private var places: String { sources.map(\.place).joined(separator: "; ") }

  private func now(_ clockOffset: Duration) -> Timestamp {
    surroundings.time.wallTime.advanced(by: clockOffset)
  }

  /// Starts the one look that there may be; it goes on when its caller is gone.
  private func startLook(_ clockOffset: Duration) {
    _ = Task.immediate { [self] in await look(clockOffset) }
  }

  private func look(_ clockOffset: Duration) async {
    let outcome: Result<CredentialCache.Found, ConfigurationError>
    do throws(ConfigurationError) {
      outcome = .success(try await search())
    } catch {
      outcome = .failure(error)
    }
    let end = now(clockOffset)
    let random = surroundings.random()
    let (waiters, serves) = state.withLock { state in
      state.cache.lookEnded(outcome, at: end, random: random)
      defer { state.waiters = [] }
      return (state.waiters, (try? state.cache.outcome(at: end).get()) != nil)
    }
    for waiter in waiters { waiter.open() }
    report(outcome, serves: serves)
  }

  private func search() async throws(ConfigurationError) -> CredentialCache.Found {
    let deadline = surroundings.time.now + Self.lookMax
    var remarks: [String] = []
    for source in sources {
      let finding = try await source.look(by: deadline)
      if let remark = finding.remark { remarks.append(remark) }
      guard let identity = finding.identity else { continue }
      return CredentialCache.Found(
        identity: identity,
        place: finding.place ?? source.place,
        remedy: source.remedy,
        remarks: remarks
      )
    }
    throw ConfigurationError(
      (["no credentials found", "looked in: \(places)"] + remarks).joined(separator: "; ")
    )
  }

  private func report(
    _ outcome: Result<CredentialCache.Found, ConfigurationError>,
    serves: Bool
  ) {
    switch outcome {
    case .success(let found):
      surroundings.log.write(
        .info,
        "credentials found",
        [
          "source": found.place,
          "access_key": found.identity.credentials.map { "\($0.accessKey.prefix(4))..." } ?? "none",
          "expiry": found.expiry?.iso8601 ?? "",
        ]
      )
      for remark in found.remarks {
        surroundings.log.write(.warning, "about the credentials", ["reason": remark])
      }
    case .failure(let error) where serves:
      surroundings.log.write(
        .warning,
        "looking for new credentials failed; those in use are still good",
        ["reason": error.description]
      )
    // Whoever waits reports it.
    case .failure: break
    }
  }

  /// Returns when the look has ended, at `deadline`, or when the task is cancelled.
  private func waitForLook(until deadline: Instant) async {
    let gate = Gate()
    let isLooking = state.withLock { state in
      if state.cache.isLooking { state.waiters.append(gate) }
      return state.cache.isLooking
    }
    guard isLooking else { return }
    let alarm = Task.immediate { [surroundings] in
      guard deadline != .distantFuture else { return }
      await surroundings.sleep(deadline)
      gate.open()
    }
    await withTaskCancellationHandler {
      await gate.wait()
    } onCancel: {
      gate.open()
    }
    alarm.cancel()
    state.withLock { state in state.waiters.removeAll { $0 === gate } }
  }
}

/// Where credentials come from, without their secret.
package struct CredentialOrigin: Hashable, Sendable {
  /// The place, as the tail of "looked in ...".
  package let place: String
  /// The public half; nil for anonymous requests.
  package let accessKey: String?
  /// When they end; nil if they don't.
  package let expiry: Timestamp?
  /// What a person should know of this place and of those that were passed over on the way to it.
  package let remarks: [String]
}
