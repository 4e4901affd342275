package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  package func open(_ node: NodeID, forWriting: Bool, reply: consuming Reply<OpenAnswer>) {
    let now = time.now
    switch state(of: node, at: now) {
    case .failure(let error):
      reply.fail(error)
    case .success(.directory):
      reply.fail(FileError(.isDirectory, "a directory has no bytes to open"))
    case .success where forWriting:
      reply.fail(FileError(.readOnly, "the mount can't be written to"))
    case .success(.believed(let entry, _)):
      let answer = opened(entry, node)
      if !reply.succeed(answer) { close(answer.handle) }
    case .success(.doubtful(let entry, let parent)):
      let path = path(of: entry.key)
      let operation = FailureReporter.Operation(name: "open", path: path, node: node)
      let budget = budget(for: entry.key, at: now)
      guard let waiting = park(reply, operation, budget) else { return }
      let giveUp = confirm(node, entry, in: parent, by: budget.deadline) { [self] outcome in
        switch outcome {
        case .success(let (entry, _)):
          waited(budget)
          let answer = opened(entry, node)
          if !waiting.succeed(answer) { close(answer.handle) }
        case .failure(let error):
          waiting.fail(error)
        }
      }
      waiting.whenGivenUp(giveUp)
    }
  }

  private func opened(_ entry: Entry, _ node: NodeID) -> OpenAnswer {
    let (handle, file) = addFileHandle(entry, node: node)
    return OpenAnswer(
      handle: handle,
      keepsPageCache: true,
      wholeFile: options.offersWholeFiles ? file?.wholeFile() : nil
    )
  }

  package func read(
    _ id: HandleID,
    range: ByteRange,
    reply: consuming Reply<DataAnswer>
  ) {
    let (handle, isSuperseded) = tables.withLock { tables -> (OpenFile?, Bool) in
      guard case .file(let open) = tables.handles[id] else { return (nil, false) }
      return (open, tables.inodes.isSuperseded(open.node))
    }
    guard let open = handle else {
      reply.fail(Self.unknownHandle)
      return
    }
    log.write(
      .debug,
      "read",
      ["handle": "\(id.rawValue)", "offset": "\(range.lowerBound)", "count": "\(range.count)"]
    )
    guard !isSuperseded else {
      reply.fail(supersededError(of: open.node))
      return
    }
    if let file = open.file {
      file.read(range, by: id.rawValue, reply: reply)
    } else {
      reply.succeed(.bytes([]))
    }
  }

  package func release(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>) {
    close(handle)
    reply.succeed(EmptyAnswer())
  }

  private func close(_ handle: HandleID) {
    let closed = tables.withLock { tables -> OpenFile? in
      guard case .file(let open) = tables.handles.removeValue(forKey: handle) else { return nil }
      if open.file != nil { tables.openObjects.closed(open.node) }
      return open
    }
    closed?.file?.close(handle.rawValue)
  }

  /// A read of a superseded file fails with `ESTALE`, and that is reported as any failure is.
  private func supersededError(of node: NodeID) -> FileError {
    guard let entry = tables.withLock({ $0.inodes.node(node)?.entry }) else {
      return Self.unknownNode
    }
    let error = superseded(entry)
    let path = path(of: entry.key)
    reporter.report(error, FailureReporter.Operation(name: "read", path: path, node: node))
    return error
  }
}
