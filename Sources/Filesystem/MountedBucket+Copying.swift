package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  package func copyRange(
    from source: HandleID,
    _ range: ByteRange,
    to target: HandleID,
    at offset: Int,
    reply: consuming Reply<WrittenAnswer>
  ) {
    if let draft = deferredDraft(of: source) {
      // What is copied from is a version, which storing attributes may replace: that comes first.
      let parked = ParkedReply(reply)
      _ = startControlTask { [self] in
        _ = await publish(draft)
        let outcome = plannedCopy(from: source, range, to: target, at: offset)
        aheadPool.submit { [self] in
          switch outcome.flatMap({ run($0) }) {
          case .success(let answer): parked.succeed(answer)
          case .failure(let error): parked.fail(error)
          }
        }
      }
      return
    }
    let copy: PlannedCopy
    switch plannedCopy(from: source, range, to: target, at: offset) {
    case .failure(let error):
      reply.fail(error)
      return
    case .success(let planned): copy = planned
    }
    guard copy.origin.movesBytes(copy.range) else {
      switch run(copy) {
      case .success(let answer): reply.succeed(answer)
      case .failure(let error): reply.fail(error)
      }
      return
    }
    // Bytes on the local disk are copied there, which may take a while.
    let parked = ParkedReply(reply)
    aheadPool.submit { [self] in
      switch run(copy) {
      case .success(let answer): parked.succeed(answer)
      case .failure(let error): parked.fail(error)
      }
    }
  }

  /// What is copied where.
  private struct PlannedCopy: Sendable {
    let origin: CopyOrigin
    /// Of the origin; may be empty.
    let range: ByteRange
    let target: Writable
    let offset: Int
  }

  private func plannedCopy(
    from source: HandleID,
    _ range: ByteRange,
    to target: HandleID,
    at offset: Int
  ) -> Result<PlannedCopy, FileError> {
    copyOrigin(source).flatMap { origin in
      writable(target, "copy_file_range", dirties: false).flatMap { open in
        let wanted = range.clamped(to: ByteRange(0, origin.size))
        // As the kernel does: what is read must not be what is just being written.
        let place = ByteRange(offset: offset, count: wanted.count)
        guard node(of: source) != open.node || !wanted.overlaps(place) else {
          return .failure(
            FileError(.invalid, "a range of a file can't be copied onto a part of itself")
          )
        }
        return .success(
          PlannedCopy(origin: origin, range: wanted, target: open, offset: offset)
        )
      }
    }
  }

  /// The node of an open file.
  private func node(of handle: HandleID) -> NodeID? {
    tables.withLock { tables in
      if case .file(let open) = tables.handles[handle] { open.node } else { nil }
    }
  }

  private func run(_ copy: PlannedCopy) -> Result<WrittenAnswer, FileError> {
    guard !copy.range.isEmpty else { return .success(WrittenAnswer(count: 0)) }
    tables.withLock { tables in
      Self.dirtied(copy.target.node, &tables)
      tables.copies.copied(from: copy.origin.key, copy.origin.draft, to: copy.target.draft)
    }
    do throws(FileError) {
      let count = try copy.origin.copy(copy.range, to: copy.target.draft, at: copy.offset)
      return .success(WrittenAnswer(count: count))
    } catch {
      report(error, "copy_file_range", copy.target)
      return .failure(error)
    }
  }

  /// What a range is copied from.
  private enum CopyOrigin: Sendable {
    /// Something that is being written.
    case draft(Draft)
    /// A version that the store has.
    case version(ObjectVersion)

    var size: Int {
      switch self {
      case .draft(let draft): draft.size
      case .version(let version): version.size
      }
    }

    var key: ObjectKey {
      switch self {
      case .draft(let draft): draft.base?.key ?? draft.key
      case .version(let version): version.key
      }
    }

    var draft: Draft? { if case .draft(let draft) = self { draft } else { nil } }

    /// True if some of the range is on the local disk alone.
    func movesBytes(_ range: ByteRange) -> Bool {
      switch self {
      case .draft(let draft): !draft.isStored(range)
      case .version: false
      }
    }

    func copy(_ range: ByteRange, to target: Draft, at offset: Int) throws(FileError) -> Int {
      switch self {
      case .draft(let draft): return try target.copy(from: draft, range, to: offset)
      case .version(let version):
        try target.copy(from: version, range, to: offset)
        return range.count
      }
    }
  }

  private func copyOrigin(_ handle: HandleID) -> Result<CopyOrigin, FileError> {
    let found = tables.withLock { tables -> (OpenFile, Draft?, InodeTable.Node?)? in
      guard case .file(let open) = tables.handles[handle] else { return nil }
      return (open, open.draft ?? tables.drafts[open.node], tables.inodes.node(open.node))
    }
    guard let (open, draft, node) = found else { return .failure(Self.unknownHandle) }
    if node?.isSuperseded ?? false {
      return .failure(supersededError(of: open.node, "copy_file_range"))
    }
    if let draft { return .success(.draft(draft)) }
    guard let version = node?.entry?.version else { return .failure(Self.unknownNode) }
    // Without a tag nobody could tell whether it is still the same when it is copied; and what has lost
    // its name may be gone by then. Both are copied by reading and writing.
    guard version.etag != nil, !(node?.isRemoved ?? true) else {
      return .failure(
        FileError(.notSupported, "\"\(path(of: version.key))\" is copied by its bytes")
      )
    }
    return .success(.version(version))
  }
}
