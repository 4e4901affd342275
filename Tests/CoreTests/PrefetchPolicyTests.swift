import Core
import Simulation
import Testing

@Suite struct PrefetchPolicyTests {
  private let kibi = 1 << 10
  private let mebi = 1 << 20
  private let gibi = 1 << 30

  /// What the cache would do with the plans: each range becomes at most one request, for what isn't
  /// there yet.
  private struct Trace {
    var policy: PrefetchPolicy
    let size: Int
    let limits: PrefetchPolicy.Limits
    var fetched = ByteRangeSet()
    var requests: [ByteRange] = []
    var abandoned: [ByteRange] = []
    var aheadCount = 0

    init(size: Int, limits: PrefetchPolicy.Limits = .init()) {
      policy = PrefetchPolicy(objectSize: size, limits: limits)
      self.size = size
      self.limits = limits
    }

    /// Reads and checks what holds for every plan; returns the requests that the read started.
    @discardableResult
    mutating func read(_ offset: Int, _ count: Int, by reader: UInt64 = 0) -> [ByteRange] {
      let range = ByteRange(offset, min(offset + count, size))
      let decision = policy.readRequested(range, by: reader)
      let plan = decision.plan
      var covered = ByteRangeSet()
      for planned in plan.demand + plan.ahead {
        #expect(!planned.isEmpty && planned.upperBound <= size)
        #expect(planned.count <= max(limits.partSize, range.count))
        #expect(!covered.intersects(planned), "\(planned) is planned twice")
        covered.insert(planned)
      }
      #expect(ByteRangeSet(plan.demand).contains(range), "the demand covers the read")
      var started: [ByteRange] = []
      for planned in plan.demand + plan.ahead {
        let missing = fetched.gaps(in: planned)
        guard let first = missing.first, let last = missing.last else { continue }
        started.append(ByteRange(first.lowerBound, last.upperBound))
        fetched.insert(planned)
      }
      aheadCount += plan.ahead.count
      requests += started
      abandoned += decision.abandoned
      return started
    }
  }

  @Test func r2AReaderOfPiecesGetsLittleMoreThanAPieceOfTheLastLength() {
    var trace = Trace(size: gibi)
    var useful = 0
    var before = 0
    for number in 0..<10 {
      // At odd distances, so that no stride shows.
      let start = (10 * number + number * number % 7) * mebi + 5 * 4096 * number
      for half in 0..<2 { trace.read(start + half * 512 * kibi, 500 * kibi) }
      useful += mebi
      if number == 0 { before = trace.fetched.byteCount - useful }
    }
    let overFetch = trace.fetched.byteCount - useful - before
    #expect(overFetch <= 9 * 512 * kibi, "\(overFetch)")
    // Who goes on gets more.
    for offset in stride(from: 200 * mebi, to: 264 * mebi, by: mebi) { trace.read(offset, mebi) }
    #expect(trace.policy.outstanding.reduce(0) { $0 + $1.count } >= 32 * mebi)
  }

  @Test func aColdSequentialReadSoonRunsWithFullPartsInParallel() {
    var trace = Trace(size: gibi)
    var beyond: [Int] = []
    for offset in stride(from: 0, to: gibi, by: mebi) {
      trace.read(offset, mebi)
      if offset >= 64 * mebi { beyond.append(trace.policy.outstanding.count) }
    }
    #expect(trace.abandoned.isEmpty)
    #expect(trace.fetched.ranges == [ByteRange(0, gibi)])
    #expect(trace.requests.reduce(0) { $0 + $1.count } == gibi, "nothing is fetched twice")
    let late = trace.requests.filter { $0.lowerBound >= 64 * mebi }
    #expect(late.allSatisfy { $0.count == 8 * mebi && $0.lowerBound % (8 * mebi) == 0 })
    #expect(trace.requests.count < 150, "\(trace.requests.count)")
    #expect(beyond.prefix(800).allSatisfy { $0 >= 7 }, "at least seven whole parts lie ahead")
  }

  @Test(arguments: [4, 64, 128, 1000])
  func sequentialReadsOfAnySizeProveThemselves(sizeKibi: Int) {
    let partCount = sizeKibi < 64 ? 12 : 32
    let size = partCount * 8 * mebi
    var trace = Trace(size: size)
    for offset in stride(from: 0, to: size, by: sizeKibi * kibi) {
      trace.read(offset, sizeKibi * kibi)
    }
    #expect(trace.requests.reduce(0) { $0 + $1.count } == size)
    #expect(trace.requests.filter { $0.count == 8 * mebi }.count >= partCount * 5 / 8)
    #expect(trace.abandoned.isEmpty)
  }

  @Test func whatLiesAheadIsASmallMultipleOfWhatWasRead() {
    var trace = Trace(size: gibi)
    for step in 0..<200 {
      trace.read(step * 128 * kibi, 128 * kibi)
      let done = (step + 1) * 128 * kibi
      let planned = trace.fetched.byteCount
      #expect(planned <= done + min(4 * done, 64 * mebi) + 8 * mebi, "after \(done) bytes")
    }
  }

  @Test(arguments: 0..<50 as Range<UInt64>)
  func readaheadOutOfOrderIsStillSequential(seed: UInt64) {
    var generator = Seeded(seed)
    var offsets = Array(stride(from: 0, to: 512 * mebi, by: mebi))
    // Up to four reads of 1 MiB are outstanding and are taken up in any order.
    for index in stride(from: 0, to: offsets.count, by: 4) {
      offsets[index..<index + 4].shuffle(using: &generator)
    }
    var trace = Trace(size: 512 * mebi)
    for offset in offsets { trace.read(offset, mebi) }
    #expect(trace.abandoned.isEmpty, "seed \(seed)")
    #expect(trace.requests.filter { $0.count == 8 * mebi }.count >= 50, "seed \(seed)")
    #expect(trace.fetched.ranges == [ByteRange(0, 512 * mebi)])
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func r2ARandomReadOf4KiBIsOneRequestOfAtMost128KiB(seed: UInt64) {
    var generator = Seeded(seed)
    let size = [3 * mebi, 40 * mebi + 5, gibi][Int(seed % 3)]
    var trace = Trace(size: size)
    for _ in 0..<300 {
      let offset = Int.random(in: 1..<size, using: &generator) / (seed % 2 == 0 ? 1 : 4096)
      let start = offset * (seed % 2 == 0 ? 1 : 4096)
      let started = trace.read(start, 4 * kibi)
      #expect(started.count <= 1 && started.allSatisfy { $0.count <= 128 * kibi }, "seed \(seed)")
    }
    #expect(trace.aheadCount == 0, "seed \(seed)")
  }

  @Test func aLoneReadIsAlignedToItsBlockAndClippedToTheObject() {
    var trace = Trace(size: 10 * mebi + 7)
    #expect(trace.read(5 * mebi + 5000, 4096) == [ByteRange(5 * mebi, 5 * mebi + 128 * kibi)])
    // The end is fetched as one: 128 KiB from the first page that leaves no more than that.
    #expect(trace.read(10 * mebi, 4096) == [ByteRange(10 * mebi - 124 * kibi, 10 * mebi + 7)])
    #expect(trace.read(10 * mebi - 64 * kibi, 64 * kibi).isEmpty)
    // Across a border of blocks one request still does.
    #expect(
      trace.read(3 * mebi - 2048, 4096)
        == [ByteRange(3 * mebi - 4096, 3 * mebi + 124 * kibi)]
    )
  }

  @Test(arguments: [4, 64, 512])
  func backwardReadsAreAStreamToo(sizeKibi: Int) {
    let size = 24 * mebi + 12_345
    let count = sizeKibi * kibi
    var trace = Trace(size: size)
    var aheadCounts: [Int] = []
    for upper in stride(from: size, to: 0, by: -count) {
      trace.read(max(0, upper - count), min(count, upper))
      aheadCounts.append(trace.policy.outstanding.count)
    }
    #expect(trace.fetched.ranges == [ByteRange(0, size)])
    #expect(trace.requests.reduce(0) { $0 + $1.count } == size, "nothing is fetched twice")
    // No larger, because what is wanted first comes last.
    #expect(trace.requests.allSatisfy { $0.count <= mebi })
    #expect(trace.requests.count < 100, "\(trace.requests.count)")
    #expect(aheadCounts[aheadCounts.count / 2] >= 7)
    #expect(trace.abandoned.isEmpty)
  }

  @Test func aFewReadsBackwardAreNoStream() {
    var trace = Trace(size: gibi)
    for offset in [512, 511, 510, 509] { trace.read(offset * mebi, mebi) }
    #expect(trace.aheadCount == 0, "as readahead that was taken up in the wrong order")
    #expect(trace.requests.map(\.count) == [mebi, mebi, mebi, mebi])
  }

  @Test func r2ReadsAtEqualDistancesAreExpectedBlockByBlock() {
    var trace = Trace(size: gibi)
    var ahead: [Int] = []
    for offset in stride(from: 4096, to: gibi, by: mebi) {
      let started = trace.read(offset, 4096)
      #expect(started.allSatisfy { $0.count == 128 * kibi })
      ahead.append(trace.policy.outstanding.count)
    }
    #expect(ahead.prefix(5) == [0, 0, 0, 1, 2], "after three equal steps")
    #expect(ahead[20] == 8)
    #expect(trace.requests.count == 1024, "one for each, and none more")
    #expect(trace.abandoned.isEmpty)
    // One step that is another ends it.
    var broken = Trace(size: gibi)
    for step in 0..<20 { broken.read(step * 10 * mebi + 4096, 4096) }
    broken.read(gibi / 2 + 77 * kibi, 4096)
    #expect(broken.abandoned.count == 8)
    #expect(broken.policy.outstanding.isEmpty)
  }

  @Test func r2PiecesFarApartAreNotOneStream() {
    // As the column of a table in ten row groups: 1 MiB of every 6.
    var trace = Trace(size: 64 * mebi)
    for group in 0..<10 {
      trace.read(2 * mebi + group * 6 * mebi, mebi / 2)
      trace.read(2 * mebi + group * 6 * mebi + mebi / 2, mebi / 2)
    }
    let fetched = trace.fetched.byteCount - trace.abandoned.reduce(0) { $0 + $1.count }
    #expect(fetched <= 40 * mebi, "\(fetched / mebi) MiB")
  }

  @Test func denseStridesGoBlockByBlock() {
    var trace = Trace(size: 16 * mebi)
    for offset in stride(from: 0, to: 16 * mebi - 4096, by: 12 * kibi) { trace.read(offset, 4096) }
    #expect(trace.requests.count <= 16 * 8 + 8, "\(trace.requests.count)")
    #expect(trace.requests.allSatisfy { $0.count <= 128 * kibi })
    #expect(trace.aheadCount >= 100, "the reader seldom waits: \(trace.aheadCount)")
  }

  @Test func theWindowFollowsTheLink() {
    // 4 MiB/s: a second of it lies ahead, in four requests or more.
    let slow = Link(bytesPerSecond: Double(4 * mebi), delay: .milliseconds(20))
    var policy = PrefetchPolicy(objectSize: gibi)
    for step in 0..<256 {
      let decision = policy.readRequested(ByteRange(offset: step * mebi, count: mebi), over: slow)
      #expect((decision.plan.demand + decision.plan.ahead).allSatisfy { $0.count <= mebi })
      let ahead = policy.outstanding.reduce(0) { $0 + $1.count }
      #expect(ahead <= 4 * mebi)
      if step > 16 { #expect(ahead >= 3 * mebi && policy.outstanding.count >= 3) }
    }
    // As slow, and far away: four times its delay.
    let far = Link(bytesPerSecond: Double(4 * mebi), delay: .seconds(2))
    // A fast one gets the whole window.
    let fast = Link(bytesPerSecond: Double(400 * mebi), delay: .milliseconds(20))
    for (link, expected) in [(far, 28 * mebi), (fast, 56 * mebi)] {
      var policy = PrefetchPolicy(objectSize: gibi)
      for step in 0..<256 {
        _ = policy.readRequested(ByteRange(offset: step * mebi, count: mebi), over: link)
      }
      #expect(policy.outstanding.reduce(0) { $0 + $1.count } >= expected)
    }
  }

  @Test func aSmallObjectIsOneRequest() {
    var trace = Trace(size: 900 * kibi)
    #expect(trace.read(0, 128 * kibi) == [ByteRange(0, 900 * kibi)])
    #expect(trace.read(128 * kibi, 772 * kibi).isEmpty)
    var tiny = Trace(size: 5)
    #expect(tiny.read(0, 4096) == [ByteRange(0, 5)])
  }

  @Test func theFooterAndThenTheStartDoesNotGuess() {
    var trace = Trace(size: 100 * mebi)
    trace.read(100 * mebi - 8, 8)
    trace.read(99 * mebi, 64 * kibi)
    trace.read(0, 4096)
    trace.read(37 * mebi, 256 * kibi)
    #expect(trace.aheadCount == 0)
    #expect(trace.requests.map(\.count) == [128 * kibi, 128 * kibi, 128 * kibi, 256 * kibi])
    // A small read of the end, and then of more of it, is one request, wherever the end is.
    var odd = Trace(size: 100 * mebi + 22)
    odd.read(100 * mebi, 22)
    odd.read(100 * mebi + 22 - 65_557, 65_557)
    #expect(odd.requests.count == 1)
  }

  @Test func r2ABrokenPatternStopsTheGuessing() {
    var trace = Trace(size: gibi)
    for step in 0..<32 { trace.read(step * mebi, mebi) }
    let ahead = trace.policy.outstanding
    #expect(!ahead.isEmpty)
    trace.read(700 * mebi, 4096)
    #expect(trace.abandoned.isEmpty, "one stray read is forgiven")
    trace.read(500 * mebi, 4096)
    #expect(Set(trace.abandoned) == Set(ahead))
    #expect(trace.policy.outstanding.isEmpty)
    let count = trace.aheadCount
    trace.read(600 * mebi, 4096)
    trace.read(800 * mebi, 4096)
    #expect(trace.aheadCount == count)
  }

  @Test func aSeekThatGoesOnSequentiallyAbandonsTheOldPlace() {
    var trace = Trace(size: gibi)
    for step in 0..<32 { trace.read(step * mebi, mebi) }
    trace.read(512 * mebi, mebi)
    trace.read(513 * mebi, mebi)
    #expect(!trace.abandoned.isEmpty)
    #expect(trace.policy.outstanding.allSatisfy { $0.lowerBound >= 514 * mebi })
  }

  @Test func oneStrayReadDoesNotEndAStream() {
    var trace = Trace(size: gibi)
    for step in 0..<64 {
      trace.read(step * mebi, mebi)
      if step % 4 == 3 { trace.read(gibi - (step + 1) * mebi, 4096) }
    }
    #expect(trace.abandoned.isEmpty)
  }

  @Test func readersOfOneObjectShareItsStreams() {
    // The kernel's pages are shared, so each reader's own reads have gaps that others have filled.
    var trace = Trace(size: 256 * mebi)
    var generator = Seeded(1)
    for step in 0..<256 {
      trace.read(step * mebi, mebi, by: UInt64.random(in: 0..<8, using: &generator))
    }
    #expect(trace.abandoned.isEmpty)
    #expect(trace.requests.reduce(0) { $0 + $1.count } == 256 * mebi)
    #expect(trace.requests.filter { $0.count == 8 * mebi }.count >= 28)
  }

  @Test func readersFarApartEachHaveTheirStream() {
    var trace = Trace(size: gibi)
    for step in 0..<64 {
      for reader in 0..<8 as Range<UInt64> {
        trace.read(Int(reader) * 128 * mebi + step * mebi, mebi, by: reader)
      }
    }
    #expect(trace.abandoned.isEmpty)
    #expect(trace.requests.filter { $0.count == 8 * mebi }.count >= 48)
  }

  @Test func aReaderThatLeavesAStreamLeavesItToTheOthers() {
    var trace = Trace(size: gibi)
    for step in 0..<32 { trace.read(step * mebi, mebi, by: UInt64(step % 2)) }
    let ahead = trace.policy.outstanding
    for offset in [700, 500, 300] { trace.read(offset * mebi, 4096, by: 0) }
    #expect(trace.abandoned.isEmpty && trace.policy.outstanding == ahead)
    for offset in [701, 501] { trace.read(offset * mebi, 4096, by: 1) }
    #expect(Set(trace.abandoned) == Set(ahead))
  }

  @Test func r2ClosingAbandonsWhatAReaderAloneWanted() {
    var trace = Trace(size: gibi)
    for step in 0..<32 { trace.read(step * mebi, mebi, by: UInt64(step % 2)) }
    for step in 0..<32 { trace.read(512 * mebi + step * mebi, mebi, by: 2) }
    let unwanted = trace.policy.readerClosed(2)
    #expect(!unwanted.isEmpty && unwanted.allSatisfy { $0.lowerBound >= 512 * mebi })
    #expect(trace.policy.readerClosed(0).isEmpty, "the other goes on")
    #expect(!trace.policy.readerClosed(1).isEmpty)
    #expect(trace.policy.outstanding.isEmpty)
  }

  @Test func interleavedReadersDoNotDisturbEachOther() {
    // On one handle two streams run side by side.
    var shared = Trace(size: gibi)
    for step in 0..<256 {
      shared.read(step * mebi, mebi)
      shared.read(512 * mebi + step * mebi, mebi)
    }
    #expect(shared.abandoned.isEmpty)
    #expect(shared.requests.reduce(0) { $0 + $1.count } <= 512 * mebi + 128 * mebi)
    #expect(shared.requests.filter { $0.count == 8 * mebi }.count >= 40)
  }

  @Test func limitsAreKept() {
    let limits = PrefetchPolicy.Limits(
      partSize: 20 * mebi,
      aheadMax: 50 * mebi,
      parallelMax: 2
    )
    var trace = Trace(size: gibi, limits: limits)
    for step in 0..<512 {
      trace.read(step * mebi, mebi)
      #expect(trace.policy.outstanding.count <= 2)
      #expect(trace.policy.outstanding.reduce(0) { $0 + $1.count } <= 50 * mebi)
    }
    var none = Trace(size: gibi, limits: .init(aheadMax: 0))
    for step in 0..<512 { none.read(step * mebi, mebi) }
    #expect(none.aheadCount == 0)
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func anyReadsAtAllKeepTheRules(seed: UInt64) {
    var generator = Seeded(seed)
    let size = Int.random(in: 1..<(50 << 20), using: &generator)
    let part = Int.random(in: 1..<(9 << 20), using: &generator)
    var trace = Trace(size: size, limits: .init(partSize: part, aheadMax: 10 << 20, parallelMax: 3))
    var offset = 0
    for _ in 0..<200 {
      if Int.random(in: 0..<5, using: &generator) == 0 || offset >= size {
        offset = Int.random(in: 0..<size, using: &generator)
      }
      let count = Int.random(
        in: 1..<(1 << Int.random(in: 1..<22, using: &generator)),
        using: &generator
      )
      trace.read(offset, count)
      offset += count
    }
  }
}
