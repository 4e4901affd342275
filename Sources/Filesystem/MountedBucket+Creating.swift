package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  package func create(
    _ name: FileName,
    in parent: NodeID,
    like facts: NewNode,
    mode: OpenMode,
    reply: consuming Reply<CreateAnswer>
  ) {
    let place: Place
    switch creatable(name, in: parent) {
    case .failure(let error):
      reply.fail(error)
      return
    case .success(let found): place = found
    }
    let now = time.now
    if case .found(let entry, let until) = believed(
      .child(place.child),
      in: place.directory,
      at: now
    ) {
      openFound(.found(entry, until: until), entry, place, mode, reply: reply)
      return
    }
    switch makeDraft(place, like: facts) {
    case .failure(let error):
      reporter.report(
        error,
        FailureReporter.Operation(name: "create", path: path(of: place.key))
      )
      reply.fail(error)
    case .success(let made):
      let handle = tables.withLock { tables in
        _ = tables.open.opened(made.node, nil, writes: true)
        return tables.add(.file(OpenFile(node: made.node, draft: made.draft)))
      }
      let answer = CreateAnswer(
        entry: made.answer,
        open: OpenAnswer(handle: handle, keepsPageCache: true)
      )
      if !reply.succeed(answer) {
        close(handle)
        takeBack(made.answer)
      }
    }
  }

  package func makeFile(
    _ name: FileName,
    in parent: NodeID,
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  ) {
    let place: Place
    switch creatable(name, in: parent) {
    case .failure(let error):
      reply.fail(error)
      return
    case .success(let found): place = found
    }
    change("create", of: place.key, reply: reply, onUntaken: takeBack) { [self] deadline in
      await stored(place, like: facts, linkingTo: nil, by: deadline)
    }
  }

  /// Makes an empty file, or a symbolic link, and returns when the store has it.
  func stored(
    _ place: Place,
    like facts: NewNode,
    linkingTo target: [UInt8]?,
    by deadline: Instant
  ) async -> Result<EntryAnswer, FileError> {
    switch await sighting(of: place, by: deadline) {
    case .failure(let error): return .failure(error)
    case .success(.found): return .failure(exists(place))
    case .success(.absent): break
    }
    switch makeDraft(place, like: facts, linkingTo: target) {
    case .failure(let error): return .failure(error)
    case .success(let made):
      switch await publish(made.draft) {
      case .failure(let error):
        takeBack(made.answer)
        return .failure(error)
      case .success:
        endDraft(of: made.node)
        return .success(made.answer)
      }
    }
  }

  /// The place of a file that is to be made.
  func creatable(_ name: FileName, in parent: NodeID) -> Result<Place, FileError> {
    if let writeRefusal { return .failure(writeRefusal) }
    return place(of: name, in: parent).flatMap { place in
      if let refusal = Self.refusal(of: place) { return .failure(refusal) }
      guard place.child.isShadowedObject else { return .success(place) }
      // Beside a directory of its name an object is spelled so, elsewhere it would have another name.
      let directory = NameCodec.Child(component: place.child.component)
      if !place.child.component.isEmpty,
        case .found(let entry, _) = believed(.child(directory), in: place.directory, at: time.now),
        entry.kind == .directory
      {
        return .success(place)
      }
      return .failure(
        FileError(
          .invalid,
          "\"\(name)\" is the name of an object beside a directory, and there is no such directory"
        )
      )
    }
  }

  /// Why there can't be a file of this name; nil if there can.
  static func refusal(of place: Place) -> FileError? {
    guard place.child.component.isEmpty, !place.child.isShadowedObject else { return nil }
    return FileError(
      .invalid,
      "this is the name of a directory without a name; a file of it would be the directory "
        + "\"\(place.directory.prefix)\" itself"
    )
  }

  func exists(_ place: Place) -> FileError {
    FileError(.exists, "\"\(path(of: place.key))\" is there already")
  }

  /// The file is there after all, by what was learned since the kernel looked.
  private func openFound(
    _ sighting: Sighting,
    _ entry: Entry,
    _ place: Place,
    _ mode: OpenMode,
    reply: consuming Reply<CreateAnswer>
  ) {
    guard !mode.isExclusive else {
      reply.fail(exists(place))
      return
    }
    guard entry.kind != .directory else {
      reply.fail(FileError(.isDirectory, "\"\(path(of: place.key))\" is a directory"))
      return
    }
    let found = answer(sighting, in: place.directory, at: time.now)
    guard let node = found.node else {
      reply.fail(Self.unknownNode)
      return
    }
    switch opened(entry, node, mode) {
    case .failure(let error):
      takeBack(found)
      reply.fail(error)
    case .success(let open):
      if !reply.succeed(CreateAnswer(entry: found, open: open)) {
        close(open.handle)
        takeBack(found)
      }
    }
  }

  /// What a new object has beside its bytes.
  private func objectFacts(
    ofFileNamed component: [UInt8],
    _ kind: FileKind,
    _ made: NewNode
  ) -> ObjectFacts {
    let type = String(validating: component, as: UTF8.self)
      .flatMap { options.contentTypes.type(ofFileNamed: $0) }
    return ObjectFacts(
      headers: ContentHeaders(contentType: kind == .file ? type : nil),
      userMetadata: PosixMetadata(of: made, kind, differingFrom: options)
        .metadata(options.metadataStyle),
      tags: kind == .file ? options.tags : [:],
      storageClass: kind == .file ? options.storageClass : nil
    )
  }

  /// A file that was made.
  struct MadeFile: Sendable {
    let node: NodeID
    let draft: Draft
    /// Counts one lookup.
    let answer: EntryAnswer
  }

  /// Makes a draft of a new file, or of a symbolic link that says `target`, and gives it its name.
  func makeDraft(
    _ place: Place,
    like facts: NewNode,
    linkingTo target: [UInt8]? = nil
  ) -> Result<MadeFile, FileError> {
    let key = place.key
    let draft: Draft
    switch begunDraft(place, like: facts, linkingTo: target) {
    case .failure(let error): return .failure(error)
    case .success(let begun): draft = begun
    }
    let metadata = ObjectMetadata(
      version: ObjectVersion(key: key, etag: nil, size: draft.size, lastModified: draft.modified)
    )
    let (prefix, component) = (place.directory.prefix, place.child.component[...])
    let now = time.now
    let made = ListingPage.single(
      metadata,
      component: component,
      in: prefix,
      requestedAt: now,
      isPlainlyNamed: !place.child.isShadowedObject
    )
    guard let entry = made else { return .failure(Self.unknownNode) }
    let node = tables.withLock { tables in
      let node = tables.inodes.made(
        entry,
        in: place.directory.node,
        isLink: target != nil
      )
      tables.drafts.add(draft, at: key, node)
      tables.shown[node] = ShownFacts(
        permissions: facts.permissions,
        userID: facts.userID,
        groupID: facts.groupID
      )
      tables.absentNames[NameKey(.child(place.child), in: place.directory)] = nil
      Self.touched(place.directory, at: time.wallTime, &tables)
      Self.dirtied(node, &tables)
      return node
    }
    return .success(
      MadeFile(
        node: node,
        draft: draft,
        answer: EntryAnswer(
          node: node,
          attributes: attributes(of: entry, node),
          entryTimeout: options.metadataTTL,
          attributeTimeout: options.metadataTTL
        )
      )
    )
  }

  /// A new draft, of a file without bytes or of a link; it has no name yet.
  private func begunDraft(
    _ place: Place,
    like facts: NewNode,
    linkingTo target: [UInt8]?
  ) -> Result<Draft, FileError> {
    guard let drafts else { return .failure(FileError(.readOnly, "the mount is read-only")) }
    let draft: Draft
    do throws(FileError) {
      draft = try drafts.create(
        place.key,
        facts: objectFacts(
          ofFileNamed: place.child.component,
          target == nil ? .file : .symbolicLink,
          facts
        )
      )
    } catch {
      return .failure(error)
    }
    if let target {
      do throws(FileError) {
        try target.span.bytes.withUnsafeBytes { (bytes) throws(FileError) in
          try draft.write(bytes, at: 0)
        }
      } catch {
        _ = startControlTask {
          await draft.discard()
          drafts.end(draft)
        }
        return .failure(error)
      }
    }
    return .success(draft)
  }
}
