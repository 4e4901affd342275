internal import Core
internal import Support

extension MountedBucket {
  /// What a flat listing says of a directory, if a program walks the tree that it is in.
  ///
  /// - Returns: what waits for that; nil if there is no walk.
  func flatSource(
    for directory: Directory,
    at now: Instant
  ) -> (@Sendable () async -> FlatPart?)? {
    // What lies ready would be out of date when it is asked for.
    guard timeToLive >= Self.flatTimeToLiveMin else { return nil }
    let place = place(of: directory)
    let flats = walks.withLock { walks in
      if let place, walks.begins(below: place.parent.prefix, at: place.rank) {
        walks.add(below: place.parent.prefix) { policy in
          FlatListing(
            prefix: place.parent.prefix,
            policy: policy,
            queries: queries,
            memory: listingMemory
          )
        }
      }
      return walks.flats(covering: directory.prefix)
    }
    guard !flats.isEmpty else { return nil }
    let prefix = directory.prefix
    let oldest = now - timeToLive
    return {
      for flat in flats {
        if let part = await flat.part(of: prefix, completedAfter: oldest) { return part }
      }
      return nil
    }
  }

  private static let flatTimeToLiveMin = Duration.seconds(1)

  /// A directory was listed: a step of a walk, perhaps.
  func noteStep(to directory: Directory, entryCount: Int) {
    guard timeToLive >= Self.flatTimeToLiveMin, let place = place(of: directory) else { return }
    walks.withLock {
      $0.childListed(below: place.parent.prefix, rank: place.rank, entryCount: entryCount)
    }
  }

  /// The directory's parent, and the directory's rank among the parent's directories.
  private func place(of directory: Directory) -> (parent: Directory, rank: Int)? {
    let parent = tables.withLock { tables in
      tables.inodes.node(directory.node)?.parent.flatMap { tables.inodes.enteredDirectory($0) }
    }
    guard let parent, directory.prefix.hasPrefix(parent.prefix) else { return nil }
    let component = directory.prefix.bytes.dropFirst(parent.prefix.bytes.count).dropLast()
    return parent.newest?.directoryRank(of: component).map { (parent, $0) }
  }
}

/// The walks through the tree that are going on.
struct WalkTable: Sendable {
  private static let policyCountMax = 256
  private static let flatCountMax = 8

  private var policies: [ObjectKey: WalkPolicy] = [:]
  private var flats: [FlatListing] = []
  /// The store's order turned out to be none.
  private var isUnordered = false

  /// A child of the directory with this prefix was listed.
  mutating func childListed(below prefix: ObjectKey, rank: Int, entryCount: Int) {
    // Only who begins at the beginning is watched, and few forget where they are.
    guard rank == 0 || policies[prefix] != nil else { return }
    if policies[prefix] == nil, policies.count >= Self.policyCountMax { policies = [:] }
    policies[prefix, default: WalkPolicy()].childListed(rank: rank, entryCount: entryCount)
  }

  /// True if a flat listing is to begin for the child of this rank.
  func begins(below prefix: ObjectKey, at rank: Int) -> Bool {
    !isUnordered && policies[prefix]?.begins(at: rank) ?? false
  }

  /// Adds the flat listing that `make` makes of the policy, which goes along.
  mutating func add(below prefix: ObjectKey, _ make: (WalkPolicy) -> FlatListing) {
    guard let policy = policies.removeValue(forKey: prefix) else { return }
    isUnordered = isUnordered || flats.contains { $0.isUnordered }
    flats.removeAll { $0.prefix == prefix || $0.isSpent }
    if flats.count >= Self.flatCountMax { flats.removeFirst() }
    if !isUnordered { flats.append(make(policy)) }
  }

  /// The flat listings that may have something of a directory, the nearest first.
  func flats(covering directory: ObjectKey) -> [FlatListing] {
    flats.filter { directory.hasPrefix($0.prefix) }
      .sorted { $0.prefix.bytes.count > $1.prefix.bytes.count }
  }
}
