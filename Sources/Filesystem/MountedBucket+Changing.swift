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
      let shown = show(changes, of: node)
      reply.succeed(
        AttributesAnswer(attributes: attributes.showing(shown), timeout: options.metadataTTL)
      )
    case .success(.believed(let entry, _)), .success(.doubtful(let entry, _)):
      // What is doubtful is found out by publishing, on the condition that it is as it was known.
      setAttributes(of: node, entry, to: changes, reply: reply)
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
      draft = tables.withLock { $0.drafts[node] }
    }
    let shown = show(changes, of: node)
    if changes.modified != nil, let draft, draft.isDirty, let modified = shown.modified {
      draft.setModified(modified)
    }
    let hasWriter = tables.withLock { $0.open.hasWriter(node) }
    guard let draft, changes.size != nil, !hasWriter else {
      reply.succeed(attributesAnswer(node, entry))
      return
    }
    // Nobody has it open to be written, so no close will store it.
    let key = entry.key
    change("setattr", of: key, node: node, isPatient: true, reply: reply) { [self] _ in
      let outcome = await publish(draft)
      endDraft(of: node)
      return outcome.map { attributesAnswer(node, entry) }
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
        return .failure(error)
      }
    }
  }

  /// Shows changes of a node for as long as the kernel knows it.
  private func show(_ changes: AttributeChanges, of node: NodeID) -> ShownFacts {
    let now = time.wallTime
    return tables.withLock { tables in
      var facts = tables.shown[node] ?? ShownFacts()
      facts.apply(changes, at: now)
      tables.shown[node] = facts
      return facts
    }
  }
}
