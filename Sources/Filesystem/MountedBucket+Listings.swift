internal import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  /// A listing of at most this many rows is one page: as cheap to ask for again as one name, and it
  /// answers for all of them.
  private static let shortCountMax = 1000

  /// True if the directory was listed before and is short.
  func hasShortListing(_ directory: Directory) -> Bool {
    directory.lastComplete.map { $0.count <= Self.shortCountMax } ?? false
  }

  /// Takes hold of the directory's believed listing, or the one being filled, or starts one.
  func holdListing(of directory: Directory, at now: Instant) -> DirectoryListing.Hold? {
    let listing = directory.listing(
      at: now,
      timeToLive: timeToLive,
      fallbackSince: now - options.staleMax,
      memory: listingMemory,
      digest: queries.digest
    )
    guard let listing else { return nil }
    if listing.isNew {
      let observer = ListingObserver(directory: directory, bucket: self)
      let source = listing.mustAsk ? nil : flatSource(for: directory, at: now)
      listing.hold.listing.start(queries, observer: observer, source: source)
    }
    return listing.hold
  }

  /// Tells `waiter` when the directory's newest listing has ended.
  ///
  /// - Returns: what to run if that isn't wanted any more.
  func refreshListing(
    of directory: Directory,
    at now: Instant,
    waiter: @escaping @Sendable (DirectoryListing) -> Void
  ) -> @Sendable () -> Void {
    guard let hold = holdListing(of: directory, at: now) else { return {} }
    let listing = hold.listing
    // The hold is kept by who waits, and goes with the wait.
    let ticket = listing.whenEnded { waiter(hold.listing) }
    return { if let ticket { listing.leave(ticket) } }
  }

  /// A listing has ended: the nodes of the directory are brought up to date.
  fileprivate func listingEnded(
    _ listing: DirectoryListing,
    of directory: Directory,
    didFallBack: Bool
  ) {
    let isComplete = listing.completedAt != nil
    directory.listingEnded(listing, isComplete: isComplete)
    guard isComplete else { return }
    if !didFallBack {
      let startedAt = listing.startedAt
      let removed = tables.withLock {
        $0.changes[directory.prefix]?.removedDirectories(before: startedAt) ?? []
      }
      let doubtful = removed.filter { listing.entry($0[...], .directory) != nil }
      tables.withLock { tables in
        tables.changes[directory.prefix]?.told(at: startedAt, doubtful: doubtful)
        if tables.changes[directory.prefix]?.count == 0 { tables.changes[directory.prefix] = nil }
      }
      lookInto(doubtful, of: directory)
      reconcile(directory, with: listing)
      noteStep(to: directory, entryCount: listing.count)
    }
    listingMemory.keep(directory)
  }

  /// Asks the store what is in directories that were removed here, and that it lists.
  private func lookInto(_ components: [[UInt8]], of directory: Directory) {
    guard !components.isEmpty else { return }
    _ = startControlTask { [self] in
      for component in components {
        let askedAt = time.now
        let found = await contents(
          of: ObjectKey(directory.prefix.bytes + component + [UInt8(ascii: "/")]),
          by: askedAt + options.deadline
        )
        guard case .success(let contents) = found else { continue }
        let isThere = if case .nothing = contents { false } else { true }
        tables.withLock {
          $0.changes[directory.prefix]?.looked(into: component, at: askedAt, isThere: isThere)
        }
      }
    }
  }

  /// Nodes brought up to date with the tables locked, at a time.
  private static let batchCount = 256

  /// Supersedes the nodes of a directory that its listing contradicts, and lets the others refer to
  /// its rows, so that the pages of older listings can go.
  private func reconcile(_ directory: Directory, with listing: DirectoryListing) {
    let children = tables.withLock { $0.inodes.children(of: directory.node) }
    for start in stride(from: 0, to: children.count, by: Self.batchCount) {
      let batch = children[start..<min(start + Self.batchCount, children.count)]
      let known = tables.withLock { tables in
        batch.compactMap { id in tables.inodes.node(id)?.entry.map { (id, $0) } }
      }
      let listed = known.map { (id: $0.0, entry: listing.entry(matching: $0.1)) }
      tables.withLock { tables in
        for (id, entry) in listed {
          if let entry {
            tables.inodes.sighted(entry)
          } else {
            tables.inodes.vanished(id, asOf: listing.startedAt)
          }
        }
      }
    }
  }
}

/// Tells a mounted bucket how the listing of a directory went.
private final class ListingObserver: DirectoryListing.Observer {
  private let directory: Directory
  private weak let bucket: MountedBucket?

  init(directory: Directory, bucket: MountedBucket) {
    self.directory = directory
    self.bucket = bucket
  }

  func listingEnded(_ listing: DirectoryListing, didFallBack: Bool) {
    bucket?.listingEnded(listing, of: directory, didFallBack: didFallBack)
  }

  func listingFellBack(_ listing: DirectoryListing, because error: StoreError) {
    bucket?.noteOutage(error)
  }

  func listingRejected(_ rejection: ListingContents.Rejection) {
    bucket?.reporter.note(
      .warning,
      kind: "hidden \(rejection.key)",
      "\"\(rejection.key)\" is not shown: \(rejection.reason)"
    )
  }

  func listingRejected(moreCount: Int) {
    bucket?.reporter.note(
      .warning,
      kind: "hidden below \(directory.prefix)",
      "\(moreCount) more keys below \"\(directory.prefix)\" are not shown"
    )
  }
}
