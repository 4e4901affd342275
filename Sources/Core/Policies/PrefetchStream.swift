/// Reads that go forward together, or backward.
///
/// A stream that goes backward sees the object in a mirror, in which it goes forward; `isBackward` says so.
struct PrefetchStream: Sendable {
  /// A backward stream's requests are at most this large.
  ///
  /// 1 MiB: the bytes of a request come in ascending order, so the first that is wanted comes last.
  private static let backwardUnitMax = 1 << 20
  /// The window that any link is worth.
  private static let linkWindowMin = 512 << 10
  /// What the link brings in this time is asked for ahead, or in four times its delay if that is longer.
  ///
  /// 1 s: on a slow line more would only share the line with what is wanted first.
  private static let horizonMin = Duration.seconds(1)
  /// Reads that must follow each other backward: of small ones, and of those that may be pieces of the
  /// kernel's readahead, four at a time, taken up in the wrong order.
  private static let backProof = (small: 3, large: 5)

  /// What may be missing between its reads while they are under way: the kernel's window, which grows
  /// with what was read to 4 MiB.
  private static let missing = (factor: 8, max: 4 << 20)
  /// What lies ahead is at most this often the distance it has come: less at first, when it may be the
  /// head of a file and no more.
  private static let windowFactor = (early: 2, later: 4)
  private static let earlyMax = 2 << 20

  /// Where it started.
  private(set) var start: Int
  /// One past the furthest byte read.
  private(set) var frontier: Int
  /// One past the furthest byte asked for.
  var plannedEnd: Int
  /// The first byte asked for, while it is not running.
  private var plannedStart: Int
  /// The requests that the frontier hasn't passed.
  var planned: [ByteRange] = []
  /// True once it has proved itself.
  private(set) var isRunning = false
  /// True if it sees the object in a mirror.
  private(set) var isBackward = false
  /// The bytes that were read, however often.
  private var readCount: Int
  private var forwardCount = 0
  private var backCount = 0
  /// Who reads it, and how many reads each has made elsewhere since.
  var readers: [UInt64: Int]

  init(_ first: ByteRange, plannedEnd: Int, _ reader: UInt64) {
    readers = [reader: 0]
    start = first.lowerBound
    frontier = first.upperBound
    readCount = first.count
    plannedStart = first.lowerBound
    self.plannedEnd = plannedEnd
  }

  /// The bytes it has come.
  var distance: Int { frontier - start }

  /// Requests that no read has reached.
  var unreached: [ByteRange] { planned.filter { $0.lowerBound >= frontier } }

  /// Returns true if a read belongs to it.
  ///
  /// One that isn't running yet takes small reads only in exact order, for small reads come from
  /// callers that wait for each; the kernel's readahead is large.
  ///
  /// Nor does one that runs take a read that leaves as much out as was read: such reads are at some
  /// distance from each other, and what lies between would be fetched in vain.
  func accepts(_ range: ByteRange, _ reorderMax: Int) -> Bool {
    if isRunning, range.lowerBound > frontier {
      // What was read twice counts twice, and so may be more than the distance.
      let missing = range.lowerBound - start - min(readCount, range.lowerBound - start)
      let usual = min(Self.missing.max, min(readCount, Self.missing.max) * Self.missing.factor)
      if missing > max(usual, readCount) { return false }
    }
    let slack =
      isRunning
      ? reorderMax : range.count < PrefetchPolicy.unitMin ? 0 : min(4 * range.count, reorderMax)
    return range.lowerBound <= frontier + slack
      && range.upperBound >= max(start, frontier - 2 * reorderMax) - slack
  }

  /// A read that doesn't run yet is asked for by `demand`.
  mutating func asked(for demand: [ByteRange]) {
    plannedStart = min(plannedStart, demand.first?.lowerBound ?? plannedStart)
    plannedEnd = max(plannedEnd, demand.last?.upperBound ?? plannedEnd)
  }

  /// A read of `range` belongs to it; `mirror` is the sum of a place and its place in the mirror.
  mutating func advance(
    over range: ByteRange,
    by reader: UInt64,
    proofMin: Int,
    mirror: Int
  ) {
    readers[reader] = 0
    let (sum, overflow) = readCount.addingReportingOverflow(range.count)
    readCount = overflow ? .max : sum
    if !isRunning, range.upperBound == start { backCount += 1 }
    start = min(start, range.lowerBound)
    if range.upperBound > frontier {
      frontier = range.upperBound
      forwardCount += 1
      isRunning = isRunning || distance >= proofMin
    } else if !isRunning, forwardCount == 0, distance >= proofMin,
      backCount
        >= (range.count < PrefetchPolicy.unitMin ? Self.backProof.small : Self.backProof.large)
    {
      (start, frontier) = (mirror - frontier, mirror - start)
      plannedEnd = max(frontier, mirror - plannedStart)
      isBackward = true
      isRunning = true
    }
  }

  /// The size of its next requests.
  func unit(_ limits: PrefetchPolicy.Limits, _ link: Link?) -> Int {
    let unitMax = isBackward ? min(limits.partSize, Self.backwardUnitMax) : limits.partSize
    // Several requests at a time fill the link better than one.
    let share = Self.window(of: link).map { $0 / 4 } ?? unitMax
    var unit = PrefetchPolicy.unitMin
    while unit < 2 * distance, unit < unitMax, unit < share { unit *= 2 }
    return min(unit, unitMax)
  }

  /// How far ahead of its frontier it wants bytes, if `streamCount` streams run.
  ///
  /// `habit` is how far its reader came in the stream that it left last. Whoever reads pieces (columns,
  /// members of an archive) is expected to read one of that length again, and has to go on beyond it
  /// before more is fetched ahead.
  func window(
    _ limits: PrefetchPolicy.Limits,
    _ link: Link?,
    streamCount: Int,
    habit: Int?
  ) -> Int {
    let share = max(
      limits.aheadMax / max(1, streamCount),
      min(2 * limits.partSize, limits.aheadMax)
    )
    let factor =
      distance < Self.earlyMax ? Self.windowFactor.early : Self.windowFactor.later
    var window = min(share, factor * min(distance, share))
    if let habit {
      let excess = Self.windowFactor.early * min(distance - habit, share)
      window = min(window, max(habit - distance, excess))
    }
    return Self.window(of: link).map { min($0, window) } ?? window
  }

  private static func window(of link: Link?) -> Int? {
    link.map { max(linkWindowMin, $0.byteCount(in: max(horizonMin, $0.delay * 4))) }
  }
}

extension ByteRange {
  /// The range in a mirror in which a place and its image add up to `mirror`.
  func mirrored(_ mirror: Int) -> ByteRange { ByteRange(mirror - upperBound, mirror - lowerBound) }
}
