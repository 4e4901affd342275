/// Reads that go forward together.
struct PrefetchStream: Sendable {
  /// Where it started.
  var start: Int
  /// One past the furthest byte read.
  var frontier: Int
  /// One past the furthest byte asked for.
  var plannedEnd: Int
  /// The requests that the frontier hasn't passed.
  var planned: [ByteRange] = []
  /// True once it has proved itself.
  var isRunning = false
  /// Who reads it, and how many reads each has made elsewhere since.
  var readers: [UInt64: Int]

  init(_ first: ByteRange, plannedEnd: Int, _ reader: UInt64) {
    readers = [reader: 0]
    start = first.lowerBound
    frontier = first.upperBound
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
  func accepts(_ range: ByteRange, _ reorderMax: Int) -> Bool {
    let slack =
      isRunning
      ? reorderMax : range.count < PrefetchPolicy.unitMin ? 0 : min(4 * range.count, reorderMax)
    return range.lowerBound <= frontier + slack
      && range.upperBound >= max(start, frontier - 2 * reorderMax) - slack
  }

  /// A read of `range` belongs to it.
  mutating func advance(over range: ByteRange, by reader: UInt64, proofMin: Int) {
    readers[reader] = 0
    start = min(start, range.lowerBound)
    if range.upperBound > frontier {
      frontier = range.upperBound
      isRunning = isRunning || distance >= proofMin
    }
  }

  /// The size of its next requests.
  func unit(_ limits: PrefetchPolicy.Limits) -> Int {
    var unit = PrefetchPolicy.unitMin
    while unit < 2 * distance, unit < limits.partSize { unit *= 2 }
    return min(unit, limits.partSize)
  }

  /// How far ahead of its frontier it wants bytes.
  func window(_ limits: PrefetchPolicy.Limits) -> Int {
    min(limits.aheadMax, 8 * min(distance, limits.aheadMax))
  }
}
