internal import Core
internal import ObjectFiles
internal import Support

// What a directory has beside its name is user metadata of its marker. A change of it is a draft of the
// marker, without bytes: so it is journaled, stored a moment later, and tried again if that fails.
extension MountedBucket {
  /// True if a draft is of a directory's marker.
  static func isOfMarker(_ draft: Draft) -> Bool { draft.key.isDirectoryMarker && draft.size == 0 }

  /// The prefix of a node's directory; nil if it is a file, or the bucket itself, which has no marker.
  func markerKey(of node: NodeID) -> ObjectKey? {
    let prefix = tables.withLock { tables -> ObjectKey? in
      guard let known = tables.inodes.node(node) else { return nil }
      guard let entry = known.entry else { return options.directoryPrefix }
      return entry.kind == .directory && !known.isRemoved ? entry.key : nil
    }
    return prefix.flatMap { $0.bytes.isEmpty ? nil : $0 }
  }

  /// Changes what a directory has beside its name; its marker is made if there is none.
  ///
  /// - Parameters:
  ///   - prefix: the directory.
  ///   - newTime: the modification time to be set; nil keeps what there is.
  ///   - mayWait: it may be stored a moment later, see `FilesystemOptions.attributeDelay`.
  ///   - deadline: by when what is there must be known.
  ///   - change: must not call anything.
  /// - Returns: success when the change is kept: by the store, or on the local disk for it.
  func changeDirectoryFacts(
    of prefix: ObjectKey,
    time newTime: Timestamp? = nil,
    mayWait: Bool = false,
    by deadline: Instant,
    _ change: @Sendable (inout ObjectFacts) throws(FileError) -> Void
  ) async -> Result<Void, FileError> {
    guard let drafts else { return .failure(FileError(.readOnly, "the mount is read-only")) }
    return await turns.whileTaken([prefix]) {
      do throws(FileError) {
        let isKept = tables.withLock { $0.keepsMarkerFacts }
        if isKept == false { throw Self.notKept }
        let pending = tables.withLock { $0.drafts.hold(prefix) }
        defer { if let pending { letGo(pending) } }
        let facts = try await markerFacts(of: prefix, by: deadline).get()
        var wanted = facts
        try change(&wanted)
        guard wanted != facts || newTime != nil else { return .success(()) }
        // What is there is replaced unseen: a marker has nothing but this.
        let draft: Draft
        if let pending {
          draft = pending
        } else {
          draft = try drafts.create(prefix, facts: wanted, condition: .none)
          tables.withLock { $0.drafts.add(draft, at: prefix, nil) }
        }
        draft.updateFacts { $0 = wanted }
        if let time = newTime ?? PosixMetadata(facts.userMetadata).modified {
          draft.setModified(time)
        }
        guard isKept != nil else { return await tried(draft) }
        let outcome = await store(draft, mayWait: mayWait)
        // Whoever is told that it failed expects it not to be done later.
        if case .failure = outcome, pending == nil {
          await draft.discard()
          end(draft, at: prefix, nil)
        }
        return outcome
      } catch {
        return .failure(error)
      }
    }
  }

  /// Some stores have directories of their own, which keep nothing.
  private static let notKept = FileError(
    .notSupported,
    "this store keeps no attributes of directories"
  )

  /// Stores the first change of a directory at once, and looks whether the store has kept it.
  private func tried(_ draft: Draft) async -> Result<Void, FileError> {
    let prefix = draft.key
    let outcome = await draft.publish()
    guard case .success(let object) = outcome, let wanted = object?.userMetadata else {
      await draft.discard()
      end(draft, at: prefix, nil)
      return outcome.map { _ in }
    }
    let askedAt = time.now
    let deadline = askedAt + options.deadline
    // Who can't be asked now is asked with the next change.
    guard case .success(let found) = await queries.head(prefix, hasFallback: false, by: deadline)
    else {
      return .success(())
    }
    let isKept = wanted.allSatisfy { found?.userMetadata?[$0.key] == $0.value }
    tables.withLock { $0.keepsMarkerFacts = isKept }
    guard !isKept else { return .success(()) }
    rememberMarker(found, of: prefix, askedAt: askedAt)
    reporter.note(
      .warning,
      kind: "markers",
      "this store keeps no attributes of directories: what is set of them lasts until the unmount"
    )
    return .failure(Self.notKept)
  }

  /// What a directory's marker has; if that isn't known from a moment ago, the store is asked.
  func markerFacts(
    of prefix: ObjectKey,
    by deadline: Instant
  ) async -> Result<ObjectFacts, FileError> {
    let pending = tables.withLock { $0.drafts.draft(at: prefix) }
    if let known = pending?.facts { return .success(known) }
    let known = facts.withLock { $0.facts(ofDirectory: prefix) }
    let marker: ObjectMetadata?
    if let known, known.askedAt >= time.now - timeToLive {
      marker = known.answer
    } else {
      let askedAt = time.now
      switch await queries.head(
        prefix,
        hasFallback: false,
        by: min(deadline, askedAt + options.deadline)
      ) {
      case .success(let found): marker = found
      case .failure(let error): return .failure(FileError(error, of: .name).uninterrupted)
      }
      rememberMarker(marker, of: prefix, askedAt: askedAt)
    }
    guard let marker else {
      return .success(
        ObjectFacts(headers: ContentHeaders(contentType: DirectoryMarker.contentType))
      )
    }
    guard marker.size == 0 else {
      return .failure(
        FileError(
          .notSupported,
          "\"\(path(of: prefix))\" has bytes at its own key, which is kept as it is"
        )
      )
    }
    return .success(
      ObjectFacts(
        headers: marker.headers,
        userMetadata: marker.userMetadata ?? [:],
        storageClass: marker.storageClass
      )
    )
  }

  /// Remembers what the store has of a directory, for this mount and the next.
  func rememberMarker(_ marker: ObjectMetadata?, of prefix: ObjectKey, askedAt: Instant) {
    let news = facts.withLock { $0.note(marker: marker, of: prefix, askedAt: askedAt) }
    if let news { recordFacts?(news) }
  }

  /// The store has a directory's marker as it was changed.
  func publishedMarker(_ draft: Draft, _ object: ObjectMetadata) {
    let now = time.now
    let prefix = object.key
    rememberMarker(object, of: prefix, askedAt: now)
    let (parent, component) = prefix.directoryPlace
    let entry = ListingPage.single(directory: component, in: parent, requestedAt: now)
    tables.withLock { $0.changes[parent, default: NameChanges()].made(entry, settledAt: now) }
    if !draft.isDirty { end(draft, at: prefix, nil) }
  }

  /// Changes of a directory that is removed, or replaced, are not stored any more.
  func discardMarkerDraft(of prefix: ObjectKey) async {
    guard let draft = tables.withLock({ $0.drafts.draft(at: prefix) }), Self.isOfMarker(draft)
    else {
      return
    }
    await draft.discard()
    end(draft, at: prefix, nil)
  }
}

extension PosixMetadata {
  /// What is stored of a new directory, because the mount's options would show it otherwise.
  init(ofDirectory made: NewNode, differingFrom options: FilesystemOptions) {
    self.init()
    let permissions = options.directoryMode & ~options.umask
    if made.permissions != permissions {
      (kind, self.permissions) = (.directory, made.permissions)
    }
    if made.userID != options.userID { userID = made.userID }
    if made.groupID != options.groupID { groupID = made.groupID }
  }
}
