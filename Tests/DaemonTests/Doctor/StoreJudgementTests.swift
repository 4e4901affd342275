import Core
import Daemon
import Testing

@Suite
struct StoreJudgementTests {
  private let now = Timestamp(seconds: 1_796_027_400)

  private var healthy: StoreFacts {
    var facts = StoreFacts(bucket: "s3://b", listing: .done)
    facts.credentials = .found(place: "the environment", accessKey: "AKIAEXAMPLE", expiry: nil)
    facts.endpoint = "https://s3.example.com"
    facts.isEncrypted = true
    facts.region = "eu-1"
    facts.clockLead = .milliseconds(-400)
    facts.head = .done
    facts.get = .done
    return facts
  }

  private func verdicts(
    _ change: (inout StoreFacts) -> Void
  ) -> [String: DoctorReport.Check.Verdict] {
    var facts = healthy
    change(&facts)
    let checks = StoreJudgement.checks(facts, now: now)
    return Dictionary(checks.map { ($0.check, $0.verdict) }, uniquingKeysWith: { $1 })
  }

  private func failure(
    _ kind: StoreError.Kind,
    status: Int? = nil,
    code: String? = nil
  ) -> StoreFacts.Outcome {
    .failed(StoreError(kind, .listObjects, status: status, code: code, message: "words"))
  }

  @Test
  func aHealthyBucketIsOk() {
    let found = verdicts { _ in }
    #expect(found.values.allSatisfy { $0 == .ok })
    #expect(
      Set(found.keys)
        == ["credentials", "endpoint", "TLS", "region", "clock", "may list", "may head", "may get"]
    )
  }

  @Test
  func aWrongSecretIsTheCredentialsFault() {
    let found = verdicts {
      $0.listing = failure(.badCredentials, status: 403, code: "SignatureDoesNotMatch")
    }
    #expect(found["credentials"] == .failed)
    #expect(found["endpoint"] == .ok)
    #expect(found["may list"] == .failed)
  }

  @Test
  func whatCouldNotBeTriedIsSkippedAndNotOk() throws {
    let refused = verdicts {
      $0.listing = failure(.noSuchBucket, status: 404)
      $0.head = nil
      $0.get = nil
      $0.clockLead = nil
    }
    #expect(refused["may list"] == .failed)
    #expect(refused["may head"] == .skipped)
    #expect(refused["may get"] == .skipped)
    #expect(refused["clock"] == .skipped)
    var empty = healthy
    empty.head = nil
    let check = try #require(
      StoreJudgement.checks(empty, now: now).first { $0.check == "may head" }
    )
    #expect(check.verdict == .skipped)
    #expect(check.message == "nothing is there to try it with")
    #expect(!DoctorReport(checks: [check]).hasFailed)
  }

  @Test(arguments: [StoreError.Kind.accessDenied, .noSuchBucket, .unreachable, .badCredentials])
  func whatFailedSaysWhatToDo(kind: StoreError.Kind) {
    var facts = healthy
    facts.listing = failure(kind)
    let failed = StoreJudgement.checks(facts, now: now).filter { $0.verdict == .failed }
    #expect(!failed.isEmpty)
    for check in failed { #expect(check.advice?.isEmpty == false, "\(check.check)") }
  }

  @Test
  func noAnswerIsTheEndpointsFault() {
    let found = verdicts { $0.listing = failure(.unreachable) }
    #expect(found["endpoint"] == .failed)
    #expect(found["credentials"] == .ok)
    #expect(verdicts { $0.listing = failure(.noSuchBucket, status: 404) }["endpoint"] == .failed)
    #expect(verdicts { $0.listing = failure(.untrusted) }["TLS"] == .failed)
    #expect(verdicts { $0.listing = failure(.wrongRegion, status: 301) }["region"] == .failed)
    #expect(verdicts { $0.listing = failure(.throttled, status: 503) }["endpoint"] == .warning)
  }

  @Test
  func noCertificateIsCalledVerifiedThatNobodySaw() {
    func words(_ outcome: StoreFacts.Outcome) -> String? {
      var facts = healthy
      facts.listing = outcome
      return StoreJudgement.checks(facts, now: now).first { $0.check == "TLS" }?.message
    }
    #expect(words(.done)?.contains("verified") == true)
    #expect(words(failure(.accessDenied, status: 403))?.contains("verified") == true)
    #expect(words(failure(.badCredentials))?.contains("verified") == false)
    #expect(words(failure(.unreachable))?.contains("verified") == false)
  }

  @Test
  func theClockMayBeOffALittle() {
    let cases: [(Int64, DoctorReport.Check.Verdict)] = [
      (0, .ok), (29, .ok), (31, .warning), (899, .warning), (901, .failed),
    ]
    for (seconds, verdict) in cases {
      for lead in [seconds, -seconds] {
        #expect(verdicts { $0.clockLead = .seconds(lead) }["clock"] == verdict, "\(lead)")
      }
    }
  }

  @Test
  func credentialsThatEndSoonAreAWarning() {
    func verdict(_ seconds: Int) -> DoctorReport.Check.Verdict? {
      verdicts {
        $0.credentials = .found(
          place: "p",
          accessKey: "ASIAX",
          expiry: Timestamp(seconds: now.seconds + seconds)
        )
      }["credentials"]
    }
    #expect(verdict(3600) == .ok)
    #expect(verdict(60) == .warning)
    #expect(verdicts { $0.credentials = .missing("none") }["credentials"] == .failed)
    #expect(verdicts { $0.credentials = .anonymous }["credentials"] == .ok)
  }

  @Test
  func plainHTTPIsAWarningAndADirectoryHasNoEndpoint() {
    #expect(verdicts { $0.isEncrypted = false }["TLS"] == .warning)
    let local = StoreJudgement.checks(StoreFacts(bucket: "file:///b", listing: .done), now: now)
    #expect(local.map(\.check) == ["may list", "may head", "may get"])
  }

  @Test
  func aRefusedOperationNamesTheRight() throws {
    var facts = healthy
    facts.get = failure(.accessDenied, status: 403, code: "AccessDenied")
    let check = try #require(
      StoreJudgement.checks(facts, now: now).first { $0.check == "may get" }
    )
    #expect(check.verdict == .failed)
    #expect(check.advice?.contains("s3:GetObject") == true)
  }

  @Test
  func aBucketOfTOSIsAdvisedInItsOwnWords() throws {
    func advice(_ check: String, _ change: (inout StoreFacts) -> Void) -> String? {
      var facts = healthy
      facts.bucket = "tos://b"
      change(&facts)
      return StoreJudgement.checks(facts, now: now).first { $0.check == check }?.advice
    }
    #expect(
      advice("credentials") { $0.credentials = .missing("none") }
        == "set TOS_ACCESS_KEY and TOS_SECRET_KEY, name a --profile, or give --anonymous"
    )
    #expect(
      advice("endpoint") { $0.listing = failure(.unreachable) }?.contains("TOS_ENDPOINT") == true
    )
    #expect(
      advice("may get") { $0.get = failure(.accessDenied, status: 403) }?.contains("tos:GetObject")
        == true
    )
  }

  @Test
  func whatWasPassedOverIsAWarningWithItsReason() throws {
    var facts = healthy
    facts.credentials = .found(
      place: "~/.tosutilconfig",
      accessKey: "AKLTX",
      expiry: nil,
      remarks: ["one is encrypted", "the other can be read by all"]
    )
    let check = try #require(StoreJudgement.checks(facts, now: now).first)
    #expect(check.verdict == .warning)
    #expect(check.advice == "one is encrypted; the other can be read by all")
  }

  @Test
  func anonymousRequestsNeedNoRegion() throws {
    var facts = healthy
    facts.credentials = .anonymous
    facts.region = ""
    let check = try #require(
      StoreJudgement.checks(facts, now: now).first { $0.check == "region" }
    )
    #expect(check.verdict == .ok)
    #expect(check.message == "none needed: requests are not signed")
  }

  @Test
  func nothingOfASecretAndLittleOfTheKeyIsShown() {
    let checks = StoreJudgement.checks(healthy, now: now)
    #expect(!checks.contains { $0.message.contains("AKIAEXAMPLE") })
  }
}
