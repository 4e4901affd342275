import Core
import StoreWire
import Testing

@testable import StoreClient

@Suite struct CredentialCacheTests {
  private static let start = Timestamp(seconds: 1_796_027_400)

  private func at(_ seconds: Int) -> Timestamp { Timestamp(seconds: Self.start.seconds + seconds) }

  private func found(_ id: String, until seconds: Int?) -> CredentialCache.Found {
    CredentialCache.Found(
      identity: .keys(
        Credentials(accessKey: id, secretKey: "s", expiry: seconds.map { at($0) })
      ),
      place: "somewhere",
      remedy: "do something"
    )
  }

  private func cache(_ seconds: Int?, random: Double = 0) -> CredentialCache {
    var cache = CredentialCache()
    #expect(cache.asked(at: at(0)) == .look)
    cache.lookEnded(.success(found("A", until: seconds)), at: at(0), random: random)
    return cache
  }

  @Test func oneLooksAndTheOthersWait() {
    var cache = CredentialCache()
    #expect(cache.asked(at: at(0)) == .look)
    #expect(cache.asked(at: at(0)) == .wait)
    #expect(cache.refused(.anonymous) == .wait)
    cache.lookEnded(.success(found("A", until: nil)), at: at(1), random: 0)
    #expect(cache.asked(at: at(1_000_000)) == .use(found("A", until: nil).identity))
  }

  @Test(arguments: [(0.0, 300), (1.0, 600)])
  func renewalBeginsSomeMinutesAheadAndNobodyWaits(_ random: Double, _ margin: Int) {
    var cache = cache(3600, random: random)
    let keys = found("A", until: 3600).identity
    #expect(cache.asked(at: at(3600 - margin - 1)) == .use(keys))
    #expect(cache.asked(at: at(3600 - margin)) == .useAndLook(keys))
    #expect(cache.asked(at: at(3600 - margin)) == .use(keys))
    cache.lookEnded(.success(found("B", until: 7200)), at: at(3400), random: 0)
    #expect(cache.asked(at: at(3400)) == .use(found("B", until: 7200).identity))
  }

  @Test func shortLivedOnesAreRenewedInTheirLastHalf() {
    var cache = cache(8, random: 1)
    let keys = found("A", until: 8).identity
    #expect(cache.asked(at: at(3)) == .use(keys))
    #expect(cache.asked(at: at(4)) == .useAndLook(keys))
  }

  @Test func failedEarlyRenewalKeepsTheOldAndIsNotRepeatedAtOnce() throws {
    var cache = cache(3600)
    let keys = found("A", until: 3600).identity
    #expect(cache.asked(at: at(3300)) == .useAndLook(keys))
    cache.lookEnded(.failure(ConfigurationError("down")), at: at(3300), random: 0)
    #expect(cache.asked(at: at(3301)) == .use(keys))
    #expect(try cache.outcome(at: at(3301)).get() == keys)
    #expect(cache.asked(at: at(3360)) == .useAndLook(keys))
  }

  @Test func renewalThatFindsExpiredOnesKeepsTheOld() {
    var cache = cache(3600)
    let keys = found("A", until: 3600).identity
    #expect(cache.asked(at: at(3300)) == .useAndLook(keys))
    cache.lookEnded(.success(found("B", until: 3000)), at: at(3300), random: 0)
    #expect(cache.asked(at: at(3301)) == .use(keys))
  }

  @Test func nearTheEndTheNextTryIsASecondAway() {
    var cache = cache(8)
    let keys = found("A", until: 8).identity
    #expect(cache.asked(at: at(6)) == .useAndLook(keys))
    cache.lookEnded(.failure(ConfigurationError("down")), at: at(6), random: 0)
    let soon = Timestamp(nanoseconds: at(7).nanoseconds - 1)
    #expect(cache.asked(at: soon) == .use(keys))
    #expect(cache.asked(at: at(7)) == .useAndLook(keys))
  }

  @Test func afterTheEndTheErrorSaysWhenWhereWhyAndWhatToDo() {
    var cache = cache(3600)
    #expect(cache.asked(at: at(3600)) == .look)
    cache.lookEnded(.failure(ConfigurationError("down")), at: at(3600), random: 0)
    guard case .failure(let error) = cache.outcome(at: at(3600)) else {
      Issue.record("they are used after their end")
      return
    }
    for word in ["expired at 2026-11-30T09:30:00Z", "somewhere", "down", "do something"] {
      #expect(error.description.contains(word))
    }
    // A burst of requests doesn't look again for each.
    #expect(cache.asked(at: at(3600)) == .fail(error))
    #expect(cache.asked(at: at(3601)) == .look)
  }

  @Test func whatHasExpiredAlreadyIsNotUsed() {
    var cache = cache(-5)
    guard case .failure(let error) = cache.outcome(at: at(0)) else {
      Issue.record("expired credentials are used")
      return
    }
    #expect(error.description.contains("expired at 2026-11-30T08:29:55Z"))
    #expect(error.description.contains("here it is 2026-11-30T08:30:00Z"))
    #expect(cache.asked(at: at(2)) == .look)
  }

  @Test func refusedOnesAreLookedForOnce() {
    var cache = cache(3600)
    let old = found("A", until: 3600).identity
    #expect(cache.refused(old) == .look)
    #expect(cache.refused(old) == .wait)
    // Whoever doesn't wait goes on with what there is.
    #expect(cache.asked(at: at(10)) == .use(old))
    cache.lookEnded(.success(found("B", until: 7200)), at: at(10), random: 0)
    #expect(cache.refused(old) == .use(found("B", until: 7200).identity))
  }

  @Test func absurdDatesDoNotTrap() {
    for expiry in [Timestamp(nanoseconds: .min), Timestamp(nanoseconds: .max)] {
      for now in [Timestamp(nanoseconds: .min), Timestamp(nanoseconds: .max), at(0)] {
        var cache = CredentialCache()
        var found = found("A", until: 0)
        found.identity = .keys(Credentials(accessKey: "A", secretKey: "s", expiry: expiry))
        _ = cache.asked(at: now)
        cache.lookEnded(.success(found), at: now, random: 1)
        _ = cache.asked(at: now)
        cache.lookEnded(.failure(ConfigurationError("x")), at: now, random: 1)
        _ = cache.outcome(at: now)
      }
    }
  }
}
