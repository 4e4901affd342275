import Core
import StoreWire
import Testing

@testable import StoreClient

@Suite struct RetryMachineTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  private func machine(_ seconds: Int = 60, retries: Int? = nil) -> RetryMachine {
    RetryMachine(
      policy: RetryPolicy(),
      context: RequestContext(deadline: start + .seconds(seconds), retryCountMax: retries),
      now: start
    )
  }

  private func error(_ kind: StoreError.Kind, retryAfter: Duration? = nil) -> StoreError {
    StoreError(kind, .getObject, status: 503, code: "C", message: "why", retryAfter: retryAfter)
  }

  private func kind(_ action: RetryMachine.Action) -> StoreError.Kind? {
    guard case .fail(let error) = action else { return nil }
    return error.kind
  }

  @Test func waitsGrowAndKeepTheirCap() {
    var machine = machine(100_000)
    var waits: [Duration] = []
    for _ in 0..<10 {
      if case .wait(let until) = machine.failed(error(.throttled), at: start, random: 1) {
        waits.append(until - start)
      }
    }
    #expect(
      waits.prefix(4) == [
        .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800),
      ]
    )
    #expect(waits.last == .seconds(20))
    #expect(waits.count == 10)
  }

  @Test func diceOfZeroWaitNotAtAll() {
    var machine = machine()
    #expect(machine.failed(error(.unreachable), at: start, random: 0) == .wait(until: start))
  }

  @Test func countIsKept() {
    var machine = machine(retries: 2)
    #expect(kind(machine.failed(error(.unreachable), at: start, random: 0)) == nil)
    #expect(kind(machine.failed(error(.unreachable), at: start, random: 0)) == nil)
    #expect(kind(machine.failed(error(.unreachable), at: start, random: 0)) == .unreachable)
  }

  @Test func aStoreThatDoesNotAnswerIsGivenUpLongBeforeTheDeadlineOfABody() {
    var machine = RetryMachine(
      policy: RetryPolicy(),
      context: RequestContext(deadline: start + .seconds(86_400), retryPatience: .seconds(60)),
      now: start
    )
    // The first try took its time; what counts is how long it fails.
    let failed = start + .seconds(1_000)
    #expect(kind(machine.failed(error(.unreachable), at: failed, random: 0)) == nil)
    let later = failed + .seconds(59)
    #expect(kind(machine.failed(error(.unreachable), at: later, random: 0)) == nil)
    let last = failed + .seconds(60)
    #expect(kind(machine.failed(error(.unreachable), at: last, random: 0)) == .timedOut)
  }

  @Test func theTimeThatAStoreWasSilentCounts() {
    var machine = RetryMachine(
      policy: RetryPolicy(),
      context: RequestContext(deadline: start + .seconds(86_400), retryPatience: .seconds(60)),
      now: start
    )
    let first = machine.failed(
      error(.unreachable),
      remedy: .times(.max),
      at: start + .seconds(30),
      silence: .seconds(30),
      random: 0
    )
    #expect(kind(first) == nil)
    let second = machine.failed(
      error(.unreachable),
      remedy: .times(.max),
      at: start + .seconds(60),
      silence: .seconds(30),
      random: 0
    )
    #expect(kind(second) == .timedOut)
  }

  @Test func progressStartsCountAndDeadlineAnew() {
    var machine = machine(60, retries: 1)
    #expect(kind(machine.failed(error(.unreachable), at: start, random: 0)) == nil)
    machine.progressed(at: start + .seconds(50))
    #expect(machine.deadline == start + .seconds(110))
    #expect(kind(machine.failed(error(.unreachable), at: start + .seconds(55), random: 0)) == nil)
    #expect(
      kind(machine.failed(error(.unreachable), at: start + .seconds(56), random: 0))
        == .unreachable
    )
  }

  @Test func progressNeverShortensTheDeadline() {
    var machine = machine(60)
    machine.progressed(at: start + .seconds(-10))
    #expect(machine.deadline == start + .seconds(60))
  }

  @Test func deadlineThatNeverComesStays() {
    var machine = RetryMachine(
      policy: RetryPolicy(),
      context: RequestContext(deadline: .distantFuture),
      now: start
    )
    machine.progressed(at: start)
    #expect(machine.deadline == .distantFuture)
    #expect(kind(machine.failed(error(.throttled), at: start, random: 1)) == nil)
  }

  @Test func timeoutKeepsTheReasonBeforeIt() throws {
    var machine = machine()
    _ = machine.failed(error(.throttled), at: start, random: 0)
    let action = machine.failed(error(.timedOut), at: start + .seconds(60), random: 0)
    guard case .fail(let failure) = action else {
      Issue.record("a call that is out of time goes on")
      return
    }
    #expect(failure.kind == .timedOut)
    #expect(failure.code == "C")
    #expect(failure.message.contains("why"))
  }

  @Test func anInternalErrorIsGivenUpWithoutWaitingForTheDeadline() throws {
    var machine = machine()
    var internalError = error(.serverFailure)
    internalError.status = 500
    var gateway = internalError
    gateway.status = 502
    var now = start
    func fails(_ error: StoreError) -> StoreError? {
      switch machine.failed(error, at: now, random: 0) {
      case .wait(let until):
        now = until
        return nil
      case .fail(let failure): return failure
      }
    }
    for _ in 0..<20 { #expect(fails(gateway) == nil) }
    for _ in 0..<7 { #expect(fails(internalError) == nil) }
    #expect(fails(gateway) == nil, "another answer begins the count anew")
    for _ in 0..<7 { #expect(fails(internalError) == nil) }
    let failure = try #require(fails(internalError))
    #expect(failure.kind == .serverFailure, "not for lack of time")
  }

  @Test(arguments: StoreError.Kind.allCases)
  func onlyPassingFaultsAreRepeated(_ kind: StoreError.Kind) {
    var machine = machine()
    var failure = StoreError(kind, .getObject, message: "why")
    if kind == .conflict { failure.code = "OperationAborted" }
    let isRepeated = self.kind(machine.failed(failure, at: start, random: 0)) == nil
    let passing: [StoreError.Kind] = [
      .throttled, .serverFailure, .unreachable, .invalidAnswer, .conflict,
    ]
    #expect(isRepeated == passing.contains(kind))
  }
}

extension RetryMachine {
  /// A try of a store that speaks S3 failed.
  fileprivate mutating func failed(_ error: StoreError, at now: Instant, random: Double) -> Action {
    let remedy = S3Dialect(bucket: "b", isAmazons: false).remedy(for: error)
    return failed(error, remedy: remedy, at: now, random: random)
  }
}
