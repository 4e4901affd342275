/// Decides, for one version of an object that is open, how much each read fetches and what is fetched
/// ahead of it.
///
/// A read that fits no pattern gets one request of at most 128 KiB and nothing ahead; in the last
/// 128 KiB of the object it gets all of them, for what reads there looks for an index. Reads that go
/// forward, or backward, form a *stream*. A stream proves itself with its second read, once it has come 64 KiB;
/// from then on requests grow with the distance it has come up to the part size, and so does what
/// is wanted ahead, so that a wrong guess never costs more than a small multiple of what was read.
///
/// The kernel's readahead sends several large reads at a time from several threads, so they come
/// slightly out of order: a read belongs to a stream if it starts or ends near the stream's
/// frontier. A second stream may run beside the first (two threads on one descriptor). What lies ahead
/// is also no more than the link brings in a second, or in four times its delay. Reads at equal
/// distances get the places where the next ones are expected.
///
/// Handles that are open on the same object share a policy, as they share the kernel's pages: what one
/// has read is no read of the others any more, so each alone would see gaps. A *reader* is such a
/// handle. One stray read of a reader doesn't end a stream; a second one without a read of the stream
/// in between does, unless another reader is in that stream, and what the stream had asked for ahead is
/// then abandoned.
package struct PrefetchPolicy: Sendable {
  /// What bounds the guesses.
  package struct Limits: Hashable, Sendable {
    /// The largest request in bytes.
    package var partSize: Int
    /// How many bytes may be asked for ahead of a stream; with 0 no more is asked for than is read.
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
  /// Streams of one reader remembered at a time: two that run, and one that may become one.
  private static let streamCountMax = 3
  /// Streams of all readers remembered at a time; a read looks at each.
  private static let allStreamCountMax = 48
  /// A running stream ends with this many stray reads in a row.
  private static let strayCountMax = 2

  private let objectSize: Int
  private let limits: Limits
  /// Backward streams see the object in a mirror, a multiple of the part size wide, so that borders of
  /// parts are borders in it too.
  private let mirror: Int
  /// The strides of readers whose reads belong to no stream.
  private var strides: [UInt64: PrefetchStride] = [:]
  /// The streams, most recently read first.
  private var streams: [PrefetchStream] = []
  /// How far each reader came in the running stream that it left last.
  private var habits: [UInt64: Int] = [:]
  private var isFirst = true

  /// Creates the policy of a newly opened file of `objectSize` bytes.
  package init(objectSize: Int, limits: Limits = Limits()) {
    self.objectSize = objectSize
    self.limits = limits
    mirror = objectSize.roundedUp(to: limits.partSize)
  }

  /// Everything asked for ahead of where the readers are.
  package var outstanding: [ByteRange] {
    streams.flatMap(unreached) + strides.values.flatMap(\.planned)
  }

  /// A reader is gone.
  ///
  /// - Returns: what was asked for ahead of it alone.
  package mutating func readerClosed(_ reader: UInt64) -> [ByteRange] {
    for index in streams.indices { streams[index].readers[reader] = nil }
    habits[reader] = nil
    let expected = strides.removeValue(forKey: reader)?.planned ?? []
    return endLeftStreams() + unwanted(expected)
  }

  /// A read of `range`, which is not empty and lies in the object, is about to start.
  ///
  /// `link` is what is known of the way to the store.
  package mutating func readRequested(
    _ range: ByteRange,
    by reader: UInt64 = 0,
    over link: Link? = nil
  ) -> Decision {
    precondition(!range.isEmpty && range.upperBound <= objectSize, "a read inside the object")
    defer { isFirst = false }
    if isFirst, range.lowerBound == 0, objectSize <= limits.wholeObjectMax {
      let whole = ByteRange(0, objectSize)
      streams = [PrefetchStream(range, plannedEnd: objectSize, reader)]
      return Decision(plan: FetchPlan(demand: [whole]))
    }
    let index = streams.firstIndex { $0.accepts(seen(range, by: $0), Self.reorderMax) }
    guard let index else { return strayRead(range, reader) }
    var stream = streams.remove(at: index)
    let wasRunning = stream.isRunning
    stream.advance(
      over: seen(range, by: stream),
      by: reader,
      proofMin: Self.proofMin,
      mirror: mirror
    )
    var decision = Decision(plan: FetchPlan(demand: []))
    if stream.isRunning {
      if !wasRunning { decision.abandoned = countStray(of: reader) }
      let plan = runningPlan(&stream, seen(range, by: stream), link, habit: habits[reader])
      decision.plan.demand = plan.demand.map { seen($0, by: stream) }
      decision.plan.ahead = plan.ahead.map { seen($0, by: stream) }
      // The bytes of a request come forward.
      decision.plan.isInOrder = !stream.isBackward
    } else {
      decision.plan.demand = loneDemand(&stream, range)
    }
    streams.insert(stream, at: 0)
    return decision
  }

  /// A range as a stream sees it, or the other way round.
  private func seen(_ range: ByteRange, by stream: PrefetchStream) -> ByteRange {
    stream.isBackward ? range.mirrored(mirror) : range
  }

  /// Requests of a stream that no read has reached.
  private func unreached(_ stream: PrefetchStream) -> [ByteRange] {
    stream.unreached.map { seen($0, by: stream) }
  }

  /// Adds what a reader whose stray reads are at equal distances will read next.
  private mutating func addExpected(
    after range: ByteRange,
    _ reader: UInt64,
    to decision: inout Decision
  ) {
    var stride = strides[reader] ?? PrefetchStride()
    let (expected, abandoned) = stride.advance(
      to: range,
      in: objectSize,
      countMax: min(limits.parallelMax, limits.aheadMax / max(range.count, Self.unitMin))
    )
    var asked = decision.plan.demand + stride.planned
    for place in expected {
      let requests = Self.requests(for: place, in: objectSize, largest: limits.partSize)
      for request in requests where !asked.contains(where: { $0.overlaps(request) }) {
        asked.append(request)
        decision.plan.ahead.append(request)
      }
    }
    stride.asked(for: decision.plan.ahead)
    strides[reader] = stride
    decision.abandoned += unwanted(abandoned)
  }

  /// A read that belongs to no stream: it may become one.
  private mutating func strayRead(_ range: ByteRange, _ reader: UInt64) -> Decision {
    var abandoned = countStray(of: reader)
    let own = streams.indices.filter { streams[$0].readers[reader] != nil }
    if own.count >= Self.streamCountMax || streams.count >= Self.allStreamCountMax {
      let places = own.count >= Self.streamCountMax ? own : Array(streams.indices)
      // A candidate that came to nothing goes first.
      if let index = places.last(where: { !streams[$0].isRunning }) ?? places.last {
        let ended = unreached(streams.remove(at: index))
        abandoned += unwanted(ended)
      }
    }
    var stream = PrefetchStream(range, plannedEnd: range.lowerBound, reader)
    let demand = loneDemand(&stream, range)
    streams.insert(stream, at: 0)
    var decision = Decision(plan: FetchPlan(demand: demand), abandoned: abandoned)
    addExpected(after: range, reader, to: &decision)
    return decision
  }

  /// Counts a reader's read outside of its running streams and ends those that have lost their last.
  private mutating func countStray(of reader: UInt64) -> [ByteRange] {
    for index in streams.indices where streams[index].isRunning {
      guard let count = streams[index].readers[reader] else { continue }
      streams[index].readers[reader] = count + 1 < Self.strayCountMax ? count + 1 : nil
      if streams[index].readers[reader] == nil { habits[reader] = streams[index].distance }
    }
    return endLeftStreams()
  }

  /// Ends the streams that no reader is in any more, and returns what nobody wants now.
  private mutating func endLeftStreams() -> [ByteRange] {
    let ended = streams.filter(\.readers.isEmpty)
    guard !ended.isEmpty else { return [] }
    streams.removeAll(where: \.readers.isEmpty)
    return unwanted(ended.flatMap(unreached))
  }

  /// What of `ranges` no running stream has asked for too.
  private func unwanted(_ ranges: [ByteRange]) -> [ByteRange] {
    ranges.filter { range in
      !streams.contains { stream in
        stream.planned.contains { seen($0, by: stream).overlaps(range) }
      }
    }
  }

  /// The requests of a read that nothing is known about: one of the block or blocks it lies in.
  private func loneDemand(_ stream: inout PrefetchStream, _ range: ByteRange) -> [ByteRange] {
    let demand = Self.requests(for: range, in: objectSize, largest: limits.partSize)
    stream.asked(for: demand)
    return demand
  }

  /// Returns requests that cover `range`: one, unless that would be larger than `largest`.
  private static func requests(
    for range: ByteRange,
    in objectSize: Int,
    largest: Int
  ) -> [ByteRange] {
    let tail = max(0, objectSize - unitMin).roundedUp(to: pageSize)
    if range.lowerBound >= tail { return [ByteRange(tail, objectSize)] }
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

  /// What a running stream's read fetches, all as the stream sees it.
  ///
  /// Below what was planned its bytes are on their way already, above it start the next units.
  private func runningPlan(
    _ stream: inout PrefetchStream,
    _ range: ByteRange,
    _ link: Link?,
    habit: Int?
  ) -> FetchPlan {
    let end = stream.isBackward ? mirror : objectSize
    var plan = FetchPlan(demand: [])
    let planned = range.clamped(to: ByteRange(0, max(stream.plannedEnd, range.lowerBound)))
    if !planned.isEmpty { plan.demand.append(planned) }
    let streamCount = 1 + streams.count(where: \.isRunning)
    let window = stream.window(limits, link, streamCount: streamCount, habit: habit)
    var unit = stream.unit(limits, link)
    if habit != nil || window == 0 {
      // Near the end of a piece a whole unit would be more than the window lets come ahead; so it is where
      // nothing may come ahead.
      let needed = max(window, range.upperBound - max(stream.plannedEnd, range.lowerBound))
      unit = min(unit, max(needed, Self.unitMin).roundedUp(to: Self.unitMin))
    }
    while stream.plannedEnd < range.upperBound {
      let next = nextUnit(&stream, unit, end)
      // Before its turn a read leaves a gap, whose own reads are on their way.
      if next.overlaps(range) { plan.demand.append(next) } else { plan.ahead.append(next) }
    }
    let target = stream.frontier + window
    stream.planned.removeAll { $0.upperBound <= stream.frontier }
    while stream.plannedEnd < end, stream.planned.count < limits.parallelMax {
      // Only whole units, so that each read doesn't add a sliver.
      guard min((stream.plannedEnd + 1).roundedUp(to: unit), end) <= target else { break }
      plan.ahead.append(nextUnit(&stream, unit, end))
    }
    return plan
  }

  /// Plans the next request of a stream, up to the next border of units.
  private func nextUnit(_ stream: inout PrefetchStream, _ unit: Int, _ end: Int) -> ByteRange {
    let border = min((stream.plannedEnd + 1).roundedUp(to: unit), end)
    let range = ByteRange(stream.plannedEnd, border)
    stream.plannedEnd = border
    stream.planned.append(range)
    return range
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
