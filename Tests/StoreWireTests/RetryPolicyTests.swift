import Core
import StoreWire
import Testing

@Suite struct RetryPolicyTests {
  private let policy = RetryPolicy()

  private func attempt(
    _ kind: StoreError.Kind,
    code: String? = nil,
    status: Int? = nil,
    retryAfter: Duration? = nil,
    isIdempotent: Bool = true,
    retryCount: Int = 0,
    retryCountMax: Int? = nil,
    timeLeft: Duration = .seconds(60),
    random: Double = 0.5
  ) -> RetryPolicy.Attempt {
    let failure = StoreError(
      kind,
      .getObject,
      status: status,
      code: code,
      message: "",
      retryAfter: retryAfter
    )
    return RetryPolicy.Attempt(
      failure: failure,
      remedy: S3Dialect(bucket: "b", isAmazons: false).remedy(for: failure),
      isIdempotent: isIdempotent,
      retryCount: retryCount,
      retryCountMax: retryCountMax,
      timeLeft: timeLeft,
      random: random
    )
  }

  @Test func exactlyTheFaultsThatPassAreRetried() {
    let retried = StoreError.Kind.allCases.filter {
      policy.decide(attempt($0)) == .retry(after: .milliseconds(50))
    }
    #expect(Set(retried) == [.throttled, .serverFailure, .unreachable, .invalidAnswer])
    let givenUp = StoreError.Kind.allCases.filter { policy.decide(attempt($0)) == .giveUp }
    #expect(retried.count + givenUp.count == StoreError.Kind.allCases.count)
  }

  @Test func waitsDoubleUpToTheirBound() {
    for (count, bound) in [(0, 100), (1, 200), (2, 400), (7, 12_800), (8, 20_000), (40, 20_000)] {
      #expect(
        policy.decide(attempt(.throttled, retryCount: count, random: 0.5))
          == .retry(after: .milliseconds(bound / 2))
      )
      #expect(
        policy.decide(attempt(.throttled, retryCount: count, random: 0)) == .retry(after: .zero)
      )
    }
    #expect(
      policy.decide(attempt(.throttled, retryCount: .max, random: 0.5))
        == .retry(after: .seconds(10))
    )
    #expect(
      policy.decide(attempt(.throttled, random: 7)) == .retry(after: .milliseconds(100))
    )
  }

  @Test func theStoreSetsAMinimum() {
    #expect(
      policy.decide(attempt(.throttled, retryAfter: .seconds(7))) == .retry(after: .seconds(7))
    )
    #expect(
      policy.decide(attempt(.throttled, retryAfter: .zero)) == .retry(after: .milliseconds(50))
    )
    #expect(policy.decide(attempt(.throttled, retryAfter: .seconds(60))) == .giveUp)
  }

  @Test func noTryBeginsAfterTheDeadline() {
    #expect(policy.decide(attempt(.unreachable, timeLeft: .zero)) == .giveUp)
    #expect(policy.decide(attempt(.unreachable, timeLeft: .seconds(-1))) == .giveUp)
    #expect(policy.decide(attempt(.unreachable, timeLeft: .milliseconds(50))) == .giveUp)
    #expect(
      policy.decide(attempt(.unreachable, timeLeft: .milliseconds(51)))
        == .retry(after: .milliseconds(50))
    )
  }

  @Test func theCallerCountsRetries() {
    #expect(policy.decide(attempt(.throttled, retryCountMax: 0)) == .giveUp)
    #expect(policy.decide(attempt(.throttled, retryCount: 3, retryCountMax: 3)) == .giveUp)
    #expect(policy.decide(attempt(.throttled, retryCount: 2, retryCountMax: 3)) != .giveUp)
  }

  @Test func aClockThatIsOffIsCorrectedOnce() {
    var skewed = attempt(.badCredentials, code: "RequestTimeTooSkewed", retryCountMax: 0)
    #expect(policy.decide(skewed) == .retryAfterClockCorrection)
    skewed.hasCorrectedClock = true
    #expect(policy.decide(skewed) == .giveUp)
  }

  @Test func expiredCredentialsAreRefreshedOnce() {
    var expired = attempt(.badCredentials, code: "ExpiredToken", isIdempotent: false)
    #expect(policy.decide(expired) == .retryAfterRefresh)
    expired.hasRefreshed = true
    #expect(policy.decide(expired) == .giveUp)
    #expect(policy.decide(attempt(.badCredentials, code: "SignatureDoesNotMatch")) == .giveUp)
  }

  @Test func aDamagedBodyIsSentOnceMore() {
    #expect(policy.decide(attempt(.invalidRequest, code: "BadDigest")) != .giveUp)
    #expect(policy.decide(attempt(.invalidRequest, code: "BadDigest", retryCount: 1)) == .giveUp)
    #expect(policy.decide(attempt(.invalidRequest, code: "InvalidArgument")) == .giveUp)
  }

  @Test func onlyAConflictThatPassesIsRetried() {
    #expect(policy.decide(attempt(.conflict, code: "OperationAborted")) != .giveUp)
    #expect(policy.decide(attempt(.conflict, code: "ConditionalRequestConflict")) != .giveUp)
    #expect(policy.decide(attempt(.conflict, code: "InvalidBucketState")) == .giveUp)
  }

  @Test func whatMayHaveHappenedIsNotDoneTwice() {
    #expect(policy.decide(attempt(.unreachable, isIdempotent: false)) == .giveUp)
    #expect(policy.decide(attempt(.serverFailure, isIdempotent: false)) == .giveUp)
    #expect(policy.decide(attempt(.invalidAnswer, isIdempotent: false)) == .giveUp)
    #expect(policy.decide(attempt(.throttled, isIdempotent: false)) != .giveUp)
    #expect(policy.decide(attempt(.unreachable, status: 400, isIdempotent: false)) != .giveUp)
    #expect(RetryPolicy.outcomeIsUnknown(after: attempt(.timedOut).failure))
    #expect(!RetryPolicy.outcomeIsUnknown(after: attempt(.preconditionFailed).failure))
  }
}
