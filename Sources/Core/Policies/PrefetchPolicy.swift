/// Decides, for one open file, how much each read fetches and what is fetched ahead of it.
///
/// A read that fits no pattern gets one request of at most 128 KiB and nothing ahead. Reads that go
/// forward form a *stream*. A stream proves itself with its second read, once it has come 64 KiB;
/// from then on requests grow with the distance it has come up to the part size, and so does what
/// is wanted ahead, so that a wrong guess never costs more than a small multiple of what was read.
///
/// The kernel's readahead sends several large reads at a time from several threads, so they come
/// slightly out of order: a read belongs to a stream if it starts or ends near the stream's
/// frontier. A second stream may run beside the first (two threads on one descriptor). One stray
/// read doesn't end a stream; a second one without a read of the stream in between does, and what
/// the stream had asked for ahead is then abandoned.
package struct PrefetchPolicy: Sendable {
  /// What bounds the guesses.
  package struct Limits: Hashable, Sendable {
    /// The largest request in bytes.
    package var partSize: Int
    /// How many bytes may be asked for ahead of a stream.
    package var aheadMax: Int
    /// How many requests may be under way for a stream.
    package var parallelMax: Int
    /// An object of at most this size is fetched by one request when its start is read first.
    package var wholeObjectMax: Int

    /// Creates limits; what is too small to work with is raised.
    package init(
      partSize: Int = 8 << 20,
      aheadMax: Int = 64 << 20,
      parallelMax: Int = 8,
      wholeObjectMax: Int = 1 << 20
    ) {
      self.partSize = max(partSize, PrefetchPolicy.unitMin).roundedDown(to: PrefetchPolicy.unitMin)
      self.aheadMax = max(aheadMax, 0)
      self.parallelMax = max(parallelMax, 1)
      self.wholeObjectMax = min(wholeObjectMax, self.partSize)
    }
  }

  /// What follows from one read.
  package struct Decision: Hashable, Sendable {
    /// What to fetch.
    package var plan: FetchPlan
    /// What was asked for ahead and isn't wanted any more.
    package var abandoned: [ByteRange] = []
  }

  /// The smallest request, and the block that lone reads are aligned to: 128 KiB.
  package static let unitMin = 128 << 10

  /// Reads of one stream may be this far out of order.
  ///
  /// 8 MiB: the kernel asks for a window of 4 MiB while the reader is still in the one before, in
  /// pieces that several threads pick up.
  private static let reorderMax = 8 << 20
  /// A stream must have come this far before anything is fetched ahead of it: random reads of 4 KiB
  /// that happen to be neighbours don't.
  private static let proofMin = 64 << 10
  /// Streams remembered at a time: two that run, and one that may become one.
  private static let streamCountMax = 3
  /// A running stream ends with this many stray reads in a row.
  private static let strayCountMax = 2

  private let objectSize: Int
  private let limits: Limits
  /// The streams, most recently read first.
  private var streams: [Stream] = []
  private var isFirst = true

  /// Creates the policy of a newly opened file of `objectSize` bytes.
  package init(objectSize: Int, limits: Limits = Limits()) {
    self.objectSize = objectSize
    self.limits = limits
  }

  /// Everything asked for ahead of where the reader is; to be abandoned when the file is closed.
  package var outstanding: [ByteRange] { streams.flatMap(\.unreached) }

  /// A read of `range`, which is not empty and lies in the object, is about to start.
  package mutating func readRequested(_ range: ByteRange) -> Decision {
    precondition(!range.isEmpty && range.upperBound <= objectSize, "a read inside the object")
    defer { isFirst = false }
    if isFirst, range.lowerBound == 0, objectSize <= limits.wholeObjectMax {
      let whole = ByteRange(0, objectSize)
      streams = [Stream(range, plannedEnd: objectSize)]
      return Decision(plan: FetchPlan(demand: [whole]))
    }
    guard let index = streams.firstIndex(where: { $0.accepts(range, Self.reorderMax) }) else {
      return strayRead(range)
    }
    var stream = streams.remove(at: index)
    let wasRunning = stream.isRunning
    stream.advance(over: range, proofMin: Self.proofMin)
    var abandoned: [ByteRange] = []
    if !wasRunning && stream.isRunning { abandoned = countStray() }
    let plan =
      stream.isRunning
      ? runningPlan(&stream, range) : FetchPlan(demand: loneDemand(&stream, range))
    streams.insert(stream, at: 0)
    return Decision(plan: plan, abandoned: abandoned)
  }

  /// A read that belongs to no stream: it may become one.
  private mutating func strayRead(_ range: ByteRange) -> Decision {
    var abandoned = countStray()
    if streams.count == Self.streamCountMax {
      // A candidate that came to nothing goes first.
      let index = streams.lastIndex { !$0.isRunning } ?? streams.count - 1
      abandoned += streams.remove(at: index).unreached
    }
    var stream = Stream(range, plannedEnd: range.lowerBound)
    let demand = loneDemand(&stream, range)
    streams.insert(stream, at: 0)
    return Decision(plan: FetchPlan(demand: demand), abandoned: abandoned)
  }

  /// Counts a read outside of the running streams and ends those that have lost their reader.
  private mutating func countStray() -> [ByteRange] {
    var abandoned: [ByteRange] = []
    for index in streams.indices where streams[index].isRunning {
      streams[index].strayCount += 1
      if streams[index].strayCount >= Self.strayCountMax {
        abandoned += streams[index].unreached
      }
    }
    streams.removeAll { $0.isRunning && $0.strayCount >= Self.strayCountMax }
    return abandoned
  }

  /// The requests of a read that nothing is known about: one of the block or blocks it lies in.
  private func loneDemand(_ stream: inout Stream, _ range: ByteRange) -> [ByteRange] {
    let demand = Self.requests(for: range, in: objectSize, largest: limits.partSize)
    stream.plannedEnd = max(stream.plannedEnd, demand.last?.upperBound ?? 0)
    return demand
  }

  /// Returns requests that cover `range`: one, unless that would be larger than `largest`.
  private static func requests(
    for range: ByteRange,
    in objectSize: Int,
    largest: Int
  ) -> [ByteRange] {
    var lower = range.lowerBound.roundedDown(to: unitMin)
    var upper = range.upperBound.roundedUp(to: unitMin)
    if upper - lower > max(unitMin, range.count.roundedUp(to: unitMin)) {
      // It straddles a border of blocks; whole blocks would be one more than it needs.
      lower = range.lowerBound.roundedDown(to: pageSize)
      upper = max(range.upperBound, min(lower + unitMin, upper))
    }
    upper = min(upper, objectSize)
    var requests: [ByteRange] = []
    while lower < upper {
      let end = min(lower + largest, upper)
      requests.append(ByteRange(lower, end))
      lower = end
    }
    return requests
  }

  /// The kernel's page.
  private static let pageSize = 4096

  /// What a running stream's read fetches: below what was planned its bytes are on their way
  /// already, above it start the next units.
  private func runningPlan(_ stream: inout Stream, _ range: ByteRange) -> FetchPlan {
    var plan = FetchPlan(demand: [])
    let planned = range.clamped(to: ByteRange(0, max(stream.plannedEnd, range.lowerBound)))
    if !planned.isEmpty { plan.demand.append(planned) }
    let unit = stream.unit(limits)
    while stream.plannedEnd < range.upperBound {
      let next = nextUnit(&stream, unit)
      // Before its turn a read leaves a gap, whose own reads are on their way.
      if next.overlaps(range) { plan.demand.append(next) } else { plan.ahead.append(next) }
    }
    let target = stream.frontier + stream.window(limits)
    stream.planned.removeAll { $0.upperBound <= stream.frontier }
    while stream.plannedEnd < objectSize, stream.planned.count < limits.parallelMax {
      // Only whole units, so that each read doesn't add a sliver.
      guard min((stream.plannedEnd + 1).roundedUp(to: unit), objectSize) <= target else { break }
      plan.ahead.append(nextUnit(&stream, unit))
    }
    return plan
  }

  /// Plans the next request of a stream, up to the next border of units.
  private func nextUnit(_ stream: inout Stream, _ unit: Int) -> ByteRange {
    let end = min((stream.plannedEnd + 1).roundedUp(to: unit), objectSize)
    let range = ByteRange(stream.plannedEnd, end)
    stream.plannedEnd = end
    stream.planned.append(range)
    return range
  }
}

/// Reads that go forward together.
private struct Stream: Sendable {
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
  /// Reads outside of all running streams since its last read.
  var strayCount = 0

  init(_ first: ByteRange, plannedEnd: Int) {
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
  mutating func advance(over range: ByteRange, proofMin: Int) {
    strayCount = 0
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

extension Int {
  /// The greatest multiple of `unit` that isn't above the number, which isn't negative.
  package func roundedDown(to unit: Int) -> Int { self / unit * unit }

  /// The least multiple of `unit` that isn't below the number, which isn't negative; the number
  /// itself where that would not fit.
  package func roundedUp(to unit: Int) -> Int {
    let rest = self % unit
    guard rest > 0 else { return self }
    let (sum, overflow) = addingReportingOverflow(unit - rest)
    return overflow ? self : sum
  }
}
