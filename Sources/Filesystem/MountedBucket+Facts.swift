package import Core
internal import ObjectFiles
internal import Support

// What an object has beside its bytes: user metadata, and what `stat` shows of it.
extension MountedBucket {
  /// Remembers what the store has of a version, for this mount and the next.
  func remember(_ object: ObjectMetadata, askedAt: Instant) {
    let news = facts.withLock { $0.note(object, askedAt: askedAt) }
    if let news { recordFacts?(news) }
  }

  /// The store has moved an object: what is known of it is known of what it is now.
  func carryFacts(_ move: VersionMove) {
    let news = facts.withLock { $0.copied(move.source, to: move.target) }
    if let news { recordFacts?(news) }
  }

  /// Whether an object is a symbolic link; nil if that isn't known.
  func isLink(_ entry: Entry) -> Bool? {
    guard entry.kind == .file else { return false }
    return facts.withLock { $0.facts(of: entry).map { $0.posix.kind == .symbolicLink } }
  }

  /// What the store said of a version a moment ago, so that it needn't be asked again.
  func recentAnswer(of entry: Entry) -> ObjectMetadata? {
    let oldest = time.now - timeToLive
    let known = facts.withLock { $0.facts(of: entry) }
    guard let known, known.askedAt >= oldest, var object = known.answer else { return nil }
    object.version = entry.version
    return object
  }

  /// The store has told what belongs to an object, having been asked at `askedAt`.
  package func learnFacts(_ object: ObjectMetadata, askedAt: Instant) {
    guard let metadata = object.userMetadata else { return }
    let (prefix, component) = object.key.place
    let (node, draft, isOlder) = tables.withLock { tables in
      let node = tables.inodes.nodeID(component, .file, in: prefix)
      let entry = node.flatMap { tables.inodes.node($0)?.entry }
      // What this mount has stored since is newer than the answer.
      let isOlder = entry.map { $0.etag == object.version.etag && $0.page.requestedAt > askedAt }
      return (node, node.flatMap { tables.drafts[$0] }, isOlder ?? false)
    }
    guard !isOlder, !(draft?.isDirty ?? false) else { return }
    remember(object, askedAt: askedAt)
    guard let node, options.metadataStyle != .none else { return }
    // It is what another client may have made of it.
    tables.withLock { tables in
      guard var shown = tables.shown[node],
        tables.inodes.node(node)?.entry?.etag == object.version.etag
      else { return }
      let posix = PosixMetadata(metadata)
      (shown.permissions, shown.userID, shown.groupID) = (nil, nil, nil)
      if posix.modified != nil { shown.modified = nil }
      if posix.accessed != nil { shown.accessed = nil }
      tables.shown[node] = shown
    }
  }

  /// Changes what an object has beside its bytes: with the next close of a file that is open to be written,
  /// else by a request that replaces it, at once or a moment later.
  ///
  /// - Parameters:
  ///   - node: the file.
  ///   - entry: what is known of it.
  ///   - time: the modification time to be set; nil keeps what there is.
  ///   - mayWait: it may be stored a moment later, see `FilesystemOptions.attributeDelay`.
  ///   - change: is called twice, and must not call anything.
  /// - Returns: success when the store has it, or it is kept on the local disk to be brought there.
  func changeFacts(
    of node: NodeID,
    _ entry: Entry,
    time: Timestamp? = nil,
    mayWait: Bool = false,
    _ change: @Sendable (inout ObjectFacts) throws(FileError) -> Void
  ) async -> Result<Void, FileError> {
    while true {
      // It may have been renamed or stored meanwhile.
      let entry = tables.withLock { $0.inodes.node(node)?.entry } ?? entry
      let outcome = await turns.whileTaken([entry.key]) { () async -> Result<Void, FileError>? in
        let now = tables.withLock { $0.inodes.node(node)?.entry } ?? entry
        guard now.key == entry.key else { return nil }
        return await changeFactsInTurn(of: node, now, time: time, mayWait: mayWait, change)
      }
      if let outcome { return outcome }
    }
  }

  private func changeFactsInTurn(
    of node: NodeID,
    _ entry: Entry,
    time: Timestamp?,
    mayWait: Bool,
    _ change: @Sendable (inout ObjectFacts) throws(FileError) -> Void
  ) async -> Result<Void, FileError> {
    do throws(FileError) {
      let draft = try self.draft(of: node, entry).get()
      defer { letGo(draft, of: node) }
      let facts = try await draft.loadFacts().get()
      var wanted = facts
      try change(&wanted)
      guard wanted != facts || time != nil else { return .success(()) }
      let wasDirty = draft.isDirty
      let before = tables.withLock { $0.shown[node]?.modified } ?? entry.modified
      let kept = wasDirty ? nil : keptTime(of: node, entry, facts)
      tables.withLock { Self.dirtied(node, writesBytes: false, &$0) }
      // It was just found to be possible.
      draft.updateFacts { facts in try? change(&facts) }
      if let time = time ?? kept { draft.setModified(time) }
      guard !tables.withLock({ $0.open.hasWriter(node) }) else { return .success(()) }
      let outcome = await store(draft, mayWait: mayWait)
      // Whoever is told that it failed expects it not to be done later. What else has changed stays.
      if case .failure = outcome, !wasDirty, draft.withdraw(to: facts, modified: before),
        let object = draft.base
      {
        published(draft, object)
      }
      return outcome
    } catch {
      return .failure(error)
    }
  }

  /// The time that is to be stored with a change of facts: where a copy makes them new, the store's time of
  /// the object is no longer that of its bytes.
  private func keptTime(of node: NodeID, _ entry: Entry, _ facts: ObjectFacts) -> Timestamp? {
    let stored = PosixMetadata(facts.userMetadata).modified
    guard options.metadataStyle != .none else { return stored }
    let shown = tables.withLock { $0.shown[node]?.modified }
    return shown ?? stored ?? entry.modified
  }
}

extension PosixMetadata {
  /// What is stored of a new file or link, because the mount's options would show it otherwise.
  init(of made: NewNode, _ kind: FileKind = .file, differingFrom options: FilesystemOptions) {
    self.init()
    if made.userID != options.userID { userID = made.userID }
    if made.groupID != options.groupID { groupID = made.groupID }
    guard kind == .file else {
      // The bits of a link mean nothing; all have these.
      (self.kind, self.permissions) = (kind, MountedBucket.linkPermissions)
      return
    }
    let permissions = options.fileMode & ~options.umask
    if made.permissions != permissions { self.permissions = made.permissions }
  }

  /// Takes over what a program sets; the time goes its own way, see `Drafts.Settings.metadataStyle`.
  mutating func apply(_ changes: AttributeChanges) {
    permissions = changes.permissions ?? permissions
    userID = changes.userID ?? userID
    groupID = changes.groupID ?? groupID
    switch changes.accessed {
    case .at(let time): accessed = time
    // With the modification, so with nothing said.
    case .now: accessed = nil
    case nil: break
    }
  }
}

extension AttributeChanges {
  /// They say something of owner, mode or time.
  var hasFacts: Bool {
    if case .at = accessed { return true }
    return permissions != nil || userID != nil || groupID != nil || (modified != nil && !isCut)
  }

  /// truncate(2): the time that comes with the size is that of the writing.
  private var isCut: Bool { size != nil && modified == .now }

  /// The time that is to be stored; nil if the store's own says it.
  func storedTime(_ shown: ShownFacts) -> Timestamp? {
    modified == nil || isCut ? nil : shown.modified
  }
}
