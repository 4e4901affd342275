internal import Core
internal import ObjectFiles
internal import Support

/// Fetches the small files of a directory ahead of whoever opens one after the other.
///
/// What is fetched is kept open, so that the reader finds it as it is; nothing is kept for long.
final class SiblingPrefetch: Sendable {
  private struct State {
    var policy = SiblingPolicy()
    var objects: [Int: any CachedObject] = [:]
    var openCount: UInt64 = 0
    var hasAlarm = false
  }

  /// A file that is guessed.
  private struct Guess {
    let position: Int
    let version: ObjectVersion
  }

  /// How long what was fetched is kept for a reader that has stopped.
  private static let keepSpan = Duration.seconds(5)

  private let state = Lock(State())

  /// A file of the directory is opened, in the listing's row at `position`.
  func fileOpened(at position: Int, in listing: DirectoryListing, of bucket: MountedBucket) {
    let (guesses, dropped) = state.withLock { state in
      state.openCount += 1
      let decision = state.policy.fileOpened(at: position)
      let dropped = decision.released.compactMap { state.objects.removeValue(forKey: $0) }
      guard let search = decision.search else { return ([Guess](), dropped) }
      return (Self.search(search, in: listing, &state), dropped)
    }
    // What is let go closes files: outside of the lock.
    if !dropped.isEmpty { bucket.aheadPool.submit { _ = dropped } }
    guard !guesses.isEmpty else { return }
    let cache = bucket.cache
    for guess in guesses {
      bucket.aheadPool.submit { [self] in fetch(guess, from: cache) }
    }
    setAlarm(bucket)
  }

  private static func search(
    _ search: SiblingPolicy.Search,
    in listing: DirectoryListing,
    _ state: inout State
  ) -> [Guess] {
    var guesses: [Guess] = []
    var found: [(position: Int, size: Int)] = []
    var byteCount = 0
    var position = search.start
    while position < search.start + search.rowCount, found.count < search.fileCount,
      byteCount < search.byteCount, let entry = listing.row(at: position)?.entry
    {
      if entry.kind == .file, state.policy.isSmall(entry.size), entry.version.etag != nil {
        guesses.append(Guess(position: position, version: entry.version))
        found.append((position, entry.size))
        byteCount += entry.size
      }
      position += 1
    }
    state.policy.guessed(found, end: position)
    return guesses
  }

  private func fetch(_ guess: Guess, from cache: any PartCache) {
    // What can't be cached is left to its own reads.
    guard let object = try? cache.open(guess.version) else { return }
    object.prefetch(FetchPlan(demand: [ByteRange(0, guess.version.size)]))
    let isWanted = state.withLock { state in
      guard state.policy.isKept(guess.position) else { return false }
      state.objects[guess.position] = object
      return true
    }
    if !isWanted { object.abandonPrefetch(of: [ByteRange(0, guess.version.size)]) }
  }

  /// Lets go of everything when nothing was opened for a while.
  private func setAlarm(_ bucket: MountedBucket) {
    let count = state.withLock { state -> UInt64? in
      defer { state.hasAlarm = true }
      return state.hasAlarm ? nil : state.openCount
    }
    guard let count else { return }
    _ = bucket.timers.schedule(after: Self.keepSpan) { [weak self, weak bucket] in
      guard let self, let bucket else { return }
      bucket.aheadPool.submit { [self, weak bucket] in alarm(openedBefore: count, bucket) }
    }
  }

  private func alarm(openedBefore count: UInt64, _ bucket: MountedBucket?) {
    let (dropped, isStillRead) = state.withLock { state in
      state.hasAlarm = false
      guard state.openCount == count else { return ([any CachedObject](), true) }
      _ = state.policy.wentQuiet()
      defer { state.objects = [:] }
      return (Array(state.objects.values), false)
    }
    for object in dropped {
      object.abandonPrefetch(of: [ByteRange(0, object.version.size)])
    }
    if isStillRead, let bucket { setAlarm(bucket) }
  }
}

extension MountedBucket {
  /// A file is opened: those that are likely to be opened next are fetched.
  func fetchSiblings(of entry: Entry, node: NodeID) {
    guard !options.isOffline else { return }
    let directory = tables.withLock { tables in
      tables.inodes.node(node)?.parent.flatMap { tables.inodes.enteredDirectory($0) }
    }
    guard let directory, let listing = directory.newestListing,
      let position = listing.position(of: entry)
    else { return }
    directory.siblings.fileOpened(at: position, in: listing, of: self)
  }
}
