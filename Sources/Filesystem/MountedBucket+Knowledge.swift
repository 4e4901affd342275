internal import Core
internal import ObjectFiles
internal import Support

/// What is known of a name.
enum Sighting: Sendable {
  /// It leads to this child, which is believed until then.
  case found(Entry, until: Instant)
  /// It leads nowhere, which is believed until then.
  case absent(until: Instant)
}

/// A name as a key of the tables: unlike the object's key it tells a shadowed object from its
/// directory, and is there before the key is known.
struct NameKey: Hashable, Sendable {
  /// The directory's prefix.
  let prefix: ObjectKey
  /// What the name means there.
  let meaning: NameCodec.Meaning

  init(_ meaning: NameCodec.Meaning, in directory: Directory) {
    self.meaning = meaning
    prefix = directory.prefix
  }
}

extension MountedBucket {
  /// What is believed of a name at `now`; nil if the store must be asked.
  func believed(
    _ meaning: NameCodec.Meaning,
    in directory: Directory,
    at now: Instant
  ) -> Sighting? {
    if case .child(let child) = meaning, let changes = changes(of: child, in: directory.prefix) {
      let base = ListingView(directory.knowledge(at: now, timeToLive: timeToLive), timeToLive)
      return changes.sighting(of: child, over: base, at: now, believedFor: timeToLive)
    }
    switch directory.knowledge(at: now, timeToLive: timeToLive) {
    case .believed(let listing, let until):
      return listing.entry(for: meaning).map { .found($0, until: until) } ?? .absent(until: until)
    case .filling(let listing):
      if let entry = listing.entry(for: meaning) {
        return .found(entry, until: entry.page.requestedAt + timeToLive)
      }
    case .none: break
    }
    let key = NameKey(meaning, in: directory)
    let timeToLive = timeToLive
    return tables.withLock { tables -> Sighting? in
      if let until = tables.absentNames[key], until > now { return .absent(until: until) }
      guard case .child(let child) = meaning, !child.isShadowedObject else { return nil }
      let entry = tables.inodes.plainEntry(child.component[...], in: directory.prefix)
      guard let entry, entry.page.requestedAt > tables.invalidatedAt else { return nil }
      let until = entry.page.requestedAt + timeToLive
      return until > now ? .found(entry, until: until) : nil
    }
  }

  /// What was believed of a name, if that is recent enough to be used without the store.
  func remembered(
    _ meaning: NameCodec.Meaning,
    in directory: Directory,
    at now: Instant
  ) -> Sighting? {
    let oldest = now - options.staleMax
    if case .child(let child) = meaning, let changes = changes(of: child, in: directory.prefix) {
      let base = ListingView(directory.lastComplete, since: oldest, until: now + unconfirmedTimeout)
      return changes.sighting(of: child, over: base, at: now, believedFor: options.staleMax)
    }
    if let listing = directory.lastComplete, let completedAt = listing.completedAt,
      completedAt >= oldest
    {
      return listing.entry(for: meaning).map { .found($0, until: now + unconfirmedTimeout) }
        ?? .absent(until: now + unconfirmedTimeout)
    }
    guard case .child(let child) = meaning, !child.isShadowedObject else { return nil }
    let entry = tables.withLock {
      $0.inodes.plainEntry(child.component[...], in: directory.prefix)
    }
    guard let entry, entry.page.requestedAt >= oldest else { return nil }
    return .found(entry, until: now + unconfirmedTimeout)
  }

  /// True while the store is taken to be out of reach.
  func isInOutage(at now: Instant) -> Bool { tables.withLock { $0.outageUntil > now } }

  /// The store could not be reached, and what was known is used.
  func noteOutage(_ error: StoreError) {
    let until = time.now + options.confirmationPatience
    tables.withLock { $0.outageUntil = until }
    reporter.note(
      .warning,
      kind: "outage",
      "the store can't be reached; what was known of its objects is used: \(error)"
    )
  }

  /// Remembers that a name leads nowhere.
  func noteAbsent(_ key: NameKey, until: Instant) {
    let now = time.now
    let countMax = options.absentNameCountMax
    tables.withLock { tables in
      if tables.absentNames.count >= countMax {
        tables.absentNames = tables.absentNames.filter { $0.value > now }
        if tables.absentNames.count >= countMax { tables.absentNames = [:] }
      }
      tables.absentNames[key] = until
    }
  }

  /// The store said that an object is there: another version's node is superseded.
  func learn(_ entry: Entry) {
    let directory = tables.withLock { tables -> Directory? in
      let parent = tables.inodes.nodeID(for: entry).flatMap { tables.inodes.node($0)?.parent }
      guard tables.inodes.sighted(entry) else { return nil }
      return parent.flatMap { tables.inodes.enteredDirectory($0) }
    }
    // Its listing has the other version.
    directory?.expire()
  }

  /// The store said that there is no object: its node is superseded.
  func learnAbsence(of component: ArraySlice<UInt8>, in prefix: ObjectKey, asOf moment: Instant) {
    let directory = tables.withLock { tables -> Directory? in
      guard let id = tables.inodes.nodeID(component, .file, in: prefix) else { return nil }
      let parent = tables.inodes.node(id)?.parent
      guard tables.inodes.vanished(id, asOf: moment) else { return nil }
      return parent.flatMap { tables.inodes.enteredDirectory($0) }
    }
    directory?.expire()
  }

  /// A read found that its object was replaced or removed.
  func learnStale(_ node: NodeID) {
    let directory = tables.withLock { tables -> Directory? in
      let parent = tables.inodes.node(node)?.parent
      guard tables.inodes.supersede(node) else { return nil }
      return parent.flatMap { tables.inodes.enteredDirectory($0) }
    }
    directory?.expire()
  }
}

extension InodeTable {
  /// The newest facts of the child that a plain name leads to, as far as they tell that: a
  /// directory's do, an object's only if there was no directory when they were asked for.
  func plainEntry(_ component: ArraySlice<UInt8>, in prefix: ObjectKey) -> Entry? {
    if let id = nodeID(component, .directory, in: prefix) { return node(id)?.entry }
    guard !component.isEmpty, let id = nodeID(component, .file, in: prefix) else { return nil }
    return node(id)?.entry.flatMap { $0.page.isPlainlyNamed ? $0 : nil }
  }
}

extension Instant {
  /// The moment `duration` earlier; never before the clock's beginning.
  static func - (instant: Instant, duration: Duration) -> Instant {
    let (difference, overflow) = instant.nanoseconds.subtractingReportingOverflow(
      duration.wholeNanoseconds
    )
    return Instant(nanoseconds: overflow ? .min : difference)
  }
}
