/// Lists a large directory in several places at once.
///
/// A *run* is a row of pages, each from where the one before ended. The first run begins with the
/// directory. When that has shown that the directory is large and the store slow, further runs
/// begin behind keys that a `KeyRuler` guesses, a page apart, and each goes on until it has reached
/// the beginning of the next. Their pages leave in the order of the keys.
///
/// A guess that is wrong costs a request and nothing else: a run is followed only from a key that
/// is known to be covered, whatever it was that others were guessed to be. What requests may be
/// lost is bounded. A store whose answers aren't in order, or begin elsewhere than asked, is listed
/// in one run from then on.
///
/// What is *covered* up to a key holds in byte order and also in the order of stores that keep a
/// tree (`a/` before `a-b`): a page that ends in the common prefix `a/` has covered only `a`.
package struct ListingRuns: Sendable {
  /// So many pages must have come, and more follow, before the second run begins.
  package static let evidencePageCount = 2
  /// Where pages come faster, one after the other is fast enough.
  package static let pageLatencyMin = Duration.milliseconds(5)
  /// So many pages may be on their way or wait for those before them.
  package static let windowMax = 8
  /// So many requests may be lost, and one in so many more.
  package static let lossMax = 8
  private static let lossShare = 10

  /// A page to ask for.
  package struct Request: Hashable, Sendable {
    /// Goes along with the answer.
    package let run: Int
    /// Continues a run; nil begins one.
    package let token: String?
    /// A new run's beginning; nil is the directory's.
    package let startAfter: ObjectKey?
  }

  /// A page and when it was asked for.
  package struct Piece: Hashable, Sendable {
    /// What came; the last one of a listing has no token.
    package var page: ListPage
    /// When the store was asked.
    package var requestedAt: Instant

    /// Creates a piece.
    package init(page: ListPage, requestedAt: Instant) {
      self.page = page
      self.requestedAt = requestedAt
    }
  }

  private struct Run {
    let id: Int
    /// What it begins behind; nil is the directory's beginning.
    let start: ObjectKey?
    var token: String?
    /// All keys behind `start` up to here have come.
    var covered: ObjectKey?
    var waiting: [(piece: Piece, extent: PageExtent?)] = []
    var isInFlight = false
    /// It has come to the end of the listing.
    var isEnded = false

    /// What the page on its way, or the next, begins behind.
    var bound: ObjectKey? { covered ?? start }

    func reaches(_ key: ObjectKey?) -> Bool {
      guard let covered, let key else { return false }
      return covered >= key
    }
  }

  private let prefix: ObjectKey
  private var runs = [Run(id: 0, start: nil)]
  private var lastID = 0
  private var covered: ObjectKey?
  private var meter: PageMeter
  /// The pages asked for so far.
  package private(set) var requestCount = 0
  private var entryCount = 0
  private var isOrderly = true
  private var isSlow = true

  /// Begins a listing of the directory with this prefix.
  package init(prefix: ObjectKey) {
    self.prefix = prefix
    meter = PageMeter(prefix: prefix)
  }

  /// The pages to ask for now; empty while the answers under way must be waited for.
  package mutating func requests() -> [Request] {
    var requests: [Request] = []
    for index in runs.indices where !runs[index].isInFlight && !runs[index].isEnded {
      let isLast = index + 1 == runs.count
      guard isLast || !runs[index].reaches(runs[index + 1].start) else { continue }
      // The first is what the listing waits for.
      if index == 0 || (!isLast && mayGuess) { requests.append(request(at: index)) }
    }
    while isOrderly, isSlow, meter.pageCount >= Self.evidencePageCount, mayGuess,
      let request = guess()
    {
      requests.append(request)
    }
    return requests
  }

  /// The pages that are on their way, or wait.
  private var windowCount: Int {
    runs.reduce(0) { $0 + $1.waiting.count + ($1.isInFlight ? 1 : 0) }
  }

  /// True if one more request may turn out to be lost.
  private var mayGuess: Bool {
    guard meter.pageSize > 0 else { return false }
    let window = min(Self.windowMax, 2 * meter.pageCount)
    let usefulCount = entryCount / meter.pageSize
    return windowCount < window
      && requestCount < Self.lossMax + usefulCount + usefulCount / Self.lossShare
  }

  private mutating func request(at index: Int) -> Request {
    runs[index].isInFlight = true
    requestCount += 1
    let run = runs[index]
    return Request(run: run.id, token: run.token, startAfter: run.token == nil ? run.start : nil)
  }

  /// The next page behind the last run.
  private mutating func guess() -> Request? {
    guard let last = runs.last, !runs.contains(where: \.isEnded) else { return nil }
    guard last.isInFlight else { return request(at: runs.count - 1) }
    guard let bound = runs.compactMap(\.bound).max(), let start = meter.key(behind: bound),
      start > bound
    else { return nil }
    lastID += 1
    runs.append(Run(id: lastID, start: start))
    return request(at: runs.count - 1)
  }

  /// A page came.
  ///
  /// - Returns: the pages that follow those returned before, without what those had already; none if
  ///   another page comes before them. The last has no token.
  package mutating func arrived(
    _ piece: Piece,
    for request: Request,
    after latency: Duration
  ) -> [Piece] {
    // It may have turned out to be unnecessary.
    guard let index = runs.firstIndex(where: { $0.id == request.run }) else { return [] }
    if index == 0, requestCount <= Self.evidencePageCount, latency < Self.pageLatencyMin {
      isSlow = false
    }
    let extent = PageExtent(piece.page, prefix: prefix)
    runs[index].isInFlight = false
    guard let extent, runs[index].bound.map({ $0 < extent.first }) ?? true else {
      return lostOrder(piece, at: index)
    }
    runs[index].covered = max(extent.last, runs[index].bound ?? extent.last)
    advance(piece, extent, at: index)
    // What begins in the same gap between keys has the same page.
    while index + 1 < runs.count, runs[index + 1].covered == nil,
      let start = runs[index + 1].start, start < extent.first
    {
      runs.remove(at: index + 1)
    }
    return leaving()
  }

  /// A page didn't come.
  ///
  /// - Returns: true if the listing can't go on; else it goes on without the run.
  package mutating func failed(_ request: Request) -> Bool {
    guard let index = runs.firstIndex(where: { $0.id == request.run }) else { return false }
    if index == 0 { return true }
    endGuessing(at: index)
    return false
  }

  private mutating func advance(_ piece: Piece, _ extent: PageExtent?, at index: Int) {
    runs[index].waiting.append((piece, extent))
    runs[index].token = piece.page.nextToken
    guard piece.page.nextToken == nil else { return }
    runs[index].isEnded = true
    runs.removeSubrange((index + 1)...)
  }

  /// A page is in no known order, or empty: nothing tells what it covers.
  private mutating func lostOrder(_ piece: Piece, at index: Int) -> [Piece] {
    guard index == 0 || piece.page.isEmptyEnd else {
      endGuessing(at: index)
      return leaving()
    }
    if !piece.page.isEmptyEnd { endGuessing(at: index + 1) }
    advance(piece, nil, at: index)
    return leaving()
  }

  /// Goes on without the runs from `index` on, in the one before.
  private mutating func endGuessing(at index: Int) {
    isOrderly = false
    runs.removeSubrange(max(index, 1)...)
  }

  /// Takes out the pages that are next.
  private mutating func leaving() -> [Piece] {
    var pieces: [Piece] = []
    while true {
      for (piece, extent) in runs[0].waiting { pieces += leave(piece, extent).map { [$0] } ?? [] }
      runs[0].waiting = []
      // The next one stays a guess until it has begun where it should.
      guard runs.count > 1, runs[1].covered != nil || runs[1].isEnded,
        runs[0].reaches(runs[1].start)
      else { return pieces }
      runs.removeFirst()
    }
  }

  /// What a page that is next adds; nil if that is nothing.
  private mutating func leave(_ piece: Piece, _ extent: PageExtent?) -> Piece? {
    guard let extent else { return piece }
    guard let covered, extent.first <= covered else { return note(piece, extent) }
    var rest = piece
    rest.page.dropEntries(upTo: covered)
    if let extent = PageExtent(rest.page, prefix: prefix) { return note(rest, extent) }
    return rest.page.nextToken == nil ? rest : nil
  }

  private mutating func note(_ piece: Piece, _ extent: PageExtent) -> Piece {
    covered = max(extent.last, covered ?? extent.last)
    entryCount += extent.keys.count
    if piece.page.nextToken != nil { meter.add(extent) }
    return piece
  }
}

/// The keys of a page that is in order.
private struct PageExtent: Sendable {
  /// The least entry.
  let first: ObjectKey
  /// What it covers.
  let last: ObjectKey
  /// The entries, ascending, common prefixes without their slash.
  let keys: [[UInt8]]
  let hasPrefixes: Bool

  init?(_ page: ListPage, prefix: ObjectKey) {
    let slash = UInt8(ascii: "/")
    let objects = page.objects.map(\.key.bytes)
    let directories = page.commonPrefixes.map { Array($0.bytes.dropLast()) }
    // In byte order `a-b/` comes before `a/`, in tree order behind it.
    guard Self.isAscending(objects),
      Self.isAscending(directories) || Self.isAscending(page.commonPrefixes.map(\.bytes)),
      (objects + directories).allSatisfy({
        $0.starts(with: prefix.bytes) && !$0[prefix.bytes.count...].contains(slash)
      })
    else { return nil }
    hasPrefixes = !directories.isEmpty
    keys =
      hasPrefixes
      ? (objects + directories).sorted { $0.lexicographicallyPrecedes($1) } : objects
    guard let first = keys.first, let last = keys.last else { return nil }
    // The slash counts here: `a/` follows what begins behind `a`.
    self.first =
      [page.objects.first?.key, page.commonPrefixes.first].compactMap { $0 }.min()
      ?? ObjectKey(first)
    self.last = ObjectKey(last)
  }

  private static func isAscending(_ keys: [[UInt8]]) -> Bool {
    zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
  }
}

/// Measures pages: how far from the end of one the end of the next will be.
private struct PageMeter: Sendable {
  private static let sampleCount = 128
  private static let markCount = 4
  /// Of pages that differ in width a little, nearly all reach across this share of the mean.
  private static let share = 0.92

  private struct Sample {
    let keys: [[UInt8]]
    /// The last key of each quarter, and its place among all.
    let marks: [(key: [UInt8], place: Int)]
  }

  let prefix: ObjectKey
  private(set) var pageCount = 0
  private(set) var pageSize = 0
  private var entryCount = 0
  private var hasPrefixes = false
  private var samples: [Sample] = []
  private var scale: (ruler: KeyRuler, spacing: Int)?

  init(prefix: ObjectKey) {
    self.prefix = prefix
  }

  /// A page has left.
  mutating func add(_ extent: PageExtent) {
    let count = extent.keys.count
    pageCount += 1
    pageSize = max(pageSize, count)
    var marks: [(key: [UInt8], place: Int)] = []
    for mark in 1...Self.markCount {
      let place = count * mark / Self.markCount
      if place > 0 { marks.append((extent.keys[place - 1], entryCount + place)) }
    }
    entryCount += count
    hasPrefixes = extent.hasPrefixes
    let step = max(1, count / Self.sampleCount)
    let keys = stride(from: 0, to: count - 1, by: step).map { extent.keys[$0] }
    samples.append(Sample(keys: keys + extent.keys.suffix(1), marks: marks))
    if samples.count > ListingRuns.evidencePageCount { samples.removeFirst() }
    scale = nil
  }

  /// The key that the page after the one that begins behind `bound` begins behind.
  mutating func key(behind bound: ObjectKey) -> ObjectKey? {
    if scale == nil { scale = measure() }
    guard let (ruler, spacing) = scale, let position = ruler.position(of: bound.bytes) else {
      return nil
    }
    return ruler.key(at: position + spacing).map(ObjectKey.init(_:))
  }

  private func measure() -> (KeyRuler, Int)? {
    let keys = samples.flatMap(\.keys)
    guard let ruler = KeyRuler(keys, prefixCount: prefix.bytes.count) else { return nil }
    let marks = samples.flatMap(\.marks).compactMap { mark in
      ruler.position(of: mark.key).map { (position: $0, place: mark.place) }
    }
    guard let first = marks.first, let last = marks.last, last.position > first.position else {
      return nil
    }
    let widths = zip(marks, marks.dropFirst()).filter { $1.place > $0.place }
      .map { Double($1.position - $0.position) / Double($1.place - $0.place) }.sorted()
    let middle = widths[widths.count / 2]
    let isRegular = 4 * widths.count(where: { $0 == middle }) >= 3 * widths.count
    let mean = Double(last.position - first.position) / Double(last.place - first.place)
    // A run that begins behind `a` has `a/` again.
    let count = Double(hasPrefixes ? pageSize - 1 : pageSize)
    let spacing = isRegular ? middle * count : mean * count * Self.share
    return spacing >= 1 && spacing < 1e18 ? (ruler, Int(spacing)) : nil
  }
}

extension ListPage {
  /// True for an answer that says only that nothing more follows.
  fileprivate var isEmptyEnd: Bool {
    objects.isEmpty && commonPrefixes.isEmpty && nextToken == nil
  }

  fileprivate mutating func dropEntries(upTo covered: ObjectKey) {
    objects.removeAll { $0.key <= covered }
    commonPrefixes.removeAll { $0 <= covered }
  }
}
