import Core
import Testing

@testable import Filesystem

@Suite struct PatienceLedgerTests {
  private var ledger = PatienceLedger(patience: .seconds(60), span: .milliseconds(500))
  private let refusal = FileError(.timedOut, "no answer")

  private func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  private func budget(_ key: String, at milliseconds: Int64) -> PatienceLedger.Budget {
    ledger.budget(for: ObjectKey(key), at: at(milliseconds))
  }

  @Test func whatComesFirstHasAllTheTime() {
    let budget = budget("d/f", at: 1000)
    #expect(budget.since == at(1000))
    #expect(budget.deadline == at(61_000))
    #expect(budget.refusal == nil)
  }

  @Test mutating func theSecondQuestionIsRefusedAtOnceForAWhile() {
    let first = budget("d/f", at: 0)
    ledger.failed(first, refusal, at: at(57_000))
    #expect(budget("d/f", at: 57_000).refusal == refusal)
    #expect(budget("d/f", at: 57_499).refusal == refusal)
    #expect(budget("d/f", at: 57_500).refusal == nil)
    #expect(budget("d/f", at: 57_500).deadline == at(117_500), "a new call has all the time")
    #expect(budget("d/g", at: 57_001).refusal == nil, "another name is another question")
    #expect(budget("d", at: 57_001).refusal == nil)
    #expect(budget("d/f/x", at: 57_001).refusal == nil)
  }

  @Test mutating func aRefusalDoesNotProlongItself() {
    ledger.failed(budget("f", at: 0), refusal, at: at(60_000))
    for moment in stride(from: 60_000, to: 60_500, by: 100) as StrideTo<Int64> {
      #expect(budget("f", at: moment).refusal != nil)
    }
    #expect(budget("f", at: 60_500).refusal == nil)
  }

  @Test mutating func aFailureThatWasQuickIsAskedAgainWithTheTimeThatIsLeft() {
    ledger.failed(budget("f", at: 0), refusal, at: at(100))
    let second = budget("f", at: 101)
    #expect(second.refusal == nil)
    #expect(second.deadline == at(60_000))
    ledger.failed(second, refusal, at: at(29_000))
    let third = budget("f", at: 29_001)
    #expect(third.deadline == at(60_000), "however often")
    ledger.failed(third, refusal, at: at(30_000))
    #expect(budget("f", at: 30_001).refusal != nil)
  }

  @Test mutating func whatADirectoryWaitedIsMissingBelowIt() {
    ledger.fellBack(budget("a/b/", at: 0), at: at(5000))
    for key in ["a/b", "a/b/", "a/b/c", "a/b/c/d"] {
      #expect(budget(key, at: 5001).deadline == at(60_000), "\(key)")
    }
    for key in ["a", "a/bc", "a/c", "b/c"] {
      #expect(budget(key, at: 5001).deadline == at(65_001), "\(key)")
    }
    #expect(budget("a/b/c", at: 5500).deadline == at(65_500), "another call")
  }

  @Test mutating func aPathOfManyUnansweredNamesEndsByOneDeadline() {
    var now: Int64 = 0
    var path = ""
    for _ in 0..<30 {
      path += path.isEmpty ? "a" : "/a"
      let budget = budget(path, at: now)
      guard budget.refusal == nil else { break }
      #expect(budget.deadline == at(60_000))
      now += 5000
      ledger.fellBack(budget, at: at(now))
    }
    #expect(now <= 60_000)
    #expect(budget(path, at: now).refusal?.code == .timedOut)
  }

  @Test mutating func theSlashesOfOddKeysAreNamesLikeOthers() {
    ledger.fellBack(budget("a//", at: 0), at: at(5000))
    #expect(budget("a//b", at: 5001).deadline == at(60_000))
    #expect(budget("a/b", at: 5001).deadline == at(65_001))
    ledger.fellBack(budget("", at: 6000), at: at(11_000))
    #expect(budget("x", at: 11_001).deadline == at(71_001), "listing the root is no name's wait")
  }

  @Test mutating func whatIsRememberedIsBounded() {
    for number in 0..<10_000 {
      ledger.failed(budget("f\(number)", at: 0), refusal, at: at(57_000))
    }
    #expect(budget("f9999", at: 57_001).refusal != nil)
    let count = (0..<10_000).count { budget("f\($0)", at: 57_001).refusal != nil }
    #expect(count <= 4096)
  }
}
