internal import Support

/// The memory of a mount's listings: at most a share of the one budget, counted from what arrives
/// until the listing goes (O3).
///
/// What is only kept for later goes to make room, least recently used first. What somebody reads
/// stays; if that alone takes the whole share, the listing that grows is told to end.
final class ListingMemory: Sendable {
  private struct Kept {
    weak var directory: Directory?
  }

  private struct State {
    var usedByteCount = 0
    var kept: [ObjectIdentifier: Kept] = [:]
    /// At so many entries those of directories that are gone are cleared away.
    var pruneCount = 64
  }

  /// A listing of up to this size goes on whatever the others hold: a few small directories must
  /// stay readable beside a huge one.
  static let alwaysByteCount = 1 << 20

  /// The share in bytes.
  let limit: Int
  private let budget: MemoryBudget
  // Lock order: nothing is called with it locked.
  private let state = Lock(State())

  /// Creates an empty account of at most `limit` bytes of `budget`.
  init(limit: Int, budget: MemoryBudget) {
    self.limit = limit
    self.budget = budget
  }

  /// The bytes of all listings.
  var usedByteCount: Int { state.withLock { $0.usedByteCount } }

  /// A listing grew by so many bytes, to so many.
  ///
  /// - Returns: false if it must not go on, because there is no room for it.
  func grew(by byteCount: Int, to listingByteCount: Int) -> Bool {
    // Forced, because the bytes are here already; fetches wait until some are given back.
    let hasBudget = budget.take(byteCount) || !budget.take(byteCount, isForced: true)
    let isOver = state.withLock { state in
      state.usedByteCount += byteCount
      return state.usedByteCount > limit
    }
    guard isOver || !hasBudget else { return true }
    makeRoom()
    return usedByteCount <= limit || listingByteCount <= Self.alwaysByteCount
  }

  /// A listing has gone, and its bytes with it.
  func giveBack(_ byteCount: Int) {
    state.withLock { $0.usedByteCount -= byteCount }
    budget.giveBack(byteCount)
  }

  /// The listings of a directory are kept for later.
  func keep(_ directory: Directory) {
    state.withLock { state in
      state.kept[ObjectIdentifier(directory)] = Kept(directory: directory)
      guard state.kept.count >= state.pruneCount else { return }
      state.kept = state.kept.filter { $0.value.directory != nil }
      state.pruneCount = max(64, 2 * state.kept.count)
    }
  }

  /// Lets kept listings go, least recently used first, until an eighth of the share is free: room
  /// is not made for every page anew.
  private func makeRoom() {
    let kept = state.withLock { state in state.kept.values.compactMap(\.directory) }
    let byAge = kept.map { (directory: $0, usedAt: $0.lastUsedAt) }
      .sorted { $0.usedAt < $1.usedAt }
    for (directory, _) in byAge where usedByteCount > limit - limit / 8 {
      guard directory.dropIdleListings() else { continue }
      state.withLock { $0.kept[ObjectIdentifier(directory)] = nil }
    }
  }
}
