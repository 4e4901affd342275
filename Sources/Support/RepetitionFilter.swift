package import Core

/// Lets the first of equal events through and counts those that follow soon.
package struct RepetitionFilter: Sendable {
  /// What to do with an event.
  package enum Verdict: Equatable, Sendable {
    /// Tell of it, and that this many were kept back since the last time.
    case tell(suppressedCount: Int)
    /// Keep it back.
    case suppress
  }

  /// Events of one kind that were kept back.
  package struct Rest: Hashable, Sendable {
    /// The kind.
    package var kind: String
    /// How many.
    package var count: Int
  }

  private struct Series {
    var toldAt: Instant
    var suppressedCount = 0
  }

  /// Kinds of events that are told apart, at most.
  private static let kindCountMax = 256

  private let interval: Duration
  private var series: [String: Series] = [:]
  /// What was kept back of kinds that had to make room.
  private var evicted: [Rest] = []

  /// Creates a filter that lets one event of a kind through per `interval`.
  package init(interval: Duration) {
    self.interval = interval
  }

  /// An event of this kind occurred.
  package mutating func occurred(_ kind: String, at now: Instant) -> Verdict {
    if let known = series[kind], known.toldAt + interval > now {
      series[kind]?.suppressedCount += 1
      return .suppress
    }
    let suppressedCount = series.removeValue(forKey: kind)?.suppressedCount ?? 0
    if series.count >= Self.kindCountMax { evictOldest() }
    series[kind] = Series(toldAt: now)
    return .tell(suppressedCount: suppressedCount)
  }

  /// Forgets the kind that was told of longest ago, but not what was kept back of it.
  private mutating func evictOldest() {
    guard let oldest = series.min(by: { $0.value.toldAt < $1.value.toldAt }) else { return }
    series[oldest.key] = nil
    guard oldest.value.suppressedCount > 0 else { return }
    // Few, since each takes a repetition among so many kinds; a filter whose rests nobody takes keeps
    // the last of them.
    if evicted.count >= Self.kindCountMax { evicted.removeFirst() }
    evicted.append(Rest(kind: oldest.key, count: oldest.value.suppressedCount))
  }

  /// Takes out what was kept back and has not been followed by another of its kind since its interval
  /// ended.
  package mutating func takeEnded(at now: Instant) -> [Rest] {
    let interval = interval
    return take { $0.toldAt + interval <= now }
  }

  /// Takes out all that was kept back.
  package mutating func takeAll() -> [Rest] { take { _ in true } }

  private mutating func take(_ isWanted: (Series) -> Bool) -> [Rest] {
    let wanted = series.filter { isWanted($0.value) }
    for kind in wanted.keys { series[kind] = nil }
    defer { evicted = [] }
    let rests = wanted.filter { $0.value.suppressedCount > 0 }
      .map { Rest(kind: $0.key, count: $0.value.suppressedCount) }
    return (evicted + rests).sorted { $0.kind < $1.kind }
  }
}
