package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  package func makeDirectory(
    _ name: FileName,
    in parent: NodeID,
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  ) {
    let place: Place
    switch changeable(name, in: parent) {
    case .failure(let error):
      reply.fail(error)
      return
    case .success(let found): place = found
    }
    guard !place.child.isShadowedObject else {
      reply.fail(FileError(.invalid, "\"\(name)\" is the name of an object beside a directory"))
      return
    }
    guard place.prefix.bytes.count <= ObjectKey.byteCountMax else {
      reply.fail(FileError(.nameTooLong, "the key \"\(place.prefix)\" would be too long"))
      return
    }
    change("mkdir", of: place.prefix, reply: reply, onUntaken: takeBack) { [self] deadline in
      await turns.whileTaken([place.prefix]) {
        switch await sighting(of: place, by: deadline) {
        case .failure(let error): return .failure(error)
        case .success(.found): return .failure(exists(place))
        case .success(.absent): break
        }
        let metadata = PosixMetadata(ofDirectory: facts, differingFrom: options)
          .metadata(options.metadataStyle)
        do throws(StoreError) {
          let marker = try await putMarker(place.prefix, metadata, by: deadline)
          rememberMarker(marker, of: place.prefix, askedAt: time.now)
        } catch {
          return .failure(FileError(error, of: .name).uninterrupted)
        }
        return .success(madeDirectory(place, facts))
      }
    }
  }

  private func madeDirectory(_ place: Place, _ facts: NewNode) -> EntryAnswer {
    let now = time.now
    let (prefix, component) = (place.directory.prefix, place.child.component[...])
    let entry = ListingPage.single(directory: component, in: prefix, requestedAt: now)
    let (node, directory) = tables.withLock { tables in
      tables.changes[prefix, default: NameChanges()].made(entry, settledAt: now)
      tables.absentNames[NameKey(.child(place.child), in: place.directory)] = nil
      Self.touched(place.directory, at: time.wallTime, &tables)
      let node = tables.inodes.lookedUp(entry, in: place.directory.node)
      tables.shown[node] = ShownFacts(
        permissions: facts.permissions,
        userID: facts.userID,
        groupID: facts.groupID,
        modified: time.wallTime
      )
      return (node, tables.inodes.directory(node))
    }
    // It is known to be empty, so what is made in it needs no question.
    directory?.begin(emptyAt: now, memory: listingMemory, digest: queries.digest)
    return EntryAnswer(
      node: node,
      attributes: attributes(of: entry, node),
      entryTimeout: options.metadataTTL,
      attributeTimeout: options.metadataTTL
    )
  }

  package func removeDirectory(
    _ name: FileName,
    in parent: NodeID,
    reply: consuming Reply<EmptyAnswer>
  ) {
    let place: Place
    switch changeable(name, in: parent) {
    case .failure(let error):
      reply.fail(error)
      return
    case .success(let found): place = found
    }
    change("rmdir", of: place.prefix, reply: reply) { [self] deadline in
      await turns.whileTaken([place.prefix]) {
        switch await sighting(of: place, by: deadline) {
        case .failure(let error): return .failure(error)
        case .success(.absent): return .failure(absent(place))
        case .success(.found(let entry, _)):
          guard entry.kind == .directory else {
            return .failure(
              FileError(.notDirectory, "\"\(path(of: place.key))\" is not a directory")
            )
          }
        }
        if let error = await removeEmpty(place, by: deadline) { return .failure(error) }
        return .success(EmptyAnswer())
      }
    }
  }

  private func removeEmpty(_ place: Place, by deadline: Instant) async -> FileError? {
    let prefix = place.prefix
    let notEmpty = FileError(.notEmpty, "\"\(path(of: prefix))\" is not empty")
    if tables.withLock({ $0.drafts.hasDraft(below: prefix) }) { return notEmpty }
    do throws(StoreError) {
      switch try await contents(of: prefix, by: deadline).get() {
      case .something: return notEmpty
      case .nothing, .marker:
        await discardMarkerDraft(of: prefix)
        // Also if there is none: some stores have a directory although no key tells of it.
        try await queries.store.delete(prefix, ifMatch: nil, context: context(deadline))
      }
    } catch {
      // Where directories exist by themselves, what came into it meanwhile is in the way.
      return error.kind == .conflict ? notEmpty : FileError(error, of: .name).uninterrupted
    }
    _ = emptied.take(prefix)
    let now = time.now
    tables.withLock { tables in
      tables.changes[place.directory.prefix, default: NameChanges()]
        .removed(place.child.component, .directory, settledAt: now)
      tables.changes[prefix] = nil
      Self.touched(place.directory, at: time.wallTime, &tables)
      let component = place.child.component[...]
      if let node = tables.inodes.nodeID(component, .directory, in: place.directory.prefix) {
        tables.inodes.removed(node)
      }
    }
    mayHaveEmptied(place.directory)
    return nil
  }

  /// The place of a name that is to be changed, in a mount that can.
  func changeable(_ name: FileName, in parent: NodeID) -> Result<Place, FileError> {
    if let writeRefusal { return .failure(writeRefusal) }
    return place(of: name, in: parent)
  }

  func absent(_ place: Place) -> FileError {
    FileError(.notFound, "\"\(path(of: place.key))\" isn't there")
  }
}
