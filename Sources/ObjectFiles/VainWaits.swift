internal import Core

/// The waits for an object's bytes that ended a moment ago without an answer of the store's.
///
/// The kernel makes many reads of one call: the requests of a read ahead, and once more the page that the
/// program waits for; and of several handles that want one page it lets one ask after the other. All
/// of them have one deadline: what begins soon after a wait in vain continues it.
///
/// A store that brings bytes of the object is not silent: then only the ranges that were waited for in
/// vain are refused, not all.
struct VainWaits: Sendable {
  /// What a read may wait.
  struct Budget: Sendable {
    /// Since when its call has waited.
    let since: Instant
    /// How long it may still wait.
    let patience: Duration
    /// Why it isn't begun at all.
    let refusal: FileError?
  }

  private struct Wait: Sendable {
    let range: ByteRange
    let since: Instant
    let ended: Instant
    let error: FileError
  }

  /// Waits that are remembered at once: more than the kernel has reads under way for one window.
  static let countMax = 32

  private let patience: Duration
  private let span: Duration
  /// In the order of their ends.
  private var waits: [Wait] = []
  private var lastServed: Instant?

  /// Creates an empty record.
  ///
  /// - Parameters:
  ///   - patience: what one system call may wait.
  ///   - span: what begins within this time of a wait's end continues its call.
  init(patience: Duration, span: Duration) {
    self.patience = patience
    self.span = span
  }

  /// What a read of `range` that begins to wait at `now` may wait.
  mutating func budget(for range: ByteRange, at now: Instant) -> Budget {
    waits.removeAll { $0.ended + span <= now }
    if let same = waits.last(where: { $0.range.overlaps(range) }) {
      return Budget(since: same.since, patience: .zero, refusal: same.error)
    }
    let silent = waits.filter { wait in lastServed.map { $0 <= wait.since } ?? true }
    guard let first = silent.min(by: { $0.since < $1.since }) else {
      return Budget(since: now, patience: patience, refusal: nil)
    }
    // Most of the time is gone: the answer would be the same.
    let isSpent = (first.ended - first.since) * 2 >= patience
    let left = max(.zero, first.since + patience - now)
    return Budget(since: first.since, patience: left, refusal: isSpent ? first.error : nil)
  }

  /// A read of `range` ended at `now` because the store didn't answer.
  mutating func failed(_ range: ByteRange, _ budget: Budget, _ error: FileError, at now: Instant) {
    if waits.count == Self.countMax { waits.removeFirst() }
    waits.append(Wait(range: range, since: budget.since, ended: now, error: error))
  }

  /// Bytes that a read waited for came at `now`.
  mutating func served(at now: Instant) {
    lastServed = now
  }
}
