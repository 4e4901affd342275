import Support
import Testing
import Transfer

@Suite struct FetchQueueTests {
  private func entry(_ id: UInt64) -> FetchQueue.Entry { FetchQueue.Entry(id: id, byteCount: 1) }

  private func drain(_ queue: inout FetchQueue) -> [UInt64] {
    var started: [UInt64] = []
    while let entry = queue.next {
      queue.startedNext()
      started.append(entry.id)
    }
    return started
  }

  @Test func urgentGoesBeforeAheadAndEachIsFirstComeFirstServed() {
    var queue = FetchQueue(slotCount: 8)
    for id in 0..<4 { queue.enqueued(entry(UInt64(id)), isUrgent: id % 2 == 1) }
    #expect(drain(&queue) == [1, 3, 0, 2])
  }

  @Test func guessesNeverTakeTheLastTwoSlots() {
    var queue = FetchQueue(slotCount: 4)
    for id in 0..<4 { queue.enqueued(entry(UInt64(id)), isUrgent: false) }
    #expect(drain(&queue) == [0, 1])
    queue.enqueued(entry(10), isUrgent: true)
    #expect(drain(&queue) == [10])
    queue.promoted(3)
    #expect(drain(&queue) == [3])
    #expect(queue.runningCount == 4)
  }

  @Test func oneSlotServesBothLines() {
    var queue = FetchQueue(slotCount: 1)
    queue.enqueued(entry(0), isUrgent: false)
    #expect(drain(&queue) == [0])
    queue.enqueued(entry(1), isUrgent: true)
    #expect(queue.next == nil)
    let ended = queue.ended(0)
    #expect(ended?.id == 0)
    #expect(drain(&queue) == [1])
  }

  @Test func aSlotHoldsSeveralSmallFetches() {
    var queue = FetchQueue(slotCount: 3)
    for id in 0..<5 as Range<UInt64> {
      queue.enqueued(FetchQueue.Entry(id: id, byteCount: 1, isSmall: true), isUrgent: false)
    }
    #expect(drain(&queue) == [0, 1, 2], "one slot is theirs, two are kept for urgent ones")
    queue.enqueued(entry(10), isUrgent: true)
    queue.enqueued(entry(11), isUrgent: true)
    #expect(drain(&queue) == [10, 11])
    _ = queue.ended(1)
    queue.enqueued(entry(12), isUrgent: true)
    #expect(queue.next == nil, "a large one needs a whole slot")
    _ = queue.ended(0)
    _ = queue.ended(2)
    #expect(drain(&queue) == [12])
  }

  @Test func whoGaveUpHasNoTurn() {
    var queue = FetchQueue(slotCount: 1)
    queue.enqueued(entry(0), isUrgent: true)
    queue.enqueued(entry(1), isUrgent: true)
    let (first, second) = (queue.cancelled(0), queue.cancelled(0))
    #expect(first && !second)
    #expect(drain(&queue) == [1])
  }
}

@Suite struct FetchSchedulerTests {
  @Test func memoryThatOthersHoldLimitsAllButOneFetch() async {
    let budget = MemoryBudget(limit: 2 * FetchScheduler.byteCountPerFetch)
    #expect(budget.take(budget.limit))
    let scheduler = FetchScheduler(parallel: 4, budget: budget)
    let first = scheduler.line(isUrgent: true)
    let second = scheduler.line(isUrgent: true)
    #expect(await first.wait())
    #expect(scheduler.runningCount == 1 && scheduler.waitingCount == 1)
    first.leave()
    #expect(await second.wait())
    second.leave()
    #expect(budget.usedByteCount == budget.limit)
  }

  @Test func aPlaceGivenUpIsNotGranted() async {
    let scheduler = FetchScheduler(parallel: 1, budget: MemoryBudget(limit: 1 << 30))
    let running = scheduler.line(isUrgent: true)
    let waiting = scheduler.line(isUrgent: true)
    waiting.giveUpWaiting()
    #expect(await waiting.wait() == false)
    running.leave()
    running.leave()
    #expect(scheduler.runningCount == 0)
  }
}
