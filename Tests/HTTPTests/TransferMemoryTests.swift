import Core
import Testing

@testable import HTTP

@Suite struct TransferMemoryTests {
  @Test func aFewTransfersGetLargeBuffersAndManySmallerOnes() {
    let sizes = (0..<64).map { TransferMemory.bufferSize(expectedSize: nil, runningCount: $0) }
    #expect(sizes[..<8].allSatisfy { $0 == 512 << 10 })
    #expect(sizes.last == 128 << 10)
    #expect(sizes == sizes.sorted(by: >))
    #expect(sizes.reduce(0, +) < 14 << 20)
  }

  @Test func aSmallBodyGetsASmallBuffer() {
    for runningCount in [0, 7, 63, 1000] {
      func size(_ expected: Int) -> Int {
        TransferMemory.bufferSize(expectedSize: expected, runningCount: runningCount)
      }
      #expect(size(0) == 16 << 10)
      #expect(size(50_000) == 50_000)
      #expect((128 << 10...512 << 10).contains(size(8 << 20)))
    }
  }

  @Test func theHeapIsTrimmedOnceAfterABurst() {
    var memory = TransferMemory()
    let end = Instant(nanoseconds: 0)
    memory.started(runningCount: 5)
    memory.started(runningCount: 4)
    memory.becameIdle(at: end)
    let isDue = [0, 999, 1000, 5000].map { memory.isTrimDue(at: end + .milliseconds($0)) }
    #expect(isDue == [false, false, true, false])
  }

  @Test func aNewTransferPutsTheTrimOff() {
    var memory = TransferMemory()
    memory.started(runningCount: 5)
    memory.becameIdle(at: Instant(nanoseconds: 0))
    memory.started(runningCount: 1)
    #expect(memory.nextTrim == .distantFuture)
    memory.becameIdle(at: Instant(nanoseconds: 10))
    #expect(memory.nextTrim == Instant(nanoseconds: 1_000_000_010))
  }

  @Test func fewTransfersAreNoBurst() {
    var memory = TransferMemory()
    memory.started(runningCount: 3)
    memory.becameIdle(at: Instant(nanoseconds: 0))
    #expect(memory.nextTrim == .distantFuture)
  }
}
