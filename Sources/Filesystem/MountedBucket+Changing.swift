package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  package func setAttributes(
    of node: NodeID,
    handle: HandleID?,
    to changes: AttributeChanges,
    reply: consuming Reply<AttributesAnswer>
  ) {
    if let writeRefusal {
      reply.fail(writeRefusal)
      return
    }
    let now = time.now
    switch state(of: node, at: now) {
    case .failure(let error): reply.fail(error)
    case .success(.directory(let attributes)):
      guard changes.size == nil else {
        reply.fail(FileError(.isDirectory, "a directory has no size to set"))
        return
      }
      setAttributes(ofDirectory: node, attributes, to: changes, reply: reply)
    case .success(.believed(let entry, _)), .success(.doubtful(let entry, _)):
      // What is doubtful is found out by publishing, on the condition that it is as it was known.
      setAttributes(of: node, entry, to: changes, reply: reply)
    }
  }

  private func setAttributes(
    ofDirectory node: NodeID,
    _ attributes: FileAttributes,
    to changes: AttributeChanges,
    reply: consuming Reply<AttributesAnswer>
  ) {
    let now = time.wallTime
    let timeout = options.metadataTTL
    guard options.metadataStyle != .none, changes.hasFacts, let prefix = markerKey(of: node) else {
      let shown = show(changes, of: node, at: now)
      reply.succeed(AttributesAnswer(attributes: attributes.showing(shown), timeout: timeout))
      return
    }
    var wanted = ShownFacts()
    wanted.apply(changes, at: now)
    change("setattr", of: prefix, node: node, reply: reply) {
      [self, wanted, style = options.metadataStyle] deadline in
      let outcome = await changeDirectoryFacts(
        of: prefix,
        time: changes.storedTime(wanted),
        mayWait: true,
        by: deadline
      ) { (facts: inout ObjectFacts) in facts.apply(changes, style, .directory) }
      // What can't be kept is shown all the same, as with a style that keeps nothing.
      if case .failure(let error) = outcome, error.code != .notSupported { return .failure(error) }
      let shown = show(changes, of: node, at: now)
      return .success(AttributesAnswer(attributes: attributes.showing(shown), timeout: timeout))
    }
  }

  private func setAttributes(
    of node: NodeID,
    _ entry: Entry,
    to changes: AttributeChanges,
    reply: consuming Reply<AttributesAnswer>
  ) {
    let draft: Draft?
    if let size = changes.size {
      switch resized(node, entry, to: size) {
      case .failure(let error):
        reporter.report(
          error,
          FailureReporter.Operation(name: "setattr", path: path(of: entry.key), node: node)
        )
        reply.fail(error)
        return
      case .success(let resized): draft = resized
      }
    } else {
      draft = tables.withLock { $0.drafts.hold(node) }
    }
    let hasWriter = tables.withLock { $0.open.hasWriter(node) }
    if options.metadataStyle == .none || !changes.hasFacts {
      let shown = show(changes, of: node, at: time.wallTime)
      if changes.modified != nil, let draft, draft.isDirty, let modified = shown.modified {
        draft.setModified(modified)
      }
    } else if hasWriter, let draft, draft.isDirty, draft.facts != nil {
      // What `cp -p` and `tar x` do: it goes to the store with the bytes.
      let shown = show(changes, of: node, at: time.wallTime)
      draft.updateFacts { [style = options.metadataStyle] in $0.apply(changes, style) }
      if let time = changes.storedTime(shown) { draft.setModified(time) }
    } else {
      store(changes, of: node, entry, draft, reply: reply)
      return
    }
    guard let draft, changes.size != nil, !hasWriter else {
      if let draft { letGo(draft, of: node) }
      reply.succeed(attributesAnswer(node, entry))
      return
    }
    // Nobody has it open to be written, so no close will store it.
    let key = entry.key
    change("setattr", of: key, node: node, isPatient: true, reply: reply) { [self] _ in
      let outcome = await publish(draft)
      letGo(draft, of: node)
      return outcome.map { attributesAnswer(node, entry) }
    }
  }

  /// Stores what was set of a file by a request of its own, or with its next close; lets go of the draft.
  private func store(
    _ changes: AttributeChanges,
    of node: NodeID,
    _ entry: Entry,
    _ draft: Draft?,
    reply: consuming Reply<AttributesAnswer>
  ) {
    change("setattr", of: entry.key, node: node, isPatient: true, reply: reply) { [self] _ in
      let now = time.wallTime
      var wanted = ShownFacts()
      wanted.apply(changes, at: now)
      let style = options.metadataStyle
      let outcome = await changeFacts(
        of: node,
        entry,
        time: changes.storedTime(wanted),
        mayWait: true
      ) { (facts: inout ObjectFacts) in facts.apply(changes, style) }
      if let draft { letGo(draft, of: node) }
      return outcome.map {
        _ = show(changes, of: node, at: now)
        return attributesAnswer(node, entry)
      }
    }
  }

  private func attributesAnswer(_ node: NodeID, _ entry: Entry) -> AttributesAnswer {
    let known = tables.withLock { $0.inodes.node(node)?.entry } ?? entry
    return AttributesAnswer(
      attributes: attributes(of: known, node),
      timeout: options.metadataTTL
    )
  }

  private func resized(_ node: NodeID, _ entry: Entry, to size: Int) -> Result<Draft, FileError> {
    switch draft(of: node, entry, isTruncated: size == 0) {
    case .failure(let error): return .failure(error)
    case .success(let draft):
      guard size > 0 else { return .success(draft) }
      tables.withLock { Self.dirtied(node, &$0) }
      do throws(FileError) {
        try draft.resize(to: size)
        return .success(draft)
      } catch {
        letGo(draft, of: node)
        return .failure(error)
      }
    }
  }

  /// A name in a directory was made or removed through this mount: its times tell, while the kernel knows it.
  ///
  /// Call with `tables` locked.
  static func touched(_ directory: Directory, at now: Timestamp, _ tables: inout Tables) {
    tables.shown[directory.node, default: ShownFacts()].wasTouched(at: now)
  }

  /// Shows changes of a node for as long as the kernel knows it.
  private func show(
    _ changes: AttributeChanges,
    of node: NodeID,
    at now: Timestamp
  ) -> ShownFacts {
    tables.withLock { tables in
      var facts = tables.shown[node] ?? ShownFacts()
      facts.apply(changes, at: now)
      tables.shown[node] = facts
      return facts
    }
  }
}

extension ObjectFacts {
  /// Takes over what a program sets, in the mount's spelling.
  fileprivate mutating func apply(
    _ changes: AttributeChanges,
    _ style: MetadataStyle,
    _ kind: FileKind? = nil
  ) {
    var posix = PosixMetadata(userMetadata)
    posix.apply(changes)
    posix.kind = kind ?? posix.kind
    userMetadata = posix.replacing(in: userMetadata, style: style)
  }
}
