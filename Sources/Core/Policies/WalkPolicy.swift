/// Decides when the directories below one are listed together, without a delimiter, rather than one
/// by one.
///
/// Programs that walk a tree list the children of a directory in the order in which the directory
/// showed them. When the first few have been small, one *flat* listing of everything below answers
/// for about fifty such directories in a request. A page of it costs what the listing of a small
/// directory costs, so it goes on while it has answered for as many directories as it has pages,
/// with a small credit, and ends for good where that is no longer so: a directory with thousands of
/// keys, a walk that stays at the surface of a deep tree.
///
/// It begins with the first key below the directory, so only a walk that begins there is taken for
/// one.
package struct WalkPolicy: Sendable {
  /// What to do about the next page of a flat listing.
  package enum Step: Hashable, Sendable {
    /// It is worth its request.
    case fetch
    /// Not before somebody asks again.
    case pause
    /// It costs more than it saves.
    case giveUp
  }

  /// So many small directories in a row, from the first on, are a walk.
  package static let evidenceCount = 3
  /// A directory of up to so many entries is small: a page answers for four of them.
  package static let smallCountMax = 250
  /// So many pages may go unanswered for.
  package static let creditPageCount = 2
  /// So many pages may come in a row that nobody has asked for anything of.
  package static let aheadPageCountMax = 4
  /// So many directories may lie ready that nobody has asked for yet.
  package static let readyCountMax = 500

  private enum State {
    /// Counting the small directories from the first on.
    case watching(Int)
    /// The flat listing is worth trying. Next: `over`.
    case walking
    /// No more of it for this directory.
    case over
  }

  private var state = State.watching(0)
  private var pageCount = 0
  private var answeredCount = 0
  private var pageCountSinceAsked = 0

  /// Begins to watch a directory.
  package init() {}

  /// True if a flat listing may go on.
  private var isWalk: Bool {
    if case .walking = state { return true }
    return false
  }

  /// True if a flat listing is to begin for the child of this rank, the next on the walk.
  package func begins(at rank: Int) -> Bool { isWalk && rank == Self.evidenceCount }

  /// A child was listed on its own.
  ///
  /// - Parameters:
  ///   - rank: its place among the directories of its parent, 0 for the first.
  ///   - entryCount: the entries that it has.
  package mutating func childListed(rank: Int, entryCount: Int) {
    // Another walk begins.
    if rank == 0 { self = WalkPolicy() }
    guard case .watching(let count) = state, rank >= count else { return }
    guard rank == count, entryCount <= Self.smallCountMax else {
      state = .over
      return
    }
    state = count + 1 >= Self.evidenceCount ? .walking : .watching(count + 1)
  }

  /// Somebody asked for a directory that hasn't come yet.
  package mutating func asked() { pageCountSinceAsked = 0 }

  /// Somebody asked for a directory, and has it.
  package mutating func answered() {
    answeredCount += 1
    pageCountSinceAsked = 0
  }

  /// A page came.
  package mutating func pageArrived() {
    pageCount += 1
    pageCountSinceAsked += 1
  }

  /// It ended, or can't be used.
  package mutating func ended() { state = .over }

  /// What to do about the next page.
  ///
  /// - Parameters:
  ///   - isAwaited: somebody waits for a directory that hasn't come yet.
  ///   - readyCount: the directories that have come and that nobody has asked for yet.
  /// - Returns: never `.pause` while somebody waits.
  package func step(isAwaited: Bool, readyCount: Int) -> Step {
    guard isWalk else { return .giveUp }
    let isPaid = pageCount < answeredCount + Self.creditPageCount
    if isAwaited {
      return isPaid && pageCountSinceAsked < Self.creditPageCount ? .fetch : .giveUp
    }
    let isNear = pageCountSinceAsked < Self.aheadPageCountMax && readyCount < Self.readyCountMax
    return isPaid && isNear ? .fetch : .pause
  }
}
