import Core
import Support

/// What changes something: it is done in memory as far as it must be seen again, and all of it is noted.
///
/// Closing what is called `unstorable` fails.
extension MemoryFiles {
  /// What was asked for, in order.
  var changes: [String] { state.withLock { $0.changes } }

  func note(_ change: String) { state.withLock { $0.changes.append(change) } }

  /// Forgets what was asked for.
  func clearChanges() { state.withLock { $0.changes = [] } }

  func create(
    _ name: FileName,
    in parent: NodeID,
    like facts: NewNode,
    mode: OpenMode,
    reply: consuming Reply<CreateAnswer>
  ) {
    let mark = mode.isExclusive ? " exclusively" : ""
    note("create \(name)\(mark) \(octal(facts.permissions)) \(facts.userID):\(facts.groupID)")
    let entry = add(name, in: parent, .file)
    let open = state.withLock { OpenAnswer(handle: Self.open(entry.node ?? .root, &$0)) }
    reply.succeed(CreateAnswer(entry: entry, open: open))
  }

  func makeFile(
    _ name: FileName,
    in parent: NodeID,
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  ) {
    note("mknod \(name) \(octal(facts.permissions))")
    reply.succeed(add(name, in: parent, .file))
  }

  func makeDirectory(
    _ name: FileName,
    in parent: NodeID,
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  ) {
    note("mkdir \(name) \(octal(facts.permissions))")
    reply.succeed(add(name, in: parent, .directory))
  }

  func makeLink(
    _ name: FileName,
    in parent: NodeID,
    to target: [UInt8],
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  ) {
    note("symlink \(name) \(String(decoding: target, as: UTF8.self))")
    reply.succeed(add(name, in: parent, .symbolicLink))
  }

  func linkTarget(of node: NodeID, reply: consuming Reply<LinkTargetAnswer>) {
    reply.succeed(LinkTargetAnswer(Array("where/it/leads".utf8)))
  }

  func write(
    _ handle: HandleID,
    _ bytes: UnsafeRawBufferPointer,
    at offset: Int?,
    reply: consuming Reply<WrittenAnswer>
  ) {
    note("write \(bytes.count) at \(offset.map { "\($0)" } ?? "the end")")
    let count = bytes.count
    state.withLock { state in
      guard let node = state.handles[handle], case .bytes(var known)? = state.files[node]?.content
      else { return }
      let start = offset ?? known.count
      known += [UInt8](repeating: 0, count: max(0, start + count - known.count))
      known.replaceSubrange(start..<start + count, with: bytes)
      state.files[node]?.content = .bytes(known)
      state.files[node]?.attributes.size = known.count
    }
    reply.succeed(WrittenAnswer(count: count))
  }

  func copyRange(
    from source: HandleID,
    _ range: ByteRange,
    to target: HandleID,
    at offset: Int,
    reply: consuming Reply<WrittenAnswer>
  ) {
    note("copy \(name(of: source)) \(range) to \(name(of: target)) at \(offset)")
    let count = state.withLock { state -> Int in
      guard let from = state.handles[source], let to = state.handles[target],
        case .bytes(let bytes)? = state.files[from]?.content,
        case .bytes(var known)? = state.files[to]?.content
      else { return 0 }
      let copied = bytes.dropFirst(range.lowerBound).prefix(range.count)
      known += [UInt8](repeating: 0, count: max(0, offset + copied.count - known.count))
      known.replaceSubrange(offset..<offset + copied.count, with: copied)
      state.files[to]?.content = .bytes(known)
      state.files[to]?.attributes.size = known.count
      return copied.count
    }
    reply.succeed(WrittenAnswer(count: count))
  }

  func flush(_ handle: HandleID, by process: Int32, reply: consuming Reply<EmptyAnswer>) {
    let name = name(of: handle)
    note("flush \(name)")
    if name == "unstorable" {
      reply.fail(FileError(.noSpace, "as asked"))
    } else {
      reply.succeed(EmptyAnswer())
    }
  }

  func synchronize(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>) {
    note("fsync \(name(of: handle))")
    reply.succeed(EmptyAnswer())
  }

  func allocate(
    _ handle: HandleID,
    range: ByteRange,
    _ allocation: Allocation,
    reply: consuming Reply<EmptyAnswer>
  ) {
    note("fallocate \(range.lowerBound) to \(range.upperBound) \(allocation)")
    reply.succeed(EmptyAnswer())
  }

  func setAttributes(
    of node: NodeID,
    handle: HandleID?,
    to changes: AttributeChanges,
    reply: consuming Reply<AttributesAnswer>
  ) {
    var words = ["setattr"]
    if handle != nil { words.append("of an open file") }
    if let size = changes.size { words.append("size \(size)") }
    if let permissions = changes.permissions { words.append("mode \(octal(permissions))") }
    if let user = changes.userID { words.append("user \(user)") }
    if let group = changes.groupID { words.append("group \(group)") }
    switch changes.modified {
    case .now: words.append("time now")
    case .at(let time): words.append("time \(time.nanoseconds)")
    case nil: break
    }
    note(words.joined(separator: " "))
    let attributes = state.withLock { Self.attributes(of: node, $0) }
    reply.succeed(AttributesAnswer(attributes: attributes, timeout: .seconds(1)))
  }

  func setExtendedAttribute(
    _ name: String,
    of node: NodeID,
    to value: [UInt8],
    _ rule: AttributeRule,
    reply: consuming Reply<EmptyAnswer>
  ) {
    note("setxattr \(name) \(String(decoding: value, as: UTF8.self)) \(rule)")
    reply.succeed(EmptyAnswer())
  }

  func removeExtendedAttribute(
    _ name: String,
    of node: NodeID,
    reply: consuming Reply<EmptyAnswer>
  ) {
    note("removexattr \(name)")
    reply.succeed(EmptyAnswer())
  }

  func remove(_ name: FileName, in parent: NodeID, reply: consuming Reply<EmptyAnswer>) {
    note("unlink \(name)")
    reply.succeed(EmptyAnswer())
  }

  func removeDirectory(_ name: FileName, in parent: NodeID, reply: consuming Reply<EmptyAnswer>) {
    note("rmdir \(name)")
    reply.succeed(EmptyAnswer())
  }

  func rename(
    _ name: FileName,
    in parent: NodeID,
    to newName: FileName,
    in newParent: NodeID,
    replaces: Bool,
    reply: consuming Reply<EmptyAnswer>
  ) {
    note("rename \(name) \(newName)\(replaces ? "" : ", keeping")")
    reply.succeed(EmptyAnswer())
  }

  private func octal(_ permissions: UInt16) -> String { "0" + String(permissions, radix: 8) }

  private func name(of handle: HandleID) -> String {
    state.withLock { state in
      let node = state.handles[handle]
      return state.names.values.joined().first { $0.node == node }?.name ?? "?"
    }
  }

  private func add(_ name: FileName, in parent: NodeID, _ kind: FileKind) -> EntryAnswer {
    state.withLock { state in
      state.lastNode += 1
      let node = NodeID(state.lastNode)
      let attributes = Self.attributes(node, kind)
      state.files[node] = File(attributes: attributes, content: .bytes([]), isDirect: false)
      state.names[parent, default: []].append((name.description, node))
      return Self.count(node, &state)
    }
  }
}
