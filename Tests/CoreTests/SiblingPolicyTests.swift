import Core
import Simulation
import Testing

@Suite struct SiblingPolicyTests {
  /// A directory of files, and what was fetched before it was opened.
  private struct Reader {
    var policy: SiblingPolicy
    let sizes: [Int]
    var fetched: [Int] = []
    var released: [Int] = []

    init(sizes: [Int], limits: SiblingPolicy.Limits = .init()) {
      policy = SiblingPolicy(limits: limits)
      self.sizes = sizes
    }

    /// Opens a file; returns what is fetched because of it.
    @discardableResult
    mutating func open(_ position: Int) -> [Int] {
      let decision = policy.fileOpened(at: position)
      released += decision.released
      guard let search = decision.search else { return [] }
      var found: [(position: Int, size: Int)] = []
      var next = search.start
      var byteCount = 0
      while next < min(sizes.count, search.start + search.rowCount),
        found.count < search.fileCount, byteCount < search.byteCount
      {
        if policy.isSmall(sizes[next]) {
          found.append((next, sizes[next]))
          byteCount += sizes[next]
        }
        next += 1
      }
      policy.guessed(found, end: next)
      fetched += found.map(\.position)
      return found.map(\.position)
    }
  }

  private let small = Array(repeating: 16 << 10, count: 1000)

  @Test func aRunProvesItselfWithItsThirdFileAndThenGrows() {
    var reader = Reader(sizes: small)
    #expect(reader.open(0).isEmpty && reader.open(1).isEmpty)
    #expect(reader.open(2) == [3, 4, 5, 6])
    var ahead = 4
    for position in 3..<40 { ahead += reader.open(position).count - 1 }
    #expect(ahead == 64)
    for position in 40..<1000 { reader.open(position) }
    #expect(reader.fetched == Array(3..<1000), "each once, in order")
    #expect(reader.policy.keptCount <= 64 + 10)
  }

  @Test func filesThatAreOpenedAnyhowGuessNothing() {
    for seed in 0..<100 as Range<UInt64> {
      var generator = Seeded(seed)
      var reader = Reader(sizes: small)
      for _ in 0..<50 { reader.open(Int.random(in: 0..<1000, using: &generator)) }
      #expect(reader.fetched.isEmpty, "seed \(seed)")
    }
  }

  @Test func aGuessThatIsPassedOverEndsTheRun() {
    var reader = Reader(sizes: small)
    for position in stride(from: 0, to: 60, by: 3) { reader.open(position) }
    // Of three files only one is read.
    #expect(reader.fetched.count <= 20, "\(reader.fetched.count)")
    #expect(!reader.released.isEmpty)
  }

  @Test func aReaderThatGoesElsewhereLeavesLittle() {
    var reader = Reader(sizes: small)
    for position in 0..<20 { reader.open(position) }
    let count = reader.fetched.count
    reader.open(700)
    #expect(reader.open(20).count <= 2, "one file from elsewhere is forgiven")
    reader.open(500)
    reader.open(300)
    #expect(reader.policy.keptCount == 0)
    reader.open(100)
    #expect(reader.fetched.count <= count + 2)
  }

  @Test func readersBesideEachOtherAreOneRun() {
    var reader = Reader(sizes: small)
    var generator = Seeded(3)
    var order = Array(0..<1000)
    for start in stride(from: 4, to: 1000, by: 4) {
      order[start..<min(start + 4, 1000)].shuffle(using: &generator)
    }
    for position in order { reader.open(position) }
    #expect(reader.fetched.count >= 990)
    #expect(Set(reader.fetched).count == reader.fetched.count)
  }

  @Test func largeFilesAndDirectoriesAreSteppedOver() {
    var sizes = small
    for position in stride(from: 0, to: 1000, by: 5) { sizes[position] = 64 << 20 }
    for position in stride(from: 1, to: 1000, by: 5) { sizes[position] = 0 }
    var reader = Reader(sizes: sizes)
    for position in 0..<1000 where sizes[position] == 16 << 10 { reader.open(position) }
    #expect(reader.fetched.allSatisfy { sizes[$0] == 16 << 10 })
    #expect(reader.fetched.count >= 590)
  }

  @Test func limitsAreKept() {
    var limits = SiblingPolicy.Limits()
    limits.byteCountMax = 1 << 20
    var reader = Reader(sizes: Array(repeating: 300 << 10, count: 1000), limits: limits)
    for position in 0..<100 {
      reader.open(position)
      let ahead = reader.fetched.filter { $0 > position }.count
      #expect(ahead <= 4, "at most the file that passes the limit is over it")
    }
    #expect(reader.fetched.count >= 90)
  }

  @Test func filesOfARunAreAtMostFourApart() {
    var reader = Reader(sizes: small)
    for position in [0, 4] { reader.open(position) }
    #expect(reader.open(8) == [9, 10, 11, 12])
    reader = Reader(sizes: small)
    for position in [0, 5, 10, 15] { reader.open(position) }
    #expect(reader.fetched.isEmpty)
  }

  @Test func whatWasGuessedCountsAgainstTheBytes() {
    var limits = SiblingPolicy.Limits()
    limits.byteCountMax = 1 << 20
    var reader = Reader(sizes: Array(repeating: 300 << 10, count: 100), limits: limits)
    for position in 0..<3 { reader.open(position) }
    #expect(reader.fetched == [3, 4, 5, 6])
    #expect(reader.open(3) == [7], "three are ahead, and a little is left")
  }

  @Test func soManyRowsAreLookedAtAndNoMore() throws {
    var policy = SiblingPolicy()
    var end = 0
    for position in 0..<10 {
      guard let search = policy.fileOpened(at: position).search else { continue }
      #expect(search.start >= end, "no row twice")
      end = search.start + search.rowCount
      #expect(end <= position + 1 + SiblingPolicy.Limits().rowCountMax)
      policy.guessed([], end: end)
    }
    #expect(end == 10 + SiblingPolicy.Limits().rowCountMax)
  }

  @Test func noMoreFilesAreAheadThanTheLimitSays() {
    var limits = SiblingPolicy.Limits()
    limits.fileCountMax = 10
    var reader = Reader(sizes: small, limits: limits)
    for position in 0..<100 {
      reader.open(position)
      #expect(reader.fetched.count { $0 > position } <= 10)
    }
    #expect(reader.fetched.last == 109)
  }

  @Test func whatIsKeptIsLetGoWhenNothingIsOpened() {
    var reader = Reader(sizes: small)
    for position in 0..<20 { reader.open(position) }
    let kept = reader.policy.keptCount
    #expect(kept > 0 && reader.policy.wentQuiet().count == kept)
    #expect(reader.policy.keptCount == 0)
    #expect(reader.open(20).isEmpty, "a run must prove itself anew")
  }
}
