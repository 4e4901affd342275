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
    let origin: CopyOrigin
    switch (copyOrigin(source), writable(target, "copy_file_range", dirties: false)) {
    case (.failure(let error), _), (.success, .failure(let error)):
      reply.fail(error)
      return
    case (.success(let found), .success(let open)):
      origin = found
      let wanted = range.clamped(to: ByteRange(0, found.size))
      guard !wanted.isEmpty else {
        reply.succeed(WrittenAnswer(count: 0))
        return
      }
      tables.withLock { tables in
        Self.dirtied(open.node, &tables)
        tables.copies.copied(from: origin.key, origin.draft, to: open.draft)
      }
      guard origin.movesBytes(wanted) else {
        do throws(FileError) {
          reply.succeed(WrittenAnswer(count: try origin.copy(wanted, to: open.draft, at: offset)))
        } catch {
          report(error, "copy_file_range", open)
          reply.fail(error)
        }
        return
      }
      // Bytes on the local disk are copied there, which may take a while.
      let parked = ParkedReply(reply)
      aheadPool.submit { [self] in
        do throws(FileError) {
          parked.succeed(WrittenAnswer(count: try origin.copy(wanted, to: open.draft, at: offset)))
        } catch {
          report(error, "copy_file_range", open)
          parked.fail(error)
        }
      }
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
