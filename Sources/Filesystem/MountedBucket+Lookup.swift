package import Core
internal import ObjectFiles
internal import Support

/// How a lookup at the store ended.
typealias LookupOutcome = Result<Sighting, FileError>

extension MountedBucket {
  package func lookup(
    _ name: FileName,
    in parent: NodeID,
    reply: consuming Reply<EntryAnswer>
  ) {
    guard let directory = tables.withLock({ $0.inodes.directory(parent) }) else {
      reply.fail(Self.unknownNode)
      return
    }
    guard name.bytes.count <= NameCodec.nameLengthMax else {
      reply.fail(FileError(.nameTooLong, "a name has at most \(NameCodec.nameLengthMax) bytes"))
      return
    }
    guard let spelled = NameCodec.meaning(of: name),
      mayBeKey(spelled, in: directory)
    else {
      // There can't be such a key, and a store that is asked for it takes that for an error.
      reply.succeed(EntryAnswer(absentFor: options.metadataTTL))
      return
    }
    let meaning = resolved(spelled, in: directory)
    let now = time.now
    var sighting = believed(meaning, in: directory, at: now)
    if sighting == nil, isInOutage(at: now) {
      sighting = remembered(meaning, in: directory, at: now)
    }
    if let sighting, !lacksFacts(sighting, at: now) {
      let answer = answer(sighting, in: directory, at: now)
      if !reply.succeed(answer) { takeBack(answer) }
      return
    }
    let budget = budget(for: key(of: meaning, in: directory), at: now)
    let path = path(of: meaning, in: directory)
    let operation = FailureReporter.Operation(name: "lookup", path: path)
    guard let waiting = park(reply, operation, budget) else { return }
    @Sendable func end(_ outcome: LookupOutcome) {
      switch outcome {
      case .success(let sighting):
        waited(budget)
        let answer = answer(sighting, in: directory, at: time.now)
        if !waiting.succeed(answer) { takeBack(answer) }
      case .failure(let error):
        waiting.fail(error)
      }
    }
    @Sendable func askFacts(_ sighting: Sighting) {
      _ = startControlTask { [self] in end(await withFacts(sighting, by: budget.deadline)) }
    }
    if let sighting { return askFacts(sighting) }
    let giveUp = lookUp(meaning, in: directory, at: now, by: budget.deadline) { [self] outcome in
      if case .success(let sighting) = outcome, lacksFacts(sighting, at: time.now) {
        askFacts(sighting)
      } else {
        end(outcome)
      }
    }
    waiting.whenGivenUp(giveUp)
  }

  /// False for a name that is no key's, since a key has 1 to 1,024 bytes.
  private func mayBeKey(_ meaning: NameCodec.Meaning, in directory: Directory) -> Bool {
    let count = key(of: meaning, in: directory).bytes.count
    // A directory's name may be empty: that of what is below the key "/".
    if case .child(let child) = meaning, child.isShadowedObject, count == 0 { return false }
    return count <= ObjectKey.byteCountMax
  }

  /// Asks the store for a name, by the directory's listing if that is the cheaper way.
  ///
  /// - Returns: what to run if the answer isn't wanted any more.
  func lookUp(
    _ meaning: NameCodec.Meaning,
    in directory: Directory,
    at now: Instant,
    by deadline: Instant,
    waiter: @escaping @Sendable (LookupOutcome) -> Void
  ) -> @Sendable () -> Void {
    if hasShortListing(directory) || directory.isWorthListing() {
      return refreshListing(of: directory, at: now) { listing in
        switch listing.status {
        case .failed(let error):
          waiter(.failure(error))
        case .running, .complete:
          let now = self.time.now
          let until = max(
            listing.believedUntil(self.timeToLive) ?? now,
            now + self.unconfirmedTimeout
          )
          waiter(.success(self.sighting(of: meaning, in: directory, by: listing, until: until)))
        }
      }
    }
    if directory.isWorthTrying() { tryListing(directory, at: now) }
    let ticket = lookups.join(
      NameKey(meaning, in: directory),
      asking: { [self] in
        switch meaning {
        case .child(let child): await find(child, in: directory, by: deadline)
        case .long(let name): await find(name, in: directory, by: deadline)
        }
      },
      waiter: waiter
    )
    return { [lookups] in lookups.leave(ticket) }
  }

  /// What a listing says of a name, and what was changed since.
  private func sighting(
    of meaning: NameCodec.Meaning,
    in directory: Directory,
    by listing: DirectoryListing,
    until: Instant
  ) -> Sighting {
    if case .child(let child) = meaning, let changes = changes(of: child, in: directory.prefix) {
      let base = ListingView(listing, until: until)
      let sighting = changes.sighting(of: child, over: base, at: time.now, believedFor: timeToLive)
      if let sighting { return sighting }
    }
    return listing.entry(for: meaning).map { .found($0, until: until) } ?? .absent(until: until)
  }

  /// What was to be stored of a name may have been since it was looked at: then it has what the store said.
  ///
  /// Call with `tables` locked.
  private static func newer(_ entry: Entry, _ tables: Tables) -> Entry {
    guard entry.kind == .file, entry.etag == nil else { return entry }
    let change = tables.changes[entry.page.prefix]?.change(of: Array(entry.component), .file)
    return change?.state.entry ?? entry
  }

  /// The answer to a lookup; it counts one, which is to be taken back if nobody takes the answer.
  func answer(_ sighting: Sighting, in directory: Directory, at now: Instant) -> EntryAnswer {
    switch sighting {
    case .absent(let until):
      return EntryAnswer(absentFor: timeout(until: until, at: now))
    case .found(let entry, let until):
      let isLink = isLink(entry)
      let (node, known) = tables.withLock { tables in
        let entry = Self.newer(entry, tables)
        let node = tables.inodes.lookedUp(entry, in: directory.node, isLink: isLink)
        // The node may know something newer.
        let known = tables.inodes.node(node)?.entry ?? entry
        tables.drafts.found(known, node)
        return (node, known)
      }
      let timeout = timeout(until: until, at: now)
      return EntryAnswer(
        node: node,
        attributes: attributes(of: known, node),
        entryTimeout: timeout,
        attributeTimeout: timeout
      )
    }
  }

  /// Nobody took the answer to a lookup.
  func takeBack(_ answer: EntryAnswer) {
    guard let node = answer.node else { return }
    tables.withLock { $0.inodes.forget(node, lookupCount: 1) }
  }

  /// What a name leads to, as far as that is known: the key, or the name in its place.
  private func key(of meaning: NameCodec.Meaning, in directory: Directory) -> ObjectKey {
    switch meaning {
    case .child(let child): ObjectKey(directory.prefix.bytes + child.component)
    case .long(let name): ObjectKey(directory.prefix.bytes + name.name.bytes)
    }
  }

  /// The path of a name in messages: its key's, with a shadowed object told from its directory.
  private func path(of meaning: NameCodec.Meaning, in directory: Directory) -> String {
    guard case .child(let child) = meaning, child.isShadowedObject else {
      return path(of: key(of: meaning, in: directory))
    }
    return path(of: ObjectKey(directory.prefix.bytes + NameCodec.objectPrefix + child.component))
  }

  /// Tells once of an object that doesn't have the name one would look for.
  func noteShadowed(_ object: Entry) {
    guard !object.component.isEmpty else { return }
    let key = object.key
    reporter.noteOnce(.info, about: key) {
      let child = NameCodec.Child(component: object.component, isShadowedObject: true)
      let name = NameCodec.name(of: child, queries.digest)
      return "there are keys below \"\(key)/\" too, so the object \"\(key)\" is shown as"
        + " \"\(name)\" beside that directory"
    }
  }

  /// Asks the store for a name and remembers what it says.
  func find(
    _ child: NameCodec.Child,
    in directory: Directory,
    by deadline: Instant
  ) async -> LookupOutcome {
    let askedAt = time.now
    let older = remembered(.child(child), in: directory, at: askedAt)
    let component = child.component[...]
    let key = ObjectKey(directory.prefix.bytes + component)
    let answer: Result<StoreQueries.Finding, StoreError>
    if component.isEmpty, child.isShadowedObject {
      // The directory's own key: what is asked in it is whether there are bytes.
      answer = await queries.head(key, hasFallback: older != nil, by: deadline)
        .map { StoreQueries.Finding(object: $0?.size == 0 ? nil : $0, isDirectory: true) }
    } else {
      answer = await queries.find(
        key,
        mayBeObject: !component.isEmpty,
        hasFallback: older != nil,
        by: deadline
      )
    }
    switch answer {
    case .success(let finding):
      return note(finding, child, in: directory, askedAt: askedAt)
    case .failure(let error): return outcome(of: error, older)
    }
  }

  /// What to answer when the store could not be asked.
  func outcome(of error: StoreError, _ older: Sighting?) -> LookupOutcome {
    if error.isOutage, let older {
      noteOutage(error)
      return .success(older)
    }
    return .failure(FileError(error, of: .name).uninterrupted)
  }

  /// Remembers what the store said of a name, and tells what that means.
  func note(
    _ finding: StoreQueries.Finding,
    _ child: NameCodec.Child,
    in directory: Directory,
    askedAt: Instant
  ) -> LookupOutcome {
    let component = child.component[...]
    let prefix = directory.prefix
    let until = askedAt + timeToLive
    let changes = tables.withLock { tables in
      if finding.isDirectory {
        tables.changes[prefix]?.looked(into: child.component, at: askedAt, isThere: true)
      }
      return tables.changes[prefix]
    }
    let isDirectory =
      changes?.state(of: child.component, .directory, since: askedAt).map { $0.entry != nil }
      ?? finding.isDirectory
    var object: Entry?
    if let state = changes?.state(of: child.component, .file, since: askedAt) {
      object = state.entry
    } else if let metadata = finding.object {
      object = ListingPage.single(
        metadata,
        component: component,
        in: prefix,
        requestedAt: askedAt,
        isPlainlyNamed: !isDirectory
      )
      if let object { learn(object) }
      learnFacts(metadata, askedAt: askedAt)
    } else {
      learnAbsence(of: component, in: prefix, asOf: askedAt)
    }
    if let object, isDirectory { noteShadowed(object) }
    if isDirectory, !child.isShadowedObject {
      let entry = ListingPage.single(directory: component, in: prefix, requestedAt: askedAt)
      return .success(.found(entry, until: until))
    }
    if let object, isDirectory == child.isShadowedObject {
      return .success(.found(object, until: until))
    }
    if finding.object != nil, object == nil,
      changes?.state(of: child.component, .file, since: askedAt) == nil
    {
      let message =
        "no file can have the size or tag of \"\(path(of: ObjectKey(prefix.bytes + component)))\""
      return .failure(FileError(.inputOutput, message))
    }
    noteAbsent(NameKey(.child(child), in: directory), until: until)
    return .success(.absent(until: until))
  }
}
