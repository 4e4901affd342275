package import Core
internal import ObjectFiles
internal import Support

/// How a confirmation at the store ended; what it said is in the tables.
typealias HeadOutcome = Result<ObjectMetadata?, FileError>

extension MountedBucket {
  package func getAttributes(
    of node: NodeID,
    handle: HandleID?,
    reply: consuming Reply<AttributesAnswer>
  ) {
    let now = time.now
    if let entry = tables.withLock({ $0.inodes.node(node)?.entry }), lacksFacts(entry, at: now) {
      askFacts(of: node, entry, at: now, reply: reply)
      return
    }
    switch state(of: node, at: now) {
    case .failure(let error):
      reply.fail(error)
    case .success(.directory(let attributes)):
      reply.succeed(AttributesAnswer(attributes: attributes, timeout: options.metadataTTL))
    case .success(.believed(let entry, let until)):
      let timeout = timeout(until: until, at: now)
      reply.succeed(AttributesAnswer(attributes: attributes(of: entry, node), timeout: timeout))
    case .success(.doubtful(let entry, let parent)):
      let operation = FailureReporter.Operation(
        name: "getattr",
        path: path(of: entry.key),
        node: node
      )
      let budget = budget(for: entry.key, at: now)
      guard let waiting = park(reply, operation, budget) else { return }
      let giveUp = confirm(node, entry, in: parent, by: budget.deadline) { [self] outcome in
        switch outcome {
        case .success(let (entry, until)):
          waited(budget)
          let timeout = timeout(until: until, at: time.now)
          waiting.succeed(
            AttributesAnswer(attributes: attributes(of: entry, node), timeout: timeout)
          )
        case .failure(let error):
          waiting.fail(error)
        }
      }
      waiting.whenGivenUp(giveUp)
    }
  }

  /// Asks for a node's facts, which confirms it too, and answers with them.
  private func askFacts(
    of node: NodeID,
    _ entry: Entry,
    at now: Instant,
    reply: consuming Reply<AttributesAnswer>
  ) {
    let operation = FailureReporter.Operation(
      name: "getattr",
      path: path(of: entry.key),
      node: node
    )
    let budget = budget(for: entry.key, at: now)
    guard let waiting = park(reply, operation, budget) else { return }
    _ = startControlTask { [self] in
      let sighting = Sighting.found(entry, until: now + timeToLive)
      if case .failure(let error) = await withFacts(sighting, by: budget.deadline) {
        waiting.fail(error)
        return
      }
      waited(budget)
      let now = time.now
      switch state(of: node, at: now) {
      case .failure(let error): waiting.fail(error)
      case .success(.directory(let attributes)):
        waiting.succeed(AttributesAnswer(attributes: attributes, timeout: options.metadataTTL))
      case .success(.believed(let entry, let until)):
        let timeout = timeout(until: until, at: now)
        waiting.succeed(
          AttributesAnswer(attributes: attributes(of: entry, node), timeout: timeout)
        )
      case .success(.doubtful(let entry, _)):
        waiting.succeed(
          AttributesAnswer(attributes: attributes(of: entry, node), timeout: unconfirmedTimeout)
        )
      }
    }
  }

  /// What may be said of a node without asking.
  enum NodeState: Sendable {
    /// It is a directory.
    case directory(FileAttributes)
    /// It is a file, and this is believed until then.
    case believed(Entry, until: Instant)
    /// It is a file, and this is to be confirmed.
    case doubtful(Entry, parent: Directory?)
  }

  /// What may be said of a node at `now`; `ESTALE` if it is superseded.
  func state(of node: NodeID, at now: Instant) -> Result<NodeState, FileError> {
    let (known, parent, draft, shown, invalidatedAt, isInOutage) = tables.withLock { tables in
      let known = tables.inodes.node(node)
      let parent = known?.parent.flatMap { tables.inodes.enteredDirectory($0) }
      let shown = tables.shown.isEmpty ? nil : tables.shown[node]
      return (
        known, parent, tables.drafts[node], shown, tables.invalidatedAt, tables.outageUntil > now
      )
    }
    guard let known else { return .failure(Self.unknownNode) }
    guard let entry = known.entry else {
      let root = directoryAttributes(inodeNumber: InodeNumber.root)
      let posix = facts.withLock { $0.facts(ofDirectory: options.directoryPrefix)?.posix }
      return .success(
        .directory(root.showing(posix.map { ShownFacts($0) }).showing(shown))
      )
    }
    if known.isSuperseded { return .failure(superseded(entry)) }
    if entry.kind == .directory {
      return .success(.directory(attributes(of: entry).showing(shown)))
    }
    // Nobody else can change what no name leads to, or what the store hasn't got yet.
    if known.isRemoved || draft?.isDirty ?? false {
      return .success(.believed(entry, until: now + timeToLive))
    }
    let until = entry.page.requestedAt + timeToLive
    if until > now, entry.page.requestedAt > invalidatedAt {
      return .success(.believed(entry, until: until))
    }
    // A long listing is believed from its end on, its first rows were asked for long before.
    if let parent,
      case .believed(let listing, let until) = parent.knowledge(at: now, timeToLive: timeToLive),
      let listed = listing.entry(matching: entry), listed.isSameContent(as: entry)
    {
      return .success(.believed(entry, until: until))
    }
    if isInOutage, entry.page.requestedAt >= now - options.staleMax {
      return .success(.believed(entry, until: now + unconfirmedTimeout))
    }
    return .success(.doubtful(entry, parent: parent))
  }

  /// The failure of whatever is asked of a version that isn't there any more.
  func superseded(_ entry: Entry) -> FileError {
    FileError(.stale, "\"\(path(of: entry.key))\" was replaced or removed at the store")
  }

  /// Asks the store whether a file is still as it was known.
  ///
  /// - Returns: what to run if the answer isn't wanted any more.
  func confirm(
    _ node: NodeID,
    _ entry: Entry,
    in parent: Directory?,
    by deadline: Instant,
    waiter: @escaping @Sendable (Result<(Entry, until: Instant), FileError>) -> Void
  ) -> @Sendable () -> Void {
    if let parent, hasShortListing(parent) {
      return refreshListing(of: parent, at: time.now) { [self] listing in
        if case .failed(let error) = listing.status {
          waiter(.failure(error))
        } else {
          waiter(confirmed(node))
        }
      }
    }
    let ticket = heads.join(
      entry.key,
      asking: { [self] in await head(entry, by: deadline) },
      waiter: { [self] outcome in
        switch outcome {
        case .success: waiter(confirmed(node))
        case .failure(let error): waiter(.failure(error))
        }
      }
    )
    return { [heads] in heads.leave(ticket) }
  }

  /// What to answer after the store was asked: the facts, unless they were superseded by that.
  private func confirmed(_ node: NodeID) -> Result<(Entry, until: Instant), FileError> {
    let now = time.now
    return state(of: node, at: now).flatMap { state in
      switch state {
      case .believed(let entry, let until): .success((entry, until))
      // Its listing doesn't have it, or it could not be confirmed: as it was known, for a moment.
      case .doubtful(let entry, _): .success((entry, now + unconfirmedTimeout))
      case .directory: .failure(Self.unknownNode)
      }
    }
  }

  /// Asks for an object and remembers what the store says.
  func head(_ entry: Entry, by deadline: Instant) async -> HeadOutcome {
    let askedAt = time.now
    let hasFallback = entry.page.requestedAt >= askedAt - options.staleMax
    switch await queries.head(entry.key, hasFallback: hasFallback, by: deadline) {
    case .success(let metadata?):
      let sighted = ListingPage.single(
        metadata,
        component: entry.component,
        in: entry.page.prefix,
        requestedAt: askedAt,
        isPlainlyNamed: entry.page.isPlainlyNamed
      )
      if let sighted { learn(sighted) }
      learnFacts(metadata, askedAt: askedAt)
      return .success(metadata)
    case .success(nil):
      learnAbsence(of: entry.component, in: entry.page.prefix, asOf: askedAt)
      return .success(nil)
    case .failure(let error):
      if error.isOutage, hasFallback {
        noteOutage(error)
        return .success(nil)
      }
      return .failure(FileError(error, of: .openFile).uninterrupted)
    }
  }
}
