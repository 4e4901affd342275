internal import Core
internal import ObjectFiles

/// Which node's bytes are a draft's.
///
/// A draft is found by its node while the kernel knows that, and by its key for as long as the key's
/// name leads to it. A file whose name was removed keeps its draft by the node alone.
struct DraftTable {
  private var byNode: [NodeID: Draft] = [:]
  private var byKey: [ObjectKey: Draft] = [:]
  /// How many are at work with a draft, which must not end meanwhile.
  private var holds: [ObjectIdentifier: Int] = [:]

  /// The draft of a node.
  subscript(_ node: NodeID) -> Draft? { byNode.isEmpty ? nil : byNode[node] }

  /// The same, and it doesn't end before `letGo`.
  mutating func hold(_ node: NodeID) -> Draft? { held(self[node]) }

  /// The draft that a key's name leads to, which doesn't end before `letGo`.
  mutating func hold(_ key: ObjectKey) -> Draft? { held(draft(at: key)) }

  /// Whoever held a draft is done with it.
  mutating func letGo(_ draft: Draft) {
    let count = holds[ObjectIdentifier(draft), default: 0]
    holds[ObjectIdentifier(draft)] = count > 1 ? count - 1 : nil
  }

  /// Somebody is at work with a draft.
  func isHeld(_ draft: Draft) -> Bool { !holds.isEmpty && holds[ObjectIdentifier(draft)] != nil }

  private mutating func held(_ draft: Draft?) -> Draft? {
    if let draft { holds[ObjectIdentifier(draft), default: 0] += 1 }
    return draft
  }

  /// The draft that a key's name leads to.
  func draft(at key: ObjectKey) -> Draft? { byKey.isEmpty ? nil : byKey[key] }

  /// The node whose bytes are a draft's, if the kernel knows it.
  func node(of draft: Draft) -> NodeID? { byNode.first { $0.value === draft }?.key }

  /// True if there are drafts below a directory's prefix, that of its own marker apart.
  func hasDraft(below prefix: ObjectKey) -> Bool {
    byKey.contains { key, draft in
      key.hasPrefix(prefix) && !(key == prefix && MountedBucket.isOfMarker(draft))
    }
  }

  /// The drafts whose names are below a directory's prefix.
  func drafts(below prefix: ObjectKey) -> [Draft] {
    byKey.filter { $0.key.hasPrefix(prefix) }.map(\.value)
  }

  /// A draft is what a key's name leads to, and a node's if the kernel has one.
  mutating func add(_ draft: Draft, at key: ObjectKey, _ node: NodeID?) {
    byKey[key] = draft
    if let node { byNode[node] = draft }
  }

  /// The same, and it doesn't end before `letGo`.
  mutating func addHeld(_ draft: Draft, at key: ObjectKey, _ node: NodeID?) {
    add(draft, at: key, node)
    _ = held(draft)
  }

  /// The kernel was given a node for a child.
  mutating func found(_ entry: Entry, _ node: NodeID) {
    guard !byKey.isEmpty, entry.kind == .file, byNode[node] == nil else { return }
    byNode[node] = byKey[entry.key]
  }

  /// The draft has ended, or its name leads elsewhere and nobody has it open.
  mutating func remove(_ draft: Draft, at key: ObjectKey, _ node: NodeID?) {
    if byKey[key] === draft { byKey[key] = nil }
    if let node, byNode[node] === draft { byNode[node] = nil }
  }

  /// A key's name leads nowhere, or elsewhere.
  mutating func unname(_ key: ObjectKey) { byKey[key] = nil }

  /// A key's name leads to the draft of another.
  mutating func rename(_ key: ObjectKey, to newKey: ObjectKey) {
    byKey[newKey] = byKey.removeValue(forKey: key)
  }

  /// The kernel has forgotten a node.
  ///
  /// - Returns: its draft, if no name leads to it either.
  mutating func forget(_ node: NodeID) -> Draft? {
    guard !byNode.isEmpty, let draft = byNode.removeValue(forKey: node) else { return nil }
    return byKey.values.contains { $0 === draft } ? nil : draft
  }
}

/// What is shown of a node since it was changed through this mount, beside what the store says of it.
struct ShownFacts: Hashable, Sendable {
  var permissions: UInt16?
  var userID: UInt32?
  var groupID: UInt32?
  var modified: Timestamp?
  var accessed: Timestamp?
  /// When the attributes were last changed, if that is later than the content.
  var changed: Timestamp?

  /// Creates facts; what is nil is as it is.
  init(
    permissions: UInt16? = nil,
    userID: UInt32? = nil,
    groupID: UInt32? = nil,
    modified: Timestamp? = nil
  ) {
    self.permissions = permissions
    self.userID = userID
    self.groupID = groupID
    self.modified = modified
  }

  /// What metadata says.
  init(_ posix: PosixMetadata) {
    self.init(
      permissions: posix.permissions,
      userID: posix.userID,
      groupID: posix.groupID,
      modified: posix.modified
    )
    accessed = posix.accessed
  }

  /// Shows what was changed.
  mutating func apply(_ changes: AttributeChanges, at now: Timestamp) {
    permissions = changes.permissions ?? permissions
    userID = changes.userID ?? userID
    groupID = changes.groupID ?? groupID
    switch changes.modified {
    case .now: modified = now
    case .at(let time): modified = time
    case nil: break
    }
    switch changes.accessed {
    case .now: accessed = now
    case .at(let time): accessed = time
    case nil: break
    }
    changed = now
  }

  /// A name in a directory was made or removed.
  mutating func wasTouched(at now: Timestamp) { (modified, changed) = (now, now) }

  /// A write takes the rights away that a program would get by being set-user-id.
  mutating func wasWritten() {
    // From now on the content's time is the later one.
    changed = nil
    // Source: inode(7), "set-group-ID bit": without the group's right to execute it means a lock.
    guard let before = permissions else { return }
    permissions = before & ~(before & 0o010 != 0 ? 0o6000 : 0o4000)
  }
}

extension FileAttributes {
  /// The attributes with what is shown since.
  func showing(_ facts: ShownFacts?) -> FileAttributes {
    guard let facts else { return self }
    var attributes = self
    attributes.permissions = facts.permissions ?? permissions
    attributes.userID = facts.userID ?? userID
    attributes.groupID = facts.groupID ?? groupID
    attributes.modified = facts.modified ?? modified
    attributes.accessed = facts.accessed ?? accessed
    attributes.changed = facts.changed ?? changed
    return attributes
  }
}
