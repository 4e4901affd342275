internal import Core
internal import ObjectFiles
internal import Support

// Attributes in `user.` are the object's user metadata.
extension MountedBucket {
  /// Bytes of all names and values together.
  ///
  /// Source: Amazon S3 User Guide, "Working with object metadata": 2 KB, counted in UTF-8.
  static let userMetadataByteCountMax = 2048

  /// The name in user metadata of an attribute; nil if none can have it.
  static func metadataName(_ attribute: String) -> String? {
    guard attribute.hasPrefix("user."), !attribute.hasPrefix("user.dipper.") else { return nil }
    let name = String(attribute.dropFirst("user.".count))
    let isToken =
      !name.isEmpty
      && name.utf8.allSatisfy { byte in
        // Source: RFC 9110 section 5.6.2, without capitals: a field's name has no case.
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
    return isToken && !PosixMetadata.reservedNames.contains(name) ? name : nil
  }

  /// Reads an attribute: of a file that is being written from what is to be stored, else from the store.
  func userAttribute(
    _ attribute: String,
    of node: NodeID,
    reply: consuming Reply<AttributeValueAnswer>
  ) {
    let found = tables.withLock { tables in (tables.inodes.node(node), tables.drafts[node]) }
    guard let known = found.0 else {
      reply.fail(Self.unknownNode)
      return
    }
    let absent = FileError(.noAttribute, "there is no \(attribute) here")
    guard let name = Self.metadataName(attribute) else {
      reply.fail(absent)
      return
    }
    if let prefix = markerKey(of: node) {
      change("getxattr", of: prefix, node: node, reply: reply) { [self] deadline in
        await markerFacts(of: prefix, by: deadline).flatMap { facts in
          facts.userMetadata[name].map { .success(AttributeValueAnswer(Array($0.utf8))) }
            ?? .failure(absent)
        }
      }
      return
    }
    guard let entry = known.entry, entry.kind == .file else {
      reply.fail(absent)
      return
    }
    let draft = found.1.flatMap { $0.isDirty ? $0 : nil }
    if draft == nil, known.isSuperseded {
      reply.fail(superseded(entry))
      return
    }
    @Sendable func answer(_ metadata: [String: String]) -> Result<AttributeValueAnswer, FileError> {
      metadata[name].map { .success(AttributeValueAnswer(Array($0.utf8))) } ?? .failure(absent)
    }
    if let facts = draft?.facts {
      switch answer(facts.userMetadata) {
      case .success(let value): reply.succeed(value)
      case .failure(let error): reply.fail(error)
      }
      return
    }
    let operation = FailureReporter.Operation(
      name: "getxattr",
      path: path(of: entry.key),
      node: node
    )
    let budget = budget(for: entry.key, at: time.now)
    guard let waiting = park(reply, operation, budget) else { return }
    @Sendable func end(_ outcome: Result<[String: String], FileError>) {
      switch outcome.flatMap(answer) {
      case .success(let value): waiting.succeed(value)
      case .failure(let error): waiting.fail(error)
      }
    }
    if let draft {
      _ = startControlTask { end(await draft.loadFacts().map(\.userMetadata)) }
      return
    }
    let ticket = heads.join(
      entry.key,
      asking: { [self] in await head(entry, by: budget.deadline) },
      waiter: { outcome in end(outcome.map { $0?.userMetadata ?? [:] }) }
    )
    waiting.whenGivenUp { [heads] in heads.leave(ticket) }
  }

  /// The attributes of a file or a directory, as far as they are known without asking.
  func knownUserAttributes(of node: NodeID, _ entry: Entry?) -> [String] {
    let marker = markerKey(of: node)
    let draft = tables.withLock { tables in
      marker.map { tables.drafts.draft(at: $0) } ?? tables.drafts[node]
    }
    let metadata =
      draft.flatMap { $0.isDirty ? $0.facts?.userMetadata : nil }
      ?? facts.withLock { facts in
        marker.map { facts.facts(ofDirectory: $0)?.userMetadata }
          ?? entry.flatMap { facts.facts(of: $0)?.userMetadata }
      }
    return (metadata ?? [:]).keys.map { "user.\($0)" }
      .filter { Self.metadataName($0) != nil }.sorted()
  }

  /// Sets an attribute, or removes it if `value` is nil.
  func setUserAttribute(
    _ attribute: String,
    of node: NodeID,
    to value: [UInt8]?,
    _ rule: AttributeRule,
    reply: consuming Reply<EmptyAnswer>
  ) {
    guard let name = Self.metadataName(attribute) else {
      reply.fail(Self.unchangeableAttribute(attribute))
      return
    }
    var text: String?
    if let value {
      guard value.count <= Self.userMetadataByteCountMax else {
        reply.fail(Self.tooMuch(attribute))
        return
      }
      guard let valid = String(validating: value, as: UTF8.self),
        valid.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
      else {
        reply.fail(
          FileError(.invalid, "the value of \(attribute) must be printable ASCII to be stored here")
        )
        return
      }
      text = valid
    }
    changeFacts(of: node, reply: reply) { [text] (facts: inout ObjectFacts) throws(FileError) in
      let isThere = facts.userMetadata[name] != nil
      if isThere, rule == .creates {
        throw FileError(.exists, "there is a \(attribute) already")
      }
      if !isThere, rule == .replaces || text == nil {
        throw FileError(.noAttribute, "there is no \(attribute) here")
      }
      facts.userMetadata[name] = text
      let byteCount = facts.userMetadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
      if text != nil, byteCount > Self.userMetadataByteCountMax { throw Self.tooMuch(attribute) }
    }
  }

  private static func tooMuch(_ attribute: String) -> FileError {
    FileError(
      .attributeTooLarge,
      "\(attribute) doesn't fit: an object's attributes have at most \(userMetadataByteCountMax) bytes"
    )
  }

  static func unchangeableAttribute(_ name: String) -> FileError {
    if Attribute(rawValue: name) != nil {
      return FileError(.notPermitted, "\(name) says what is so and can't be set")
    }
    guard name.hasPrefix("user.") else {
      return FileError(.notSupported, "the attribute \(name) can't be stored here")
    }
    return FileError(
      .invalid,
      "\(name) can't be stored: after user. come lower-case letters, digits and signs such as - and _,"
        + " but not dipper. or one of the names that keep owner, mode and time"
    )
  }
}
