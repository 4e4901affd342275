package import Core
internal import ObjectFiles
internal import Support

/// Tells a mounted bucket what becomes of its drafts, whoever published them.
final class MountDraftObserver: DraftObserver {
  private struct Weak: Sendable {
    weak var bucket: MountedBucket?
  }

  private let state = Lock(Weak())

  var bucket: MountedBucket? {
    get { state.withLock { $0.bucket } }
    set { state.withLock { $0.bucket = newValue } }
  }

  func readFailed(_ error: FileError) {
    bucket?.reporter.report(error, FailureReporter.Operation(name: "read", path: ""))
  }

  func published(_ draft: Draft, _ object: ObjectMetadata) { bucket?.published(draft, object) }

  func publishFailed(_ draft: Draft, _ error: FileError) { bucket?.publishFailed(draft, error) }
}

extension MountedBucket {
  /// Why nothing can be changed here; nil if it can.
  var writeRefusal: FileError? {
    drafts == nil ? FileError(.readOnly, "the mount is read-only") : nil
  }

  /// A node has bytes from now on that the store doesn't: what the store says of its name no longer counts.
  ///
  /// Call with `tables` locked.
  static func dirtied(_ node: NodeID, writesBytes: Bool = true, _ tables: inout Tables) {
    guard let known = tables.inodes.node(node), let entry = known.entry,
      tables.inodes.pin(node, true)
    else { return }
    if writesBytes { tables.shown[node]?.wasWritten() }
    guard !known.isRemoved, !known.isSuperseded else { return }
    tables.changes[entry.page.prefix, default: NameChanges()].made(entry, settledAt: nil)
  }

  /// The store has a draft, as `object`.
  func published(_ draft: Draft, _ object: ObjectMetadata) {
    let now = time.now
    let (prefix, component) = object.key.place
    let modified = draft.modified
    if Self.isOfMarker(draft), tables.withLock({ $0.drafts.node(of: draft) == nil }) {
      publishedMarker(draft, object)
      return
    }
    remember(object, askedAt: now)
    let node = tables.withLock { tables -> NodeID? in
      if !draft.isDirty { tables.copies.ended(draft) }
      guard tables.drafts.draft(at: object.key) === draft else { return nil }
      let node = tables.inodes.nodeID(component, .file, in: prefix)
      let entry = ListingPage.single(
        object,
        component: component,
        in: prefix,
        requestedAt: now,
        isPlainlyNamed: node.flatMap { tables.inodes.node($0)?.entry?.page.isPlainlyNamed } ?? true
      )
      guard let entry else { return nil }
      tables.changes[prefix, default: NameChanges()].made(entry, settledAt: now)
      guard let node else { return nil }
      tables.inodes.changed(node, to: entry)
      tables.shown[node, default: ShownFacts()].modified = modified
      tables.inodes.pin(node, false)
      return node
    }
    if let node {
      // It may have been written to just then.
      if draft.isDirty { tables.withLock { Self.dirtied(node, writesBytes: false, &$0) } }
      if !tables.withLock({ $0.open.isOpen(node) }) { endDraft(of: node) }
    } else if !draft.isDirty {
      end(draft, at: object.key, nil)
    }
  }

  /// A draft could not be published.
  func publishFailed(_ draft: Draft, _ error: FileError) {
    let key = draft.key
    let (prefix, component) = key.place
    let isConflict = Self.isConflict(error)
    let (node, directory) = tables.withLock { tables -> (NodeID?, Directory?) in
      guard tables.drafts.draft(at: key) === draft else { return (nil, nil) }
      let node = tables.inodes.nodeID(component, .file, in: prefix)
      guard isConflict else { return (node, nil) }
      // Somebody else's object has the name now. The bytes stay with the draft, listed as unsaved.
      tables.drafts.unname(key)
      tables.changes[prefix]?.forget(Array(component), .file)
      let parent = node.flatMap { tables.inodes.node($0)?.parent }
      if let node {
        tables.inodes.pin(node, false)
        tables.inodes.supersede(node)
      }
      return (node, parent.flatMap { tables.inodes.enteredDirectory($0) })
    }
    directory?.expire()
    reporter.report(
      error,
      FailureReporter.Operation(name: "publish", path: path(of: key), node: node)
    )
    guard isConflict else { return }
    guard draft.isDirty else {
      // There was nothing in it to be kept.
      if let node { endDraft(of: node) } else { end(draft, at: key, nil) }
      return
    }
    guard options.attributeDelay > .zero, draft.hasOnlyFacts else { return }
    // What was set of a version that is gone is of no use to anybody.
    _ = startControlTask { [self] in
      await draft.discard()
      end(draft, at: key, node)
    }
  }

  /// Nobody has a node open any more: its draft ends when the store has it.
  func endDraft(of node: NodeID) {
    if let draft = tables.withLock({ $0.drafts[node] }) { endDraft(draft, of: node) }
  }

  /// Whoever has got a draft by `draft(of:)`, or held it, is done with it; `node` is the one that it was got of.
  func letGo(_ draft: Draft, of node: NodeID? = nil) {
    let node = tables.withLock { tables -> NodeID? in
      tables.drafts.letGo(draft)
      if let node, tables.drafts[node] === draft { return node }
      return tables.drafts.node(of: draft)
    }
    endDraft(draft, of: node)
  }

  private func endDraft(_ draft: Draft, of node: NodeID?) {
    let key = draft.key
    let (isInUse, isNamed) = tables.withLock { tables in
      let isOpen = node.map { tables.open.isOpen($0) } ?? false
      return (isOpen || tables.drafts.isHeld(draft), tables.drafts.draft(at: key) === draft)
    }
    guard !isInUse else { return }
    guard draft.isDirty, isNamed else {
      end(draft, at: key, node)
      return
    }
    // What came after the last close: pages of a mapping, or attributes that were set before the kernel had
    // let go of the file. What failed at the close has been told, and is tried again later.
    guard draft.failure == nil, !tables.withLock({ $0.deferred.contains(draft.id) }) else { return }
    _ = startControlTask { [self] in
      _ = await whileTurnIsTaken(of: draft) { await store(draft, mayWait: draft.hasOnlyFacts) }
    }
  }

  /// Forgets a draft, unless it is of use to somebody, or the store lacks something of what its name leads to.
  func end(_ draft: Draft, at key: ObjectKey, _ node: NodeID?) {
    let isOver = tables.withLock { tables in
      if let node, tables.open.isOpen(node) { return false }
      if tables.drafts.isHeld(draft) { return false }
      if tables.drafts.draft(at: key) === draft, draft.isDirty || Self.isToBeTold(key, tables) {
        return false
      }
      tables.drafts.remove(draft, at: key, node)
      tables.copies.ended(draft)
      return true
    }
    if isOver { drafts?.end(draft) }
  }

  /// The store has got a draft, or is getting it, and what it says of that has yet to come here.
  ///
  /// Until then nothing else knows the draft's size; `published` ends it then. Call with `tables` locked.
  private static func isToBeTold(_ key: ObjectKey, _ tables: Tables) -> Bool {
    let (prefix, component) = key.place
    guard let change = tables.changes[prefix]?.change(of: Array(component), .file) else {
      return false
    }
    return change.settledAt == nil
  }

  /// Brings a draft to the store, if it isn't there.
  func publish(_ draft: Draft) async -> Result<Void, FileError> {
    await whileTurnIsTaken(of: draft) {
      await publishCopiesBeforeReplacing(draft)
      return await draft.flush()
    }
  }

  /// Runs `body` when nobody else changes what is at a draft's key, whichever that is by then.
  func whileTurnIsTaken<Outcome: Sendable>(
    of draft: Draft,
    _ body: () async -> Outcome
  ) async -> Outcome {
    while true {
      let key = draft.key
      let outcome = await turns.whileTaken([key]) { () async -> Outcome? in
        // Who waits for a renaming waits for the wrong key.
        draft.key == key ? await body() : nil
      }
      if let outcome { return outcome }
    }
  }

  /// Drafts of an earlier mount are what their keys' names lead to, until they are published.
  ///
  /// - Returns: why they could not be looked for; nil if they could.
  package func recoverDrafts() async -> FileError? {
    guard let drafts else { return nil }
    let found: [Draft]
    do throws(FileError) {
      found = try await drafts.recover()
    } catch {
      return error
    }
    let now = time.now
    // What somebody else was faster with has lost its name.
    for draft in found where draft.isDirty && !Self.isConflict(draft.failure) {
      let key = draft.key
      if Self.isOfMarker(draft), key.hasPrefix(options.directoryPrefix) {
        recovered(markerDraft: draft, at: now)
        continue
      }
      let (prefix, component) = key.place
      var builder = ObjectMetadata(
        version: ObjectVersion(key: key, etag: nil, size: 0, lastModified: draft.modified)
      )
      builder.storageClass = draft.facts?.storageClass
      guard key.hasPrefix(options.directoryPrefix),
        let entry = ListingPage.single(
          builder,
          component: component,
          in: prefix,
          requestedAt: now,
          isPlainlyNamed: true
        )
      else { continue }
      tables.withLock { tables in
        tables.drafts.add(draft, at: key, nil)
        tables.changes[prefix, default: NameChanges()].made(entry, settledAt: nil)
        showAncestors(of: prefix, at: now, &tables)
      }
      caughtUp(draft)
    }
    return nil
  }

  /// A draft of an earlier mount may have been published, or refused, before its name led to it: then nobody has
  /// been told what the name leads to since.
  private func caughtUp(_ draft: Draft) {
    if let failure = draft.failure, Self.isConflict(failure) {
      publishFailed(draft, failure)
    } else if !draft.isDirty, let object = draft.base {
      published(draft, object)
    }
  }

  /// A directory was given attributes that the store doesn't have yet.
  private func recovered(markerDraft draft: Draft, at now: Instant) {
    let key = draft.key
    let metadata = PosixMetadata.stamped(
      draft.facts?.userMetadata ?? [:],
      modified: draft.modified,
      style: options.metadataStyle
    )
    facts.withLock { $0.recall(RecordedFacts(key: key, etag: nil, userMetadata: metadata)) }
    tables.withLock { tables in
      tables.drafts.add(draft, at: key, nil)
      showAncestors(of: key, at: now, &tables)
    }
    if !draft.isDirty { end(draft, at: key, nil) }
  }

  private static func isConflict(_ error: FileError?) -> Bool {
    error?.code == .stale || error?.code == .exists
  }

  /// The directories that lead to a draft are there, whether the store has them or not.
  private func showAncestors(of prefix: ObjectKey, at now: Instant, _ tables: inout Tables) {
    var directory = prefix
    while directory.bytes.count > options.directoryPrefix.bytes.count {
      let (parent, component) = directory.directoryPlace
      let entry = ListingPage.single(directory: component, in: parent, requestedAt: now)
      tables.changes[parent, default: NameChanges()].made(entry, settledAt: nil)
      directory = parent
    }
  }
}

extension ObjectKey {
  /// The prefix of the directory that the key is in, and the component in it.
  var place: (prefix: ObjectKey, component: ArraySlice<UInt8>) {
    let slash = UInt8(ascii: "/")
    let start = bytes.lastIndex(of: slash).map { $0 + 1 } ?? 0
    return (ObjectKey(bytes[..<start]), bytes[start...])
  }

  /// The same of a directory's prefix.
  var directoryPlace: (prefix: ObjectKey, component: ArraySlice<UInt8>) {
    let (prefix, _) = ObjectKey(bytes.dropLast()).place
    return (prefix, bytes[prefix.bytes.count...].dropLast())
  }
}
