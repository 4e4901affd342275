internal import Core
internal import ObjectFiles
internal import Support

// With `--metadata-from head` what is shown is asked for what a listing doesn't tell.
extension MountedBucket {
  /// Requests for the facts of a directory's entries at a time.
  private static let askedAtOnceMax = 32

  /// True if a child must be asked for before its attributes are shown.
  func lacksFacts(_ entry: Entry, at now: Instant) -> Bool {
    guard options.metadataSource == .head, !options.isOffline, !isInOutage(at: now) else {
      return false
    }
    let (draft, invalidatedAt) = tables.withLock { tables in
      (tables.drafts.draft(at: entry.key), tables.invalidatedAt)
    }
    // Nobody else has what is being written, or has been made and not stored yet.
    if draft?.isDirty ?? false { return false }
    guard entry.kind == .directory || entry.etag != nil else { return false }
    guard let known = facts.withLock({ $0.facts(of: entry) }) else { return true }
    return known.askedAt < now - timeToLive || known.askedAt < invalidatedAt
  }

  /// True if what a name leads to must be asked for first.
  func lacksFacts(_ sighting: Sighting, at now: Instant) -> Bool {
    if case .found(let entry, _) = sighting { lacksFacts(entry, at: now) } else { false }
  }

  /// Asks for what a name leads to, if that is needed.
  ///
  /// - Returns: what it leads to by that: another version, perhaps, or nothing.
  func withFacts(_ sighting: Sighting, by deadline: Instant) async -> LookupOutcome {
    let now = time.now
    guard case .found(let entry, let until) = sighting, lacksFacts(entry, at: now) else {
      return .success(sighting)
    }
    switch await asked(entry, by: deadline) {
    case .failure(let error): return .failure(error)
    case .success(let object?) where entry.kind == .file:
      let seen = ListingPage.single(
        object,
        component: entry.component,
        in: entry.page.prefix,
        requestedAt: now,
        isPlainlyNamed: entry.page.isPlainlyNamed
      )
      guard let seen, !seen.isSameContent(as: entry) else { return .success(sighting) }
      return .success(.found(seen, until: now + timeToLive))
    case .success:
      // Gone since it was listed: for as long as the listing is believed it is there. Who opens it learns.
      return .success(.found(entry, until: until))
    }
  }

  /// Asks for entries of a directory, some at a time.
  ///
  /// Of what fails nothing is known then; it is asked for again by itself, and who does that is told why.
  func askFacts(of entries: [Entry], by deadline: Instant) async {
    await withTaskGroup(of: Void.self) { group in
      for (index, entry) in entries.enumerated() {
        if index >= Self.askedAtOnceMax { await group.next() }
        group.addTask { [self] in _ = await asked(entry, by: deadline) }
      }
    }
  }

  /// What the store says of a child, asked once for all who want it.
  private func asked(_ entry: Entry, by deadline: Instant) async -> HeadOutcome {
    let gate = Gate()
    let outcome = Lock(HeadOutcome?.none)
    _ = heads.join(
      entry.key,
      asking: { [self] in
        entry.kind == .directory
          ? await headMarker(entry.key, by: deadline) : await head(entry, by: deadline)
      },
      waiter: { answer in
        outcome.withLock { $0 = answer }
        gate.open()
      }
    )
    await gate.wait()
    return outcome.withLock { $0 } ?? .failure(Self.unknownNode)
  }

  /// Asks for a directory's marker, and remembers what the store says.
  func headMarker(_ prefix: ObjectKey, by deadline: Instant) async -> HeadOutcome {
    let askedAt = time.now
    switch await queries.head(prefix, hasFallback: true, by: deadline) {
    case .success(let marker):
      let news = facts.withLock { $0.note(marker: marker, of: prefix, askedAt: askedAt) }
      if let news { recordFacts?(news) }
      return .success(marker)
    case .failure(let error):
      if error.isOutage {
        noteOutage(error)
        return .success(nil)
      }
      return .failure(FileError(error, of: .name).uninterrupted)
    }
  }
}
