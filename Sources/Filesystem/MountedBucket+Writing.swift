package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  /// Opens a file to be written, or emptied.
  func openedToWrite(
    _ entry: Entry,
    _ node: NodeID,
    _ mode: OpenMode
  ) -> Result<HandleID, FileError> {
    switch draft(of: node, entry, isTruncated: mode.truncates) {
    case .failure(let error): return .failure(error)
    case .success(let draft):
      return .success(
        tables.withLock { tables in
          _ = tables.open.opened(node, nil, writes: true)
          tables.drafts.letGo(draft)
          tables.inodes.noteWriter(of: node)
          return tables.add(.file(OpenFile(node: node, draft: draft)))
        }
      )
    }
  }

  /// The draft of a node's file, made if there is none.
  ///
  /// It is the node's until it is published and nobody has the node open, see `endDraft`. Until `letGo` it is
  /// not ended either: the kernel tells of a close when programs have gone on.
  func draft(
    of node: NodeID,
    _ entry: Entry,
    isTruncated: Bool = false
  ) -> Result<Draft, FileError> {
    guard let drafts else { return .failure(FileError(.readOnly, "the mount is read-only")) }
    let known = tables.withLock { tables in
      if isTruncated { Self.dirtied(node, &tables) }
      return tables.drafts.hold(node)
    }
    do throws(FileError) {
      if let known { return emptied(known, of: node, isTruncated) }
      var object = recentAnswer(of: entry) ?? ObjectMetadata(version: entry.version)
      object.storageClass = entry.storageClass
      let made = try drafts.edit(object, isTruncated: isTruncated)
      let draft = tables.withLock { tables -> Draft in
        if let other = tables.drafts.hold(node) { return other }
        tables.drafts.addHeld(made, at: entry.key, node)
        return made
      }
      guard draft !== made else { return .success(made) }
      _ = startControlTask {
        await made.discard()
        drafts.end(made)
      }
      return emptied(draft, of: node, isTruncated)
    } catch {
      return .failure(error)
    }
  }

  /// A draft that is held, after it was emptied if it was opened so.
  private func emptied(
    _ draft: Draft,
    of node: NodeID,
    _ isTruncated: Bool
  ) -> Result<Draft, FileError> {
    do throws(FileError) {
      if isTruncated { try draft.resize(to: 0) }
      return .success(draft)
    } catch {
      letGo(draft, of: node)
      return .failure(error)
    }
  }

  package func write(
    _ handle: HandleID,
    _ bytes: UnsafeRawBufferPointer,
    at offset: Int?,
    reply: consuming Reply<WrittenAnswer>
  ) {
    switch writable(handle, "write", dirties: true) {
    case .failure(let error): reply.fail(error)
    case .success(let open):
      do throws(FileError) {
        if let offset {
          try open.draft.write(bytes, at: offset)
        } else {
          try open.draft.append(bytes)
        }
        reply.succeed(WrittenAnswer(count: bytes.count))
      } catch {
        report(error, "write", open)
        reply.fail(error)
      }
    }
  }

  package func allocate(
    _ handle: HandleID,
    range: ByteRange,
    _ allocation: Allocation,
    reply: consuming Reply<EmptyAnswer>
  ) {
    switch writable(handle, "fallocate", dirties: allocation != .reservedBehindEnd) {
    case .failure(let error): reply.fail(error)
    case .success(let open):
      do throws(FileError) {
        switch allocation {
        case .reserved: try open.draft.allocate(range, keepsSize: false)
        case .reservedBehindEnd: try open.draft.allocate(range, keepsSize: true)
        case .hole: try open.draft.punch(range)
        case .zeros:
          try open.draft.allocate(range, keepsSize: false)
          try open.draft.punch(range)
        }
        reply.succeed(EmptyAnswer())
      } catch {
        report(error, "fallocate", open)
        reply.fail(error)
      }
    }
  }

  package func flush(
    _ handle: HandleID,
    by process: Int32,
    reply: consuming Reply<EmptyAnswer>
  ) {
    if isMoved(handle, by: process) {
      reply.succeed(EmptyAnswer())
      return
    }
    store(handle, alsoReaders: false, reply: reply) { [self] draft in await publish(draft) }
  }

  package func synchronize(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>) {
    // Whatever a close promises, this promises the store.
    store(handle, alsoReaders: true, reply: reply) { [self] draft in
      await whileTurnIsTaken(of: draft) {
        await publishCopiesBeforeReplacing(draft)
        return await draft.publish().map { _ in }
      }
    }
  }

  /// True if an empty file's descriptor is closed by a process that has another one to write to it.
  ///
  /// A shell that opens a file for a program copies the descriptor to where the program looks for it, and
  /// closes the first: the empty file would be stored a moment before the program's output. The other
  /// descriptor's close stores it, whatever ends the process.
  private func isMoved(_ handle: HandleID, by process: Int32) -> Bool {
    let found = tables.withLock { tables -> (draft: Draft, entry: Entry)? in
      guard process > 0, case .file(let open) = tables.handles[handle], let draft = open.draft,
        let entry = tables.inodes.node(open.node)?.entry
      else { return nil }
      return (draft, entry)
    }
    guard let found, found.draft.isDirty, found.draft.size == 0 else { return false }
    return hasWriter(attributes(of: found.entry).inodeNumber, process)
  }

  /// Answers when the store has what was written through a handle.
  ///
  /// There is no deadline but those of the requests: bytes take the time that they take. Whoever is
  /// interrupted leaves it to go on. A failure has been reported by the time it comes here.
  private func store(
    _ handle: HandleID,
    alsoReaders: Bool,
    reply: consuming Reply<EmptyAnswer>,
    _ publish: @escaping @Sendable (Draft) async -> Result<Void, FileError>
  ) {
    let draft = tables.withLock { tables -> Draft? in
      guard case .file(let open) = tables.handles[handle] else { return nil }
      return open.draft ?? (alsoReaders ? tables.drafts[open.node] : nil)
    }
    guard let draft, draft.isDirty else {
      reply.succeed(EmptyAnswer())
      return
    }
    let parked = ParkedReply(reply, grace: .init(Self.changeGrace, by: timers))
    _ = startControlTask {
      switch await publish(draft) {
      case .success: parked.succeed(EmptyAnswer())
      case .failure(let error): parked.fail(error.uninterrupted)
      }
    }
  }

  /// A handle that may be written through.
  struct Writable {
    let node: NodeID
    let draft: Draft
  }

  func writable(
    _ handle: HandleID,
    _ operation: StaticString,
    dirties: Bool
  ) -> Result<Writable, FileError> {
    let found = tables.withLock { tables -> (Writable, isSuperseded: Bool)? in
      guard case .file(let open) = tables.handles[handle], let draft = open.draft else {
        return nil
      }
      let isSuperseded = tables.inodes.isSuperseded(open.node)
      if dirties, !isSuperseded { Self.dirtied(open.node, &tables) }
      return (Writable(node: open.node, draft: draft), isSuperseded)
    }
    guard let found else { return .failure(Self.unknownHandle) }
    guard !found.isSuperseded else { return .failure(supersededError(of: found.0.node, operation)) }
    return .success(found.0)
  }

  func report(_ error: FileError, _ operation: StaticString, _ open: Writable) {
    let path = path(of: open.draft.key)
    reporter.report(
      error,
      FailureReporter.Operation(name: operation, path: path, node: open.node)
    )
  }
}
