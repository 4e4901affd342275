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
      (tables.drafts.draft(at: source.key), tables.drafts.draft(at: target.key))
    }
    // What is renamed is what the store has, all of it.
    if let draft, draft.isDirty, !draft.hasOnlyFacts { _ = try await draft.publish().get() }
    // What is replaced must not be published over it.
    await replaced?.discard()
    await fetchForReaders(at: target)
    try await publishCopies(of: source.key)
    try await publishCopies(of: target.key)
    if let draft, draft.isDirty {
      if try await isRenamedWithFacts(draft, source, to: target, replaces: replaces) {
        if let replaced { endReplaced(replaced, at: target.key) }
        mayHaveEmptied(source.directory)
        return
      }
      _ = try await draft.publish().get()
    }
    let (node, known) = tables.withLock { tables in
      let node = tables.inodes.nodeID(entry.component, .file, in: source.directory.prefix)
      return (node, node.flatMap { tables.inodes.node($0)?.entry } ?? entry)
    }
    guard let drafts else { throw FileError(.readOnly, "the mount is read-only") }
    let moved = draft?.base?.version ?? known.version
    let request = Drafts.MovedObject(
      moved,
      storageClass: draft?.base?.storageClass ?? known.storageClass,
      replacing: there,
      mayReplace: replaces
    )
    let (object, moves): (ObjectMetadata, [VersionMove])
    do throws(FileError) {
      (object, moves) = try await reporting(source.key, to: target.key) {
        report async throws(FileError) in
        try await drafts.rename(request, to: target.key, report: report)
      }
    } catch {
      // The next look asks the store.
      if error.code == .stale || error.code == .notFound, let node { learnStale(node) }
      throw error
    }
    remember(object, askedAt: time.now)
    carryFacts(VersionMove(moved, to: object.version))
    renamed(source, target, to: object, draft)
    // Only now has whoever reads it let go of what is cached under the old key.
    await cache.follow(moves)
    if let replaced { endReplaced(replaced, at: target.key) }
    mayHaveEmptied(source.directory)
  }

  /// Renames a file of which only attributes are not stored yet by one copy that has them.
  ///
  /// - Returns: false, and nothing has happened, if there is another way that is as cheap, or must be gone.
  private func isRenamedWithFacts(
    _ draft: Draft,
    _ source: Place,
    to target: Place,
    replaces: Bool
  ) async throws(FileError) -> Bool {
    let store = queries.store
    guard !store.capabilities.hasInPlaceMetadata, store.capabilities.hasNativeRename == false,
      let etag = draft.base?.version.etag,
      draft.redirect(to: target.key, replaces ? .none : .ifAbsent)
    else { return false }
    tables.withLock { _ = $0.moving.insert(draft.id) }
    defer { tables.withLock { _ = $0.moving.remove(draft.id) } }
    let object: ObjectMetadata
    do throws(FileError) {
      guard let made = try await draft.publish().get() else { throw absent(source) }
      object = made
    } catch {
      draft.move(to: source.key, condition: .ifMatch(etag))
      throw error
    }
    renamed(source, target, to: object, draft)
    let node = tables.withLock { tables -> NodeID? in
      guard let node = tables.drafts.node(of: draft) else { return nil }
      if !draft.isDirty { tables.inodes.pin(node, false) }
      return node
    }
    if let node { endDraft(of: node) } else { end(draft, at: target.key, nil) }
    do throws(StoreError) {
      // What somebody else has put there since is theirs, and stays.
      let tag = store.capabilities.hasConditionalDelete ? etag : nil
      try await store.delete(source.key, ifMatch: tag, context: context(.distantFuture))
    } catch {
      // It has both names then.
      tables.withLock {
        $0.changes[source.directory.prefix]?.forget(source.child.component, .file)
      }
      source.directory.expire()
      if error.kind == .preconditionFailed { return true }
      throw FileError(error, of: .name).uninterrupted
    }
    return true
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
    if let draft { draft.move(to: target.key, condition: .none, as: object) }
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
    if draft?.isDirty ?? false { tables.withLock { Self.dirtied(node, &$0) } }
    // The old key has no bytes any more; whoever reads goes on with the same ones under the new key.
    let file = entry.size > 0 ? objectFile(of: entry, node: node) : nil
    tables.withLock { $0.open.replaceFile(of: node, by: file) }
  }

  private func endReplaced(_ draft: Draft, at key: ObjectKey) {
    let node = tables.withLock { $0.drafts.node(of: draft) }
    if let node { endDraft(of: node) } else { drafts?.end(draft) }
  }
}
