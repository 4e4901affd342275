import Core
import Testing

@Suite struct WalkPolicyTests {
  private func policy(after trace: [(rank: Int, entryCount: Int)]) -> WalkPolicy {
    var policy = WalkPolicy()
    for step in trace { policy.childListed(rank: step.rank, entryCount: step.entryCount) }
    return policy
  }

  /// A walk that has just begun.
  private var walk: WalkPolicy { policy(after: [(0, 20), (1, 20), (2, 20)]) }

  @Test func threeSmallDirectoriesFromTheFirstOnAreAWalk() {
    #expect(walk.begins(at: 3))
    #expect(!walk.begins(at: 7), "this one is somewhere else")
    #expect(!policy(after: [(0, 20), (1, 20)]).begins(at: 2))
    #expect(policy(after: [(0, 20), (1, 0), (1, 0), (0, 3), (1, 1), (2, 9)]).begins(at: 3))
  }

  @Test(arguments: [
    [(0, 20), (2, 20), (3, 20)], [(1, 20), (2, 20), (3, 20)], [(0, 20), (1, 5000), (2, 20)],
    [(0, 20), (1, 20), (5, 20), (2, 20)],
  ])
  func whatIsNoWalkOfSmallDirectoriesIsNone(_ trace: [(Int, Int)]) {
    let policy = policy(after: trace.map { (rank: $0.0, entryCount: $0.1) })
    #expect((0..<10).allSatisfy { !policy.begins(at: $0) })
  }

  @Test func aWalkMayBeginAnew() {
    #expect(policy(after: [(0, 20), (9, 20), (0, 20), (1, 20), (2, 20)]).begins(at: 3))
  }

  @Test func aFullWalkTakesOnePageForFiftyDirectories() {
    var policy = walk
    var pageCount = 0
    var readyCount = 0
    for _ in 0..<500 {
      while readyCount == 0 {
        guard policy.step(isAwaited: true, readyCount: 0) == .fetch else {
          Issue.record("it gave up")
          return
        }
        policy.pageArrived()
        pageCount += 1
        readyCount += 50
      }
      readyCount -= 1
      policy.answered()
    }
    #expect(pageCount == 10)
  }

  @Test func pagesThatAnswerForNothingEndIt() {
    var policy = walk
    policy.asked()
    #expect(policy.step(isAwaited: true, readyCount: 0) == .fetch)
    policy.pageArrived()
    #expect(policy.step(isAwaited: true, readyCount: 0) == .fetch)
    policy.pageArrived()
    #expect(policy.step(isAwaited: true, readyCount: 0) == .giveUp)
    // Nobody waits: it costs nothing to stand still.
    #expect(policy.step(isAwaited: false, readyCount: 0) == .pause)
  }

  @Test func creditThatWasEarnedIsNotSpentOnOneHugeDirectory() {
    var policy = walk
    policy.pageArrived()
    for _ in 0..<40 { policy.answered() }
    policy.asked()
    policy.pageArrived()
    policy.pageArrived()
    #expect(policy.step(isAwaited: true, readyCount: 0) == .giveUp)
  }

  @Test func itRunsAheadOnlySoFar() {
    var policy = walk
    policy.pageArrived()
    for _ in 0..<10 { policy.answered() }
    var aheadCount = 0
    while policy.step(isAwaited: false, readyCount: 0) == .fetch, aheadCount < 100 {
      policy.pageArrived()
      aheadCount += 1
    }
    #expect(aheadCount == WalkPolicy.aheadPageCountMax)
    policy.answered()
    #expect(policy.step(isAwaited: false, readyCount: 10) == .fetch)
    #expect(policy.step(isAwaited: false, readyCount: WalkPolicy.readyCountMax) == .pause)
    policy.ended()
    #expect(policy.step(isAwaited: true, readyCount: 0) == .giveUp)
  }
}
