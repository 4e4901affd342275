import Core
import Glibc
import Testing

@testable import Support

@Suite struct TimersTests {
  @Test(arguments: 0..<20) func theQueueGivesTheEarliestFirst(seed: UInt64) {
    var random = SystemRandomNumberGenerator()
    var queue = DeadlineQueue()
    var model: [UInt64: Int64] = [:]
    for id in 0..<UInt64(200 + seed) {
      let deadline = Int64.random(in: 0..<50, using: &random)
      queue.insert(id, at: Instant(nanoseconds: deadline))
      model[id] = deadline
      if id % 3 == 0 {
        #expect(queue.earliest?.nanoseconds == model.values.min())
        if let first = queue.removeFirst() { model[first] = nil }
      }
    }
    queue.keep { $0 % 2 == 0 }
    model = model.filter { $0.key % 2 == 0 }
    #expect(queue.count == model.count)
    while let earliest = queue.earliest {
      #expect(earliest.nanoseconds == model.values.min())
      if let first = queue.removeFirst() { model[first] = nil }
    }
    #expect(model.isEmpty)
  }

  @Test func anEarlierActionRunsBeforeALaterOne() async {
    let timers = Timers()
    let order = Lock<[Int]>([])
    let done = Gate()
    let now = SystemClock().now
    _ = timers.schedule(at: now + .seconds(3600)) { order.withLock { $0.append(3) } }
    _ = timers.schedule(at: now + .milliseconds(40)) {
      order.withLock { $0.append(2) }
      done.open()
    }
    _ = timers.schedule(at: now + .milliseconds(5)) { order.withLock { $0.append(1) } }
    await done.wait()
    #expect(order.withLock { $0 } == [1, 2])
  }

  @Test func aCancelledActionDoesNotRun() async {
    let timers = Timers()
    let ran = Lock(false)
    let done = Gate()
    let token = timers.schedule(after: .milliseconds(10)) { ran.withLock { $0 = true } }
    _ = timers.schedule(after: .milliseconds(30)) { done.open() }
    timers.cancel(token)
    await done.wait()
    #expect(!ran.withLock { $0 })
  }

  @Test func theThreadsEndWithTheirOwner() throws {
    // Other suites have pools and timers too: only a large number tells.
    let before = try Self.threadCount()
    for _ in 0..<200 {
      let timers = Timers()
      _ = timers.schedule(after: .seconds(3600)) {}
      let pool = BlockingPool(threadCount: 1)
      pool.submit {}
    }
    var left = 400
    for _ in 0..<500 where left > 100 {
      usleep(10_000)
      left = try Self.threadCount() - before
    }
    #expect(left <= 100)
  }

  private static func threadCount() throws -> Int {
    let directory = try #require(opendir("/proc/self/task"))
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count
  }
}
