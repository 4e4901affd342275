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
      reply.fail(Self.foreignAttribute(name))
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
    var names: [UInt8] = []
    for attribute in Attribute.allCases {
      let isShown =
        knownValue(attribute, node, known.entry) != nil
        || (attribute == .contentType && known.entry?.kind == .file)
      if isShown { names += Array(attribute.rawValue.utf8) + [0] }
    }
    reply.succeed(AttributeValueAnswer(names))
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
  private static func foreignAttribute(_ name: String) -> FileError {
    // `cp -a` takes this for "no access control lists here" and asks no more.
    name.hasPrefix("system.posix_acl_")
      ? FileError(.notSupported, "there are no access control lists in a bucket")
      : FileError(.noAttribute, "there is no \(name) here")
  }
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
