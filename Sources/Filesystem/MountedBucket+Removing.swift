package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  package func remove(_ name: FileName, in parent: NodeID, reply: consuming Reply<EmptyAnswer>) {
    let place: Place
    switch changeable(name, in: parent) {
    case .failure(let error):
      reply.fail(error)
      return
    case .success(let found): place = found
    }
    change("unlink", of: place.key, reply: reply) { [self] deadline in
      await turns.whileTaken([place.key]) {
        switch await sighting(of: place, by: deadline) {
        case .failure(let error): return .failure(error)
        case .success(.absent): return .failure(absent(place))
        case .success(.found(let entry, _)):
          guard entry.kind != .directory else {
            return .failure(FileError(.isDirectory, "\"\(path(of: place.key))\" is a directory"))
          }
        }
        if let error = await removeFile(place) { return .failure(error) }
        mayHaveEmptied(place.directory)
        return .success(EmptyAnswer())
      }
    }
  }

  /// Removes a file: its draft is never published any more, and its object is deleted.
  private func removeFile(_ place: Place) async -> FileError? {
    let key = place.key
    let draft = tables.withLock { $0.drafts.draft(at: key) }
    // First: one that is being published would bring the object back.
    await draft?.discard()
    await fetchForReaders(at: place)
    do throws(FileError) { try await publishCopies(of: key) } catch { return error }
    if case .failure(let error) = await deletes.delete(key) {
      return FileError(error, of: .name).uninterrupted
    }
    let node = tables.withLock { tables in
      tables.changes[place.directory.prefix, default: NameChanges()]
        .removed(place.child.component, .file, settledAt: time.now)
      Self.touched(place.directory, at: time.wallTime, &tables)
      return Self.takeName(from: place, &tables)
    }
    boundChanges(in: place.directory)
    if let draft {
      tables.withLock { $0.copies.ended(draft) }
      if let node { endDraft(of: node) } else { drafts?.end(draft) }
    }
    return nil
  }

  /// A file of up to this size is fetched before it is removed while somebody has it open.
  ///
  /// 64 MiB: a few seconds of an ordinary line.
  private static let fetchedSizeMax = 64 << 20

  /// Who has the file of a name open goes on reading it when it is gone: what the cache lacks of it is
  /// fetched first, unless it is large.
  func fetchForReaders(at place: Place) async {
    let found = tables.withLock { tables -> (Draft?, ObjectFile?)? in
      let component = place.child.component[...]
      guard
        let node = tables.inodes.nodeID(component, .file, in: place.directory.prefix),
        tables.open.isOpen(node)
      else { return nil }
      return (tables.drafts[node], tables.open.file(of: node))
    }
    guard let (draft, file) = found else { return }
    let size = draft?.size ?? file?.version.size ?? 0
    guard size <= Self.fetchedSizeMax else { return }
    // What fails is told to who reads it.
    if let draft { _ = await draft.load() } else { _ = await file?.load() }
  }

  /// Changes in the names of one directory that are kept, at most; they take some 3 MB.
  private static let changeCountMax = 20_000

  /// Drops the changes of a directory that the store has, when they have become too many, and the listings
  /// that are true only with them.
  func boundChanges(in directory: Directory) {
    let prefix = directory.prefix
    let count = tables.withLock { $0.changes[prefix]?.count ?? 0 }
    guard count > Self.changeCountMax else { return }
    directory.forgetListings()
    tables.withLock { $0.changes[prefix]?.told(at: .distantFuture) }
  }

  /// The name of a file leads to it no more; who has it open goes on.
  ///
  /// Call with `tables` locked.
  ///
  /// - Returns: its node, if the kernel has one.
  static func takeName(from place: Place, _ tables: inout Tables) -> NodeID? {
    tables.drafts.unname(place.key)
    let component = place.child.component[...]
    let node = tables.inodes.nodeID(component, .file, in: place.directory.prefix)
    if let node { tables.inodes.removed(node) }
    return node
  }
}
