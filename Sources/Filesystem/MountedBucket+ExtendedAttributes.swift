package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  /// Dipper's own attributes; `docs/semantics.md` says what each holds.
  enum Attribute: String, CaseIterable {
    case key = "user.dipper.key"
    case etag = "user.dipper.etag"
    case sizeCached = "user.dipper.size-cached"
    case storageClass = "user.dipper.storage-class"
    case contentType = "user.dipper.content-type"
    case lastError = "user.dipper.last-error"
    case versionID = "user.dipper.version-id"
  }

  package func extendedAttribute(
    _ name: String,
    of node: NodeID,
    reply: consuming Reply<AttributeValueAnswer>
  ) {
    guard let attribute = Attribute(rawValue: name) else {
      if name.hasPrefix("user.") {
        userAttribute(name, of: node, reply: reply)
      } else {
        reply.fail(Self.foreignAttribute)
      }
      return
    }
    guard let known = tables.withLock({ $0.inodes.node(node) }) else {
      reply.fail(Self.unknownNode)
      return
    }
    if let value = knownValue(attribute, node, known.entry) {
      reply.succeed(AttributeValueAnswer(value))
      return
    }
    guard let entry = known.entry, entry.kind == .file, attribute.needsHead else {
      reply.fail(FileError(.noAttribute, "there is no \(name) here"))
      return
    }
    if known.isSuperseded {
      reply.fail(superseded(entry))
      return
    }
    let path = path(of: entry.key)
    let operation = FailureReporter.Operation(name: "getxattr", path: path, node: node)
    let budget = budget(for: entry.key, at: time.now)
    guard let waiting = park(reply, operation, budget) else { return }
    let ticket = heads.join(
      entry.key,
      asking: { [self] in await head(entry, by: budget.deadline) },
      waiter: { outcome in
        switch outcome {
        case .failure(let error): waiting.fail(error)
        case .success(let metadata):
          if let value = metadata.flatMap({ attribute.value(of: $0) }) {
            waiting.succeed(AttributeValueAnswer(Array(value.utf8)))
          } else {
            waiting.fail(FileError(.noAttribute, "the store says nothing of \(name)"))
          }
        }
      }
    )
    waiting.whenGivenUp { [heads] in heads.leave(ticket) }
  }

  package func extendedAttributeNames(
    of node: NodeID,
    reply: consuming Reply<AttributeValueAnswer>
  ) {
    guard let known = tables.withLock({ $0.inodes.node(node) }) else {
      reply.fail(Self.unknownNode)
      return
    }
    // Dipper's own are not among them: what copies attributes would carry them elsewhere, or fail to.
    var names: [UInt8] = []
    for name in knownUserAttributes(of: node, known.entry) { names += Array(name.utf8) + [0] }
    reply.succeed(AttributeValueAnswer(names))
  }

  package func setExtendedAttribute(
    _ name: String,
    of node: NodeID,
    to value: [UInt8],
    _ rule: AttributeRule,
    reply: consuming Reply<EmptyAnswer>
  ) {
    if let writeRefusal {
      reply.fail(writeRefusal)
      return
    }
    guard name == Attribute.contentType.rawValue else {
      setUserAttribute(name, of: node, to: value, rule, reply: reply)
      return
    }
    guard let type = String(validating: value, as: UTF8.self), !type.isEmpty,
      type.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
    else {
      reply.fail(FileError(.invalid, "a content type is printable ASCII, such as text/plain"))
      return
    }
    guard markerKey(of: node) == nil else {
      reply.fail(FileError(.notSupported, "a directory has no content type to set"))
      return
    }
    guard rule != .creates else {
      reply.fail(FileError(.exists, "there is a \(name) already"))
      return
    }
    changeFacts(of: node, reply: reply) { $0.headers.contentType = type }
  }

  package func removeExtendedAttribute(
    _ name: String,
    of node: NodeID,
    reply: consuming Reply<EmptyAnswer>
  ) {
    if let writeRefusal {
      reply.fail(writeRefusal)
      return
    }
    setUserAttribute(name, of: node, to: nil, .any, reply: reply)
  }

  /// Changes what an object has beside its bytes, and answers by what comes of it.
  func changeFacts(
    of node: NodeID,
    reply: consuming Reply<EmptyAnswer>,
    _ change: @escaping @Sendable (inout ObjectFacts) throws(FileError) -> Void
  ) {
    let entry: Entry
    switch state(of: node, at: time.now) {
    case .failure(let error):
      reply.fail(error)
      return
    case .success(.directory):
      guard let prefix = markerKey(of: node) else {
        reply.fail(FileError(.notSupported, "the bucket itself has no attributes to change"))
        return
      }
      self.change("setxattr", of: prefix, node: node, reply: reply) { [self] deadline in
        await changeDirectoryFacts(of: prefix, by: deadline, change).map { EmptyAnswer() }
      }
      return
    case .success(.believed(let known, _)), .success(.doubtful(let known, _)): entry = known
    }
    self.change("setxattr", of: entry.key, node: node, isPatient: true, reply: reply) {
      [self] _ in
      await changeFacts(of: node, entry, change).map { EmptyAnswer() }
    }
  }

  /// The value, if it is known without asking.
  private func knownValue(_ attribute: Attribute, _ node: NodeID, _ entry: Entry?) -> [UInt8]? {
    let file = entry?.kind == .file ? entry : nil
    switch attribute {
    case .key: return entry?.key.bytes ?? options.directoryPrefix.bytes
    case .lastError: return Array(reporter.lastError(of: node).utf8)
    case .etag: return file?.etag.map { Array($0.value.utf8) }
    case .sizeCached:
      return file.map { Array(String(cache.cachedByteCount(of: $0.version)).utf8) }
    case .storageClass: return file.map { Array(($0.storageClass ?? "STANDARD").utf8) }
    case .contentType, .versionID: return nil
    }
  }

  /// The kernel and `ls -l` ask for these of every file; none costs a request.
  ///
  /// A name outside `user.` is refused as such: `ls -l` takes that for "no labels on this file system" and
  /// `cp -a` for "no access control lists here", and they don't ask for every other file too.
  private static let foreignAttribute = FileError(
    .notSupported,
    "only attributes that begin with user. are kept here"
  )
}

extension MountedBucket.Attribute {
  /// True if only HEAD tells it.
  fileprivate var needsHead: Bool { self == .contentType || self == .versionID }

  fileprivate func value(of metadata: ObjectMetadata) -> String? {
    switch self {
    case .contentType: metadata.headers.contentType
    case .versionID: metadata.currentVersionID
    case .key, .etag, .sizeCached, .storageClass, .lastError: nil
    }
  }
}
