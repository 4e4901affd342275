internal import Core
internal import Support

/// What a directory that the kernel has entered knows: its listings.
final class Directory: Sendable {
  private struct State {
    /// The one that is being filled, or the last that was; what it says counts while it is believed.
    var newest: DirectoryListing?
    /// The last that was completed, however old.
    var complete: DirectoryListing?
  }

  /// The node it belongs to.
  let node: NodeID
  /// The keys below it start with this.
  let prefix: ObjectKey
  /// What programs see of it.
  let inodeNumber: UInt64
  /// What programs see of its parent.
  let parentInodeNumber: UInt64
  /// The beginning of its children's inode numbers.
  let childNumbers: InodeNumber.Prefix
  /// Fetches its small files ahead.
  let siblings = SiblingPrefetch()
  private let state = Lock(State())

  init(node: NodeID, prefix: ObjectKey, inodeNumber: UInt64, parentInodeNumber: UInt64) {
    self.node = node
    self.prefix = prefix
    self.inodeNumber = inodeNumber
    self.parentInodeNumber = parentInodeNumber
    childNumbers = InodeNumber.Prefix(prefix)
  }

  /// What is believed at a moment.
  enum Knowledge: Sendable {
    /// A complete listing, believed until then.
    case believed(DirectoryListing, until: Instant)
    /// A listing that is being filled: what is in it is believed, what isn't in it may follow.
    case filling(DirectoryListing)
    /// Nothing.
    case none
  }

  /// What is believed at `now`, if listings live for `timeToLive`.
  func knowledge(at now: Instant, timeToLive: Duration) -> Knowledge {
    guard let newest = state.withLock({ $0.newest }) else { return .none }
    if let until = newest.believedUntil(timeToLive) {
      return until > now ? .believed(newest, until: until) : .none
    }
    return newest.isRunning ? .filling(newest) : .none
  }

  /// The listing that is being filled or was the last to be.
  var newestListing: DirectoryListing? { state.withLock { $0.newest ?? $0.complete } }

  /// The last complete listing, however old.
  var lastComplete: DirectoryListing? { state.withLock { $0.complete } }

  /// Returns a hold on the listing that is believed or being filled, or else on a new one that the
  /// caller must start.
  func listing(
    at now: Instant,
    timeToLive: Duration,
    fallbackSince oldest: Instant
  ) -> (hold: DirectoryListing.Hold, isNew: Bool)? {
    state.withLock { state in
      if let newest = state.newest {
        let isBelieved = newest.believedUntil(timeToLive).map { $0 > now } ?? newest.isRunning
        if isBelieved, let hold = newest.hold() { return (hold, false) }
      }
      let older = state.complete.flatMap { listing in
        listing.completedAt.map { $0 >= oldest } ?? false ? listing : nil
      }
      let listing = DirectoryListing(prefix: prefix, startedAt: now, fallback: older)
      state.newest = listing
      return listing.hold().map { ($0, true) }
    }
  }

  /// A listing of it has ended.
  func listingEnded(_ listing: DirectoryListing, isComplete: Bool) {
    state.withLock { state in
      if isComplete {
        state.complete = listing
      } else if state.newest === listing {
        state.newest = nil
      }
    }
  }

  /// What it knows is known to be out of date.
  func expire() {
    state.withLock { $0.newest }?.expire()
  }

  /// Forgets its listings, to make room; handles keep theirs.
  func dropListings() {
    state.withLock { state in
      state.newest = nil
      state.complete = nil
    }
  }
}
