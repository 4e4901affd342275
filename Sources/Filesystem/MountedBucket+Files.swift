package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  package func open(_ node: NodeID, mode: OpenMode, reply: consuming Reply<OpenAnswer>) {
    if mode.changes, let refusal = writeRefusal {
      reply.fail(refusal)
      return
    }
    let now = time.now
    switch state(of: node, at: now) {
    case .failure(let error):
      reply.fail(error)
    case .success(.directory):
      reply.fail(FileError(.isDirectory, "a directory has no bytes to open"))
    case .success(.believed(let entry, _)):
      switch opened(entry, node, mode) {
      case .success(let answer):
        if !reply.succeed(answer) { close(answer.handle) }
      case .failure(let error): reply.fail(error)
      }
    case .success(.doubtful(let entry, let parent)):
      let path = path(of: entry.key)
      let operation = FailureReporter.Operation(name: "open", path: path, node: node)
      let budget = budget(for: entry.key, at: now)
      guard let waiting = park(reply, operation, budget) else { return }
      let giveUp = confirm(node, entry, in: parent, by: budget.deadline) { [self] outcome in
        switch outcome {
        case .success(let (entry, _)):
          waited(budget)
          switch opened(entry, node, mode) {
          case .success(let answer):
            if !waiting.succeed(answer) { close(answer.handle) }
          case .failure(let error): waiting.fail(error)
          }
        case .failure(let error):
          waiting.fail(error)
        }
      }
      waiting.whenGivenUp(giveUp)
    }
  }

  package func detach(_ node: NodeID) {
    tables.withLock { tables in
      guard let entry = tables.inodes.node(node)?.entry, entry.kind == .file else { return }
      tables.inodes.removed(node)
      // Otherwise the next reader would bring the writer, who comes after this, into the same place.
      if tables.writtenKeys.count >= Self.writtenKeyCountMax { tables.writtenKeys = [] }
      tables.writtenKeys.insert(entry.key)
    }
  }

  /// Files that were to be written while the kernel read them by itself, at most; some 100 KB.
  private static let writtenKeyCountMax = 1000

  /// Opens a file as it is known.
  func opened(_ entry: Entry, _ node: NodeID, _ mode: OpenMode) -> Result<OpenAnswer, FileError> {
    if mode.changes {
      return openedToWrite(entry, node, mode)
        .map { OpenAnswer(handle: $0, keepsPageCache: true) }
    }
    let (draft, wasWritten) = tables.withLock { tables in
      let draft = tables.drafts[node]
      if draft != nil { _ = tables.open.opened(node, nil, writes: false) }
      let isToBeWritten = tables.writtenKeys.contains(entry.key)
      return (draft, tables.inodes.wasWritten(node) || isToBeWritten)
    }
    if draft != nil {
      let handle = addHandle(.file(OpenFile(node: node)))
      return .success(OpenAnswer(handle: handle, keepsPageCache: true))
    }
    let (handle, file) = addFileHandle(entry, node: node)
    // Who writes to a file now and then can't open it while the kernel reads it by itself.
    let offers = options.offersWholeFiles && !wasWritten
    return .success(
      OpenAnswer(handle: handle, keepsPageCache: true, wholeFile: offers ? file?.wholeFile() : nil)
    )
  }

  package func read(
    _ id: HandleID,
    range: ByteRange,
    reply: consuming Reply<DataAnswer>
  ) {
    let found = tables.withLock { tables -> Readable? in
      guard case .file(let open) = tables.handles[id] else { return nil }
      return Readable(
        node: open.node,
        draft: open.draft ?? tables.drafts[open.node],
        file: tables.open.file(of: open.node),
        isSuperseded: tables.inodes.isSuperseded(open.node)
      )
    }
    guard let found else {
      reply.fail(Self.unknownHandle)
      return
    }
    log.write(
      .debug,
      "read",
      ["handle": "\(id.rawValue)", "offset": "\(range.lowerBound)", "count": "\(range.count)"]
    )
    guard !found.isSuperseded else {
      reply.fail(supersededError(of: found.node, "read"))
      return
    }
    if let draft = found.draft {
      draft.read(range, reply: reply)
    } else if let file = found.file {
      file.read(range, by: id.rawValue, reply: reply)
    } else {
      reply.succeed(.bytes([]))
    }
  }

  package func release(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>) {
    close(handle)
    reply.succeed(EmptyAnswer())
  }

  func close(_ handle: HandleID) {
    let closed = tables.withLock { tables -> (node: NodeID, file: ObjectFile?, isLast: Bool)? in
      guard case .file(let open) = tables.handles.removeValue(forKey: handle) else { return nil }
      let (file, isLast) = tables.open.closed(open.node, writes: open.draft != nil)
      return (open.node, file, isLast)
    }
    guard let closed else { return }
    closed.file?.close(handle.rawValue)
    if closed.isLast { endDraft(of: closed.node) }
  }

  /// What is asked of a superseded file fails with `ESTALE`, and that is reported as any failure is.
  func supersededError(of node: NodeID, _ operation: StaticString) -> FileError {
    guard let entry = tables.withLock({ $0.inodes.node(node)?.entry }) else {
      return Self.unknownNode
    }
    let error = superseded(entry)
    let path = path(of: entry.key)
    reporter.report(error, FailureReporter.Operation(name: operation, path: path, node: node))
    return error
  }
}

/// What an open file reads.
private struct Readable {
  let node: NodeID
  let draft: Draft?
  let file: ObjectFile?
  let isSuperseded: Bool
}

extension OpenMode {
  /// True if the file may be changed by it.
  var changes: Bool { writes || truncates }
}
