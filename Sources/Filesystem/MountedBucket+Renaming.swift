package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  package func rename(
    _ name: FileName,
    in parent: NodeID,
    to newName: FileName,
    in newParent: NodeID,
    replaces: Bool,
    reply: consuming Reply<EmptyAnswer>
  ) {
    let places: (source: Place, target: Place)
    switch (changeable(name, in: parent), changeable(newName, in: newParent)) {
    case (.failure(let error), _), (.success, .failure(let error)):
      reply.fail(error)
      return
    case (.success(let source), .success(let target)): places = (source, target)
    }
    let (source, target) = places
    guard source.key != target.key else {
      reply.succeed(EmptyAnswer())
      return
    }
    change("rename", of: source.key, isPatient: true, reply: reply) { [self] _ in
      let entry: Entry
      switch await sighting(of: source, by: time.now + options.deadline) {
      case .failure(let error): return .failure(error)
      case .success(.absent): return .failure(absent(source))
      case .success(.found(let found, _)): entry = found
      }
      let isDirectory = entry.kind == .directory
      return await turns.whileTaken(
        [source.key, target.key],
        below: isDirectory ? [source.prefix, target.prefix] : []
      ) {
        do throws(FileError) {
          if isDirectory {
            try await renameDirectory(source, to: target, replaces: replaces)
          } else {
            try await rename(source, to: target, replaces: replaces)
          }
          return .success(EmptyAnswer())
        } catch {
          renamingFailed()
          return .failure(error)
        }
      }
    }
  }

  private func rename(
    _ source: Place,
    to target: Place,
    replaces: Bool
  ) async throws(FileError) {
    let deadline = time.now + options.deadline
    guard case .found(let entry, _) = try await sighting(of: source, by: deadline).get() else {
      throw absent(source)
    }
    guard entry.kind != .directory else {
      throw FileError(.stale, "\"\(path(of: source.key))\" has become a directory meanwhile")
    }
    if let refusal = Self.refusal(of: target) { throw refusal }
    var there: ObjectVersion?
    if case .found(let known, _) = try await sighting(of: target, by: deadline).get() {
      guard replaces else { throw exists(target) }
      guard known.kind != .directory else {
        throw FileError(.isDirectory, "\"\(path(of: target.key))\" is a directory")
      }
      there = known.version
    }
    let (draft, replaced) = tables.withLock { tables in
      (tables.drafts.hold(source.key), tables.drafts.draft(at: target.key))
    }
    defer { if let draft { letGo(draft) } }
    // What is renamed is what the store has, all of it, but for attributes, which the copy is given.
    if let draft, draft.isDirty, !draft.hasOnlyFacts { _ = try await draft.publish().get() }
    // What is replaced must not be published over it.
    await replaced?.discard()
    await fetchForReaders(at: target)
    try await publishCopies(of: source.key)
    try await publishCopies(of: target.key)
    let (node, known) = tables.withLock { tables in
      let node = tables.inodes.nodeID(entry.component, .file, in: source.directory.prefix)
      return (node, node.flatMap { tables.inodes.node($0)?.entry } ?? entry)
    }
    func carry(
      _ version: ObjectVersion,
      _ storageClass: String?,
      _ facts: ObjectFacts? = nil
    ) async throws(FileError) -> MovedFile {
      let request = Drafts.MovedObject(
        version,
        storageClass: storageClass,
        replacing: there,
        mayReplace: replaces,
        facts: facts
      )
      return try await move(request, to: target.key, of: node)
    }
    let moved: MovedFile
    if let draft, draft.isDirty, let made = try await withFacts(draft, carry) {
      moved = made
    } else {
      if let draft, draft.isDirty { _ = try await draft.publish().get() }
      let version = draft?.base?.version ?? known.version
      moved = try await carry(version, draft?.base?.storageClass ?? known.storageClass)
    }
    remember(moved.object, askedAt: time.now)
    if moved.object.userMetadata == nil {
      carryFacts(VersionMove(moved.source, to: moved.object.version))
    }
    renamed(source, target, to: moved.object, draft)
    // Only now has whoever reads it let go of what is cached under the old key.
    await cache.follow(moved.moves)
    if let replaced { endReplaced(replaced, at: target.key) }
    mayHaveEmptied(source.directory)
  }

  /// What became of a file that was renamed.
  private struct MovedFile {
    /// What it was.
    let source: ObjectVersion
    /// What the store has at its new key.
    let object: ObjectMetadata
    /// What became what, byte by byte.
    let moves: [VersionMove]
  }

  /// Renames a file of which only attributes are not stored yet by one copy that has them.
  ///
  /// - Returns: nil, and nothing has happened, if they must be stored before, or there is another way that is
  ///   as cheap.
  private func withFacts(
    _ draft: Draft,
    _ move: (ObjectVersion, String?, ObjectFacts?) async throws(FileError) -> MovedFile
  ) async throws(FileError) -> MovedFile? {
    let capabilities = queries.store.capabilities
    guard !capabilities.hasInPlaceMetadata, capabilities.hasNativeRename == false else {
      return nil
    }
    var moved: MovedFile?
    _ = try await draft.publishFacts { (base, facts) async throws(FileError) in
      let made = try await move(base.version, facts.storageClass ?? base.storageClass, facts)
      moved = made
      return made.object
    }
    return moved
  }

  private func move(
    _ request: Drafts.MovedObject,
    to target: ObjectKey,
    of node: NodeID?
  ) async throws(FileError) -> MovedFile {
    guard let drafts else { throw FileError(.readOnly, "the mount is read-only") }
    let source = request.version
    do throws(FileError) {
      let (object, moves) = try await reporting(source.key, to: target) {
        report async throws(FileError) in
        try await drafts.rename(request, to: target, report: report)
      }
      return MovedFile(source: source, object: object, moves: moves)
    } catch {
      // The next look asks the store.
      if error.code == .stale || error.code == .notFound, let node { learnStale(node) }
      throw error
    }
  }

  /// The store has a file's object under another key.
  private func renamed(
    _ source: Place,
    _ target: Place,
    to object: ObjectMetadata,
    _ draft: Draft?
  ) {
    let now = time.now
    let made = ListingPage.single(
      object,
      component: target.child.component[...],
      in: target.directory.prefix,
      requestedAt: now,
      isPlainlyNamed: !target.child.isShadowedObject
    )
    guard let entry = made else { return }
    draft?.moved(to: object)
    let node = tables.withLock { tables -> NodeID? in
      let replaced = Self.takeName(from: target, &tables)
      let node = tables.inodes.nodeID(
        source.child.component[...],
        .file,
        in: source.directory.prefix
      )
      tables.drafts.rename(source.key, to: target.key)
      tables.changes[source.directory.prefix, default: NameChanges()]
        .removed(source.child.component, .file, settledAt: now)
      tables.changes[target.directory.prefix, default: NameChanges()].made(entry, settledAt: now)
      tables.absentNames[NameKey(.child(target.child), in: target.directory)] = nil
      for place in [source, target] {
        Self.touched(place.directory, at: time.wallTime, &tables)
      }
      guard let node, node != replaced else { return nil }
      tables.inodes.changed(node, to: entry, in: target.directory.node)
      tables.shown[node, default: ShownFacts()].changed = time.wallTime
      return node
    }
    guard let node else { return }
    if let draft {
      let isDirty = draft.isDirty
      tables.withLock { tables in
        if isDirty { Self.dirtied(node, &tables) } else { tables.inodes.pin(node, false) }
      }
    }
    // The old key has no bytes any more; whoever reads goes on with the same ones under the new key.
    let file = entry.size > 0 ? objectFile(of: entry, node: node) : nil
    tables.withLock { $0.open.replaceFile(of: node, by: file) }
  }

  private func endReplaced(_ draft: Draft, at key: ObjectKey) {
    let node = tables.withLock { $0.drafts.node(of: draft) }
    if let node { endDraft(of: node) } else { drafts?.end(draft) }
  }
}
