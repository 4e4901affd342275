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
    let open = OpenFile(entry, node: node, bucket: self)
    // Before the handle is known, because it may take a look at the disk.
    let wholeFile = options.offersWholeFiles ? open.file?.wholeFile() : nil
    return OpenAnswer(
      handle: addHandle(.file(open)),
      keepsPageCache: true,
      wholeFile: wholeFile
    )
  }

  package func read(
    _ handle: HandleID,
    range: ByteRange,
    reply: consuming Reply<DataAnswer>
  ) {
    let (handle, isSuperseded) = tables.withLock { tables -> (OpenFile?, Bool) in
      guard case .file(let open) = tables.handles[handle] else { return (nil, false) }
      return (open, tables.inodes.isSuperseded(open.node))
    }
    guard let open = handle else {
      reply.fail(Self.unknownHandle)
      return
    }
    guard !isSuperseded else {
      reply.fail(supersededError(of: open.node))
      return
    }
    if let file = open.file {
      file.read(range, reply: reply)
    } else {
      reply.succeed(.bytes([]))
    }
  }

  package func release(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>) {
    close(handle)
    reply.succeed(EmptyAnswer())
  }

  private func close(_ handle: HandleID) {
    let closed = tables.withLock { $0.handles.removeValue(forKey: handle) }
    if case .file(let open) = closed { open.file?.close() }
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
