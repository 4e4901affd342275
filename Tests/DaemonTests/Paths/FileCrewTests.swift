import Daemon
import Support
import Testing

@Suite
struct FileCrewTests {
  @Test
  func everyFileIsDoneOnceAndTheWalkWaitsForRoom() throws {
    let done = Lock<[Int]>([])
    let gate = Monitor(false)
    let crew = try FileCrew<Int>(threadCount: 3) { file in
      gate.wait { isOpen, _ in isOpen ? () : nil }
      done.withLock { $0.append(file) }
    }
    let offered = Monitor(0)
    try Thread.require("test-walk") {
      for file in 0..<1000 {
        guard crew.offer(file) else { return }
        offered.withLock(wakingAll: true) { $0 += 1 }
      }
      crew.finish()
    }
    // As many as there are workers, and a short queue.
    offered.wait { count, _ in count >= 64 ? () : nil }
    #expect(!crew.waitUntilDone(for: .milliseconds(50)))
    #expect(offered.withLock { $0 } < 100)
    gate.withLock(wakingAll: true) { $0 = true }
    #expect(crew.waitUntilDone(for: .seconds(30)))
    #expect(done.withLock { $0.sorted() } == Array(0..<1000))
  }

  @Test
  func aStoppedCrewTakesNothingMore() throws {
    let crew = try FileCrew<Int>(threadCount: 1) { _ in }
    crew.stop()
    #expect(!crew.offer(1))
    #expect(crew.waitUntilDone(for: .seconds(30)))
  }
}
