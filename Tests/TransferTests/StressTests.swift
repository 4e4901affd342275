import Core
import Simulation
import Support
import Testing
import Transfer

/// Several threads read, cancel, guess and abandon at once; run it under the thread sanitizer.
@Suite struct StressTests {
  @Test(arguments: 0..<4) func manyThreadsGetTheirOwnBytesOnce(seed: UInt64) async throws {
    let size = 2 << 20
    let bench = try Workbench(size: size, chunkSize: 8 << 10)
    var settings = DownloadSettings()
    settings.limits.farAhead = 128 << 10
    settings.limits.worthFinishing = 64 << 10
    settings.limits.worthFinishingAhead = 16 << 10
    let download = try bench.open(settings: settings)
    let done = Lock(0)
    let threadCount = 4
    let problems = Lock<[String]>([])
    let waiters = Lock<[(CollectingWaiter, ByteRange)]>([])
    for number in 0..<threadCount {
      try Thread.require("reader-\(number)") {
        var random = Seeded(seed &* 100 &+ UInt64(number))
        for _ in 0..<150 {
          let lower = Int.random(in: 0..<size, using: &random)
          let range = ByteRange(
            lower,
            min(size, lower + Int.random(in: 1...40_000, using: &random))
          )
          let part = ByteRange(
            lower / 262_144 * 262_144,
            min(size, lower / 262_144 * 262_144 + 524_288)
          )
          let waiter = CollectingWaiter(range)
          let plan = FetchPlan(
            demand: [part],
            ahead: [ByteRange(part.upperBound, size)].filter { !$0.isEmpty }
          )
          switch download.read(range, plan: plan, makeWaiter: { waiter }) {
          case .ready(let descriptor):
            if readBytes(of: descriptor, range) != bench.bytes(range) {
              problems.withLock { $0.append("wrong bytes at \(range)") }
            }
          case .failed(let error): problems.withLock { $0.append("\(error)") }
          case .waiting(let id):
            waiters.withLock { $0.append((waiter, range)) }
            if Int.random(in: 0..<4, using: &random) == 0 { download.cancel(id) }
          }
          if Int.random(in: 0..<5, using: &random) == 0 {
            download.abandonPrefetch(of: [ByteRange(0, size)])
          }
        }
        done.withLock { $0 += 1 }
      }
    }
    #expect(await eventually { done.withLock { $0 } == threadCount })
    for (waiter, range) in waiters.withLock({ $0 }) {
      switch await waiter.outcome() {
      case .success(let bytes): #expect(bytes == bench.bytes(range), "seed \(seed)")
      case .failure(let error): #expect(error == .cancelled, "seed \(seed)")
      }
      #expect(waiter.all.count == 1, "seed \(seed)")
    }
    #expect(problems.withLock { $0 } == [], "seed \(seed)")
    await download.close()
    #expect(bench.budget.usedByteCount == 0)
    #expect(bench.environment.scheduler.runningCount == 0)
    // What was recorded under all this is right.
    let again = try bench.open()
    let whole = ByteRange(0, size)
    #expect(await again.bytes(whole) == .success(bench.bytes(whole)), "seed \(seed)")
    await again.settled()
  }
}
