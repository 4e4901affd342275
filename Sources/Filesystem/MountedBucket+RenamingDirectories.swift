internal import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  /// Gives a directory another name; what has that name is an empty directory at most.
  func renameDirectory(
    _ source: Place,
    to target: Place,
    replaces: Bool
  ) async throws(FileError) {
    guard !target.prefix.hasPrefix(source.prefix) else {
      throw FileError(
        .invalid,
        "\"\(path(of: source.prefix))\" can't be renamed to \"\(path(of: target.prefix))\", which is inside"
      )
    }
    let deadline = time.now + options.deadline
    if case .found(let there, _) = try await sighting(of: target, by: deadline).get() {
      guard replaces else { throw exists(target) }
      try await checkReplaceable(there, at: target, by: deadline)
    }
    // What is renamed is what the store has, all of it.
    let drafts = try await publishAll(below: source.prefix)
    try await publishCopies(below: source.prefix)
    let moves = try await moveTree(source, to: target)
    for move in moves { carryFacts(move) }
    let moved = facts.withLock { $0.moved(below: source.prefix, to: target.prefix) }
    if let recordFacts { moved.forEach(recordFacts) }
    await renamedDirectory(source, target, drafts, moves)
    await cache.follow(moves)
    mayHaveEmptied(source.directory)
  }

  private func checkReplaceable(
    _ there: Entry,
    at target: Place,
    by deadline: Instant
  ) async throws(FileError) {
    guard there.kind == .directory else {
      throw FileError(.notDirectory, "\"\(path(of: target.key))\" is not a directory")
    }
    let notEmpty = FileError(.notEmpty, "\"\(path(of: target.prefix))\" is not empty")
    if tables.withLock({ $0.drafts.hasDraft(below: target.prefix) }) { throw notEmpty }
    await discardMarkerDraft(of: target.prefix)
    switch await contents(of: target.prefix, by: deadline) {
    case .failure(let error): throw FileError(error, of: .name).uninterrupted
    case .success(.something): throw notEmpty
    case .success(.nothing), .success(.marker): break
    }
    // Where directories exist by themselves, an empty one would be in the way.
    guard queries.store.capabilities.hasDirectories else { return }
    do throws(StoreError) {
      try await queries.store.delete(target.prefix, ifMatch: nil, context: context(deadline))
    } catch {
      throw error.kind == .conflict ? notEmpty : FileError(error, of: .name).uninterrupted
    }
  }

  /// Brings everything below a prefix to the store; whoever calls has its turn.
  private func publishAll(below prefix: ObjectKey) async throws(FileError) -> [Draft] {
    let drafts = tables.withLock { $0.drafts.drafts(below: prefix) }
    for draft in drafts where draft.isDirty { _ = try await draft.publish().get() }
    return drafts
  }

  private func moveTree(
    _ source: Place,
    to target: Place
  ) async throws(FileError) -> [VersionMove] {
    guard let drafts else { throw FileError(.readOnly, "the mount is read-only") }
    return try await reporting(source.prefix, to: target.prefix) { report async throws(FileError) in
      try await drafts.renameTree(source.prefix, to: target.prefix, report: report)
    }
  }

  /// The store has the keys under their new names.
  ///
  /// What the kernel knows keeps its nodes, and with them its pages, if it is known what became of it. Of what
  /// isn't, files that are open are asked for under their new keys, so that who reads or writes them goes
  /// on; the others get a new node with their next lookup.
  private func renamedDirectory(
    _ source: Place,
    _ target: Place,
    _ drafts: [Draft],
    _ moves: [VersionMove]
  ) async {
    let now = time.now
    let copies = Dictionary(
      moves.map { ($0.source.key, $0) },
      uniquingKeysWith: { $1 }
    )
    let (old, new) = (source.prefix, target.prefix)
    let open = tables.withLock { tables in
      let replaced = tables.inodes.nodeID(
        target.child.component[...],
        .directory,
        in: target.directory.prefix
      )
      let moved = tables.inodes.nodeID(
        source.child.component[...],
        .directory,
        in: source.directory.prefix
      )
      if let replaced, replaced != moved { tables.inodes.removed(replaced) }
      for prefix in tables.changes.keys where prefix.hasPrefix(old) || prefix.hasPrefix(new) {
        tables.changes[prefix] = nil
      }
      let entry = ListingPage.single(
        directory: target.child.component[...],
        in: target.directory.prefix,
        requestedAt: now
      )
      tables.changes[source.directory.prefix, default: NameChanges()]
        .removed(source.child.component, .directory, settledAt: now)
      tables.changes[target.directory.prefix, default: NameChanges()].made(entry, settledAt: now)
      for place in [source, target] {
        Self.touched(place.directory, at: time.wallTime, &tables)
      }
      tables.absentNames = tables.absentNames.filter { name, _ in
        !name.prefix.hasPrefix(new) && name.prefix != target.directory.prefix
      }
      guard let moved else { return [(node: NodeID, key: ObjectKey)]() }
      tables.inodes.changed(moved, to: entry, in: target.directory.node)
      return Self.moveChildren(of: moved, to: new, copies, at: now, &tables)
    }
    emptied.forget(below: old)
    for (node, key) in open { await follow(node, to: key, copies) }
    for draft in drafts {
      let key = ObjectKey(new.bytes + draft.key.bytes.dropFirst(old.bytes.count))
      guard !open.contains(where: { $0.key == key }) else { continue }
      // Nobody has it open: it has been published and ends.
      tables.withLock { $0.drafts.unname(draft.key) }
      self.drafts?.end(draft)
    }
  }

  /// Moves what lies below a node, and lets the kernel ask for the files anew of which nothing is known.
  ///
  /// Call with `tables` locked.
  ///
  /// - Returns: the files that are open, and their new keys.
  private static func moveChildren(
    of node: NodeID,
    to prefix: ObjectKey,
    _ copies: [ObjectKey: VersionMove],
    at now: Instant,
    _ tables: inout Tables
  ) -> [(node: NodeID, key: ObjectKey)] {
    var open: [(node: NodeID, key: ObjectKey)] = []
    for child in tables.inodes.children(of: node) {
      guard let entry = tables.inodes.node(child)?.entry else { continue }
      if entry.kind == .directory {
        let moved = ListingPage.single(directory: entry.component, in: prefix, requestedAt: now)
        tables.inodes.changed(child, to: moved, in: node)
        open += moveChildren(of: child, to: moved.key, copies, at: now, &tables)
      } else if tables.open.isOpen(child) || tables.drafts[child] != nil {
        open.append((child, ObjectKey(prefix.bytes + entry.component)))
      } else if let moved = Self.moved(entry, by: copies, in: prefix, at: now) {
        tables.inodes.changed(child, to: moved, in: node)
      } else {
        tables.inodes.supersede(child)
      }
    }
    return open
  }

  /// A file's facts under its new key; nil if what is known of it isn't what was moved.
  private static func moved(
    _ entry: Entry,
    by copies: [ObjectKey: VersionMove],
    in prefix: ObjectKey,
    at now: Instant
  ) -> Entry? {
    guard let copy = copies[entry.key], copy.source.isSameContent(as: entry.version) else {
      return nil
    }
    var object = ObjectMetadata(version: copy.target)
    object.storageClass = entry.storageClass
    return ListingPage.single(
      object,
      component: entry.component,
      in: prefix,
      requestedAt: now,
      isPlainlyNamed: entry.page.isPlainlyNamed
    )
  }

  /// What is known of an open file under its new key, or what the store says.
  private func moved(
    _ node: NodeID,
    to key: ObjectKey,
    _ copies: [ObjectKey: VersionMove]
  ) async -> Result<ObjectMetadata?, StoreError> {
    let (known, draft) = tables.withLock { ($0.inodes.node(node)?.entry, $0.drafts[node]) }
    guard let old = draft?.base?.version ?? known?.version, let copy = copies[old.key],
      copy.source.isSameContent(as: old), copy.target.key == key
    else { return await queries.head(key, hasFallback: false, by: time.now + options.deadline) }
    var object = ObjectMetadata(version: copy.target)
    object.storageClass = draft?.base?.storageClass ?? known?.storageClass
    return .success(object)
  }

  /// An open file is the object at `key` from now on.
  private func follow(
    _ node: NodeID,
    to key: ObjectKey,
    _ copies: [ObjectKey: VersionMove]
  ) async {
    let object: ObjectMetadata
    switch await moved(node, to: key, copies) {
    case .success(let found?): object = found
    case .success(nil), .failure:
      // It was removed meanwhile, or can't be asked for: who has it open must open it again.
      tables.withLock { _ = $0.inodes.supersede(node) }
      return
    }
    let (prefix, component) = key.place
    let (known, draft) = tables.withLock { ($0.inodes.node(node)?.entry, $0.drafts[node]) }
    let made = ListingPage.single(
      object,
      component: component,
      in: prefix,
      requestedAt: time.now,
      isPlainlyNamed: known?.page.isPlainlyNamed ?? true
    )
    guard let entry = made else { return }
    if let draft {
      let old = draft.key
      draft.moved(to: object)
      tables.withLock { $0.drafts.rename(old, to: key) }
    }
    tables.withLock { tables in
      let parent = tables.inodes.node(node)?.parent
      tables.inodes.changed(node, to: entry, in: parent)
    }
    let file = entry.size > 0 ? objectFile(of: entry, node: node) : nil
    tables.withLock { $0.open.replaceFile(of: node, by: file) }
  }
}
