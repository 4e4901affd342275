internal import Core
internal import Support

/// What a directory that the kernel has entered knows: its listings.
final class Directory: Sendable {
  private struct State {
    /// The one that is being filled, or the last that was; what it says counts while it is believed.
    var newest: DirectoryListing?
    /// The last that was completed, however old.
    var complete: DirectoryListing?
    /// What is known elsewhere may be as out of date as what was known here.
    var isExpired = false
    /// Names that were asked for one by one since the last listing began.
    var askedNameCount = 0
    /// When somebody last wanted to know something.
    var lastUsedAt = Instant(nanoseconds: .min)
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
    let newest = state.withLock { state in
      state.lastUsedAt = now
      return state.newest
    }
    guard let newest else { return .none }
    if let until = newest.believedUntil(timeToLive) {
      return until > now ? .believed(newest, until: until) : .none
    }
    return newest.isRunning ? .filling(newest) : .none
  }

  /// The listing that is being filled or was the last to be.
  var newestListing: DirectoryListing? { state.withLock { $0.newest ?? $0.complete } }

  /// The component that a name shows the beginning of, if one of its listings has it, however old:
  /// a name that meant a component always does.
  func component(of name: NameCodec.LongName) -> [UInt8]? {
    let (newest, complete) = state.withLock { ($0.newest, $0.complete) }
    return newest?.component(of: name) ?? complete?.component(of: name)
  }

  /// The last complete listing, however old.
  var lastComplete: DirectoryListing? { state.withLock { $0.complete } }

  /// Returns a hold on the listing that is believed or being filled, or else on a new one that the
  /// caller must start: with its own questions, if what was known before was found to be wrong.
  func listing(
    at now: Instant,
    timeToLive: Duration,
    fallbackSince oldest: Instant,
    memory: ListingMemory,
    digest: NameDigest
  ) -> (hold: DirectoryListing.Hold, isNew: Bool, mustAsk: Bool)? {
    state.withLock { state in
      state.lastUsedAt = now
      if let newest = state.newest {
        let isBelieved = newest.believedUntil(timeToLive).map { $0 > now } ?? newest.isRunning
        if isBelieved, let hold = newest.hold() { return (hold, false, false) }
      }
      let older = state.complete.flatMap { listing in
        listing.completedAt.map { $0 >= oldest } ?? false ? listing : nil
      }
      let listing = DirectoryListing(
        prefix: prefix,
        startedAt: now,
        fallback: older,
        memory: memory,
        digest: digest
      )
      state.newest = listing
      state.askedNameCount = 0
      defer { state.isExpired = false }
      return listing.hold().map { ($0, true, state.isExpired) }
    }
  }

  /// It was just made, and is known to be empty.
  func begin(emptyAt now: Instant, memory: ListingMemory, digest: NameDigest) {
    let listing = DirectoryListing(emptyAt: now, prefix: prefix, memory: memory, digest: digest)
    state.withLock { state in
      state.newest = listing
      state.complete = listing
      state.isExpired = false
    }
  }

  /// A name in it is about to be asked for.
  ///
  /// - Returns: true if it was listed before, and names have been asked for one by one since that for as
  ///   much as listing it again costs.
  func isWorthListing() -> Bool {
    state.withLock { state in
      guard let complete = state.complete else { return false }
      state.askedNameCount += 1
      return state.askedNameCount * Self.requestsPerName > Self.singleRequestCountMin + complete
        .count / Self.rowsPerRequest
    }
  }

  /// A name in it is about to be asked for.
  ///
  /// - Returns: true if it was never listed, and so many names have been asked for one by one that a listing
  ///   of up to `triedRowCount` rows would have cost as much.
  func isWorthTrying() -> Bool {
    state.withLock { state in
      guard state.complete == nil, state.newest?.isRunning != true else { return false }
      state.askedNameCount += 1
      return state.askedNameCount > Self.triedNameCount
    }
  }

  private static let triedNameCount = 8
  /// What a listing of a directory of unknown size may have before it is given up.
  static let triedRowCount = triedNameCount * requestsPerName * rowsPerRequest

  /// A few names alone are no reason to list all.
  private static let singleRequestCountMin = 8
  /// HEAD of the object, and a listing of one key below it.
  private static let requestsPerName = 2
  private static let rowsPerRequest = 1000

  /// Forgets what was listed, for it is about to lose the changes that make it true.
  func forgetListings() {
    // They go outside of the lock: what they give back is counted by others.
    _ = state.withLock { state in
      defer { (state.newest, state.complete) = (nil, nil) }
      return (state.newest, state.complete)
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
    let newest = state.withLock { state in
      state.isExpired = true
      return state.newest
    }
    newest?.expire()
  }

  /// The listing that is being filled, or the last that was, believed or not.
  var newest: DirectoryListing? { state.withLock { $0.newest } }

  /// When somebody last wanted to know something of it.
  var lastUsedAt: Instant { state.withLock { $0.lastUsedAt } }

  /// Forgets its listings, to make room, unless somebody holds one.
  ///
  /// - Returns: false if they are in use.
  func dropIdleListings() -> Bool {
    // They go outside of the lock: what they give back is counted by others.
    let dropped = state.withLock { state -> [DirectoryListing]? in
      let listings = [state.newest, state.complete].compactMap { $0 }
      guard listings.allSatisfy({ !$0.isHeld }) else { return nil }
      state.newest = nil
      state.complete = nil
      return listings
    }
    return dropped != nil
  }
}
