import Core
import Support

/// A file system in memory whose behaviour is in its names.
///
/// Lookups of `slow-…` are answered after 200 ms, of `drop-…` never, of `fail-CODE` with that code.
/// Reads of `parked` wait until the test answers them.
final class MemoryFiles: FileOperations {
  enum Content {
    case bytes([UInt8])
    case file(FileDescriptor)
    case parked
  }

  struct File {
    var attributes: FileAttributes
    var content: Content
    var isDirect: Bool
    /// The kernel is offered to read the file of the content by itself.
    var isWhole = false

    var wholeFile: Int32? {
      guard isWhole, case .file(let descriptor) = content else { return nil }
      return descriptor.number
    }
  }

  struct State {
    var names: [NodeID: [(name: String, node: NodeID)]] = [.root: [], MemoryFiles.many: []]
    var files: [NodeID: File] = [:]
    var lastNode: UInt64 = 2
    var handles: [HandleID: NodeID] = [:]
    var lastHandle: UInt64 = 0
    var lookups: [NodeID: Int] = [:]
    var parked: [ParkedReply<DataAnswer>] = []
    var interruptCount = 0
    var slowCount = 0
    var slowCountMax = 0
    var directReadSizes: [Int] = []
    var changes: [String] = []
  }

  /// A directory for many files.
  static let many = NodeID(2)

  let state = Lock(State())
  private let timers = Timers()

  init() {
    state.withLock { $0.names[.root] = [("many", Self.many)] }
  }

  // What a test sets up and looks at.

  func add(_ name: String, _ content: Content, size: Int, in parent: NodeID, isDirect: Bool) {
    state.withLock { state in
      state.lastNode += 1
      let node = NodeID(state.lastNode)
      var attributes = Self.attributes(node, .file)
      attributes.size = size
      state.files[node] = File(attributes: attributes, content: content, isDirect: isDirect)
      state.names[parent, default: []].append((name, node))
    }
  }

  func add(_ name: String, _ bytes: [UInt8], in parent: NodeID = .root, isDirect: Bool = false) {
    add(name, .bytes(bytes), size: bytes.count, in: parent, isDirect: isDirect)
  }

  func addParked() {
    add("parked", .parked, size: 1 << 20, in: .root, isDirect: true)
  }

  /// Has the opens that come offer each file's own content, or no longer.
  func offerWholeFiles(_ isWhole: Bool = true) {
    state.withLock { state in
      for node in state.files.keys { state.files[node]?.isWhole = isWhole }
    }
  }

  var parkedCount: Int { state.withLock { $0.parked.count } }
  var interruptCount: Int { state.withLock { $0.interruptCount } }
  var slowCountMax: Int { state.withLock { $0.slowCountMax } }
  /// Lookups that the kernel holds, apart from the root's.
  var lookupCount: Int { state.withLock { $0.lookups.values.reduce(0, +) } }
  var openCount: Int { state.withLock { $0.handles.count } }
  var readSizes: [Int] { state.withLock { $0.directReadSizes } }

  func takeParked() -> [ParkedReply<DataAnswer>] {
    state.withLock { state in
      defer { state.parked = [] }
      return state.parked
    }
  }

  // FileOperations.

  func lookup(_ name: FileName, in parent: NodeID, reply: consuming Reply<EntryAnswer>) {
    let text = String(decoding: name.bytes, as: UTF8.self)
    if text.hasPrefix("drop-") { return }
    if text.hasPrefix("fail-") {
      let code = FileError.Code(rawValue: String(text.dropFirst(5))) ?? .invalid
      reply.fail(FileError(code, "as asked"))
      return
    }
    if text.hasPrefix("slow-") {
      answerSlowly(ParkedReply(reply))
      return
    }
    guard let answer = state.withLock({ Self.find(text, in: parent, &$0) }) else {
      reply.succeed(EntryAnswer(absentFor: .zero))
      return
    }
    if let node = answer.node, !reply.succeed(answer) { forget(node, count: 1) }
  }

  func forget(_ node: NodeID, count: UInt64) {
    state.withLock { $0.lookups[node, default: 0] -= Int(count) }
  }

  func getAttributes(
    of node: NodeID,
    handle: HandleID?,
    reply: consuming Reply<AttributesAnswer>
  ) {
    let attributes = state.withLock { Self.attributes(of: node, $0) }
    reply.succeed(AttributesAnswer(attributes: attributes, timeout: .seconds(1)))
  }

  func detach(_ node: NodeID) { note("detach") }

  func open(_ node: NodeID, mode: OpenMode, reply: consuming Reply<OpenAnswer>) {
    note("open\(mode.writes ? " to write" : "")\(mode.truncates ? ", emptied" : "")")
    let answer = state.withLock { state in
      let file = state.files[node]
      let isDirect = file?.isDirect ?? false
      return OpenAnswer(
        handle: Self.open(node, &state),
        keepsPageCache: !isDirect,
        isDirect: isDirect,
        wholeFile: file?.wholeFile
      )
    }
    if !reply.succeed(answer) { state.withLock { $0.handles[answer.handle] = nil } }
  }

  func read(_ handle: HandleID, range: ByteRange, reply: consuming Reply<DataAnswer>) {
    let file = state.withLock { state -> File? in
      state.directReadSizes.append(range.count)
      return state.handles[handle].flatMap { state.files[$0] }
    }
    guard let file else {
      reply.fail(FileError(.badHandle, "no such handle"))
      return
    }
    let available = range.clamped(to: ByteRange(0, file.attributes.size))
    switch file.content {
    case .bytes(let bytes):
      reply.succeed(.bytes(Array(bytes[available.lowerBound..<available.upperBound])))
    case .file(let descriptor):
      reply.succeed(.file(descriptor: descriptor.number, range: available))
    case .parked:
      let parked = ParkedReply(reply) { [state] in state.withLock { $0.interruptCount += 1 } }
      state.withLock { $0.parked.append(parked) }
    }
  }

  func release(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>) {
    state.withLock { $0.handles[handle] = nil }
    reply.succeed(EmptyAnswer())
  }

  func openDirectory(_ node: NodeID, reply: consuming Reply<OpenAnswer>) {
    reply.succeed(OpenAnswer(handle: state.withLock { Self.open(node, &$0) }))
  }

  func readDirectory(
    _ handle: HandleID,
    offset: Int,
    withAttributes: Bool,
    reply: consuming Reply<DirectoryAnswer>
  ) {
    let names = state.withLock { state in
      state.handles[handle].flatMap { state.names[$0] } ?? []
    }
    let all = [(".", NodeID.root), ("..", NodeID.root)] + names.map { ($0.name, $0.node) }
    reply.succeed(DirectoryAnswer(source: Listing(files: self, names: all, position: offset)))
  }

  func releaseDirectory(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>) {
    release(handle, reply: reply)
  }

  func statistics(reply: consuming Reply<StatisticsAnswer>) {
    reply.succeed(
      StatisticsAnswer(
        blockSize: 4096,
        blockCount: 1 << 40,
        freeBlockCount: 1 << 39,
        fileCount: 7,
        freeFileCount: 5,
        nameLengthMax: 255
      )
    )
  }

  func extendedAttribute(
    _ name: String,
    of node: NodeID,
    reply: consuming Reply<AttributeValueAnswer>
  ) {
    guard name == "user.long" else {
      reply.fail(FileError(.noAttribute, "no attribute \(name)"))
      return
    }
    reply.succeed(AttributeValueAnswer([UInt8](repeating: 7, count: 1000)))
  }

  func extendedAttributeNames(of node: NodeID, reply: consuming Reply<AttributeValueAnswer>) {
    reply.succeed(AttributeValueAnswer(Array("user.long\0".utf8)))
  }

  // Inside.

  private func answerSlowly(_ reply: ParkedReply<EntryAnswer>) {
    state.withLock { state in
      state.slowCount += 1
      state.slowCountMax = max(state.slowCountMax, state.slowCount)
    }
    _ = timers.schedule(at: SystemClock().now + .milliseconds(200)) { [state] in
      state.withLock { $0.slowCount -= 1 }
      reply.succeed(EntryAnswer(absentFor: .zero))
    }
  }

  fileprivate func count(_ node: NodeID) -> EntryAnswer {
    state.withLock { Self.count(node, &$0) }
  }

  private static func find(_ name: String, in parent: NodeID, _ state: inout State) -> EntryAnswer?
  {
    guard let node = state.names[parent]?.first(where: { $0.name == name })?.node else {
      return nil
    }
    return count(node, &state)
  }

  static func count(_ node: NodeID, _ state: inout State) -> EntryAnswer {
    state.lookups[node, default: 0] += 1
    return EntryAnswer(
      node: node,
      attributes: attributes(of: node, state),
      entryTimeout: .seconds(60),
      attributeTimeout: .seconds(60)
    )
  }

  static func open(_ node: NodeID, _ state: inout State) -> HandleID {
    state.lastHandle += 1
    let handle = HandleID(state.lastHandle)
    state.handles[handle] = node
    return handle
  }

  static func attributes(of node: NodeID, _ state: State) -> FileAttributes {
    state.files[node]?.attributes ?? attributes(node, .directory)
  }

  static func attributes(_ node: NodeID, _ kind: FileKind) -> FileAttributes {
    FileAttributes(
      inodeNumber: node.rawValue + 1000,
      kind: kind,
      size: 0,
      permissions: kind == .file ? 0o644 : 0o755,
      userID: 1234,
      groupID: 4321,
      modified: Timestamp(nanoseconds: 1_700_000_000_123_456_789),
      linkCount: 1
    )
  }
}

/// The entries of a directory from a position on.
private struct Listing: DirectorySource {
  let files: MemoryFiles
  let names: [(name: String, node: NodeID)]
  var position: Int

  init(files: MemoryFiles, names: [(String, NodeID)], position: Int) {
    self.files = files
    self.names = names.map { (name: $0.0, node: $0.1) }
    self.position = position
  }

  func peek() -> DirectoryEntry? {
    guard position < names.count else { return nil }
    return DirectoryEntry(
      name: FileName(names[position].name),
      inodeNumber: names[position].node.rawValue + 1000,
      kind: names[position].node.rawValue <= 2 ? .directory : .file,
      nextOffset: position + 1
    )
  }

  mutating func take(withAttributes: Bool) -> EntryAnswer? {
    let entry = names[position]
    position += 1
    guard withAttributes, entry.name != ".", entry.name != ".." else { return nil }
    return files.count(entry.node)
  }
}
