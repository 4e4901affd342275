import Core
import Testing

@testable import ObjectFiles

@Suite struct VainWaitsTests {
  private let error = FileError(.timedOut, "nothing came")
  private let start = Instant(nanoseconds: 1_000_000_000_000)

  private func waits() -> VainWaits { VainWaits(patience: .seconds(60), span: .milliseconds(500)) }

  /// One wait of `range` that began at the start and ended after `seconds`.
  private func failed(_ range: ByteRange, after seconds: Int) -> VainWaits {
    var waits = waits()
    let budget = waits.budget(for: range, at: start)
    waits.failed(range, budget, error, at: start + .seconds(seconds))
    return waits
  }

  @Test func r5AWaitOfAWholeDeadlineRefusesAllForAMoment() {
    var waits = failed(ByteRange(0, 100), after: 60)
    let end = start + .seconds(60)
    #expect(waits.budget(for: ByteRange(50, 60), at: end).refusal == error)
    #expect(waits.budget(for: ByteRange(500, 600), at: end).refusal == error)
    let after = waits.budget(for: ByteRange(0, 100), at: end + .milliseconds(500))
    #expect(after.refusal == nil)
    #expect(after.patience == .seconds(60))
  }

  @Test func r5ShortWaitsAddUpToOneDeadline() {
    var waits = failed(ByteRange(0, 100), after: 20)
    var now = start + .seconds(20)
    #expect(waits.budget(for: ByteRange(0, 100), at: now).refusal == error, "the same again")
    let next = waits.budget(for: ByteRange(100, 200), at: now)
    #expect(next.refusal == nil)
    #expect(next.patience == .seconds(40))
    now = now + .seconds(20)
    waits.failed(ByteRange(100, 200), next, error, at: now)
    #expect(waits.budget(for: ByteRange(200, 300), at: now).refusal == error)
  }

  @Test func bytesThatCameEndTheSilence() {
    var waits = failed(ByteRange(0, 100), after: 60)
    let end = start + .seconds(60)
    waits.served(at: end)
    #expect(waits.budget(for: ByteRange(500, 600), at: end).patience == .seconds(60))
    #expect(waits.budget(for: ByteRange(0, 100), at: end).refusal == error, "these didn't come")
  }

  @Test func aStoreThatBroughtOtherBytesMeanwhileWasNotSilent() {
    var waits = waits()
    let budget = waits.budget(for: ByteRange(0, 100), at: start)
    waits.served(at: start + .seconds(30))
    waits.failed(ByteRange(0, 100), budget, error, at: start + .seconds(60))
    #expect(waits.budget(for: ByteRange(500, 600), at: start + .seconds(60)).refusal == nil)
  }

  @Test func onlySoManyAreRemembered() {
    var waits = waits()
    for index in 0...VainWaits.countMax {
      let range = ByteRange(offset: index * 100, count: 100)
      let budget = VainWaits.Budget(since: start, patience: .zero, refusal: nil)
      waits.failed(range, budget, error, at: start + .milliseconds(1))
    }
    let now = start + .milliseconds(2)
    #expect(waits.budget(for: ByteRange(0, 100), at: now).refusal == nil)
    #expect(waits.budget(for: ByteRange(100, 200), at: now).refusal == error)
  }
}
