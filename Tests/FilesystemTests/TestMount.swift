import Caching
import Core
import Filesystem
import Glibc
import Simulation
import Support
import Testing

/// A mounted bucket on simulated store, cache and clock, with the calls that the kernel would make.
struct TestMount {
  let clock: SimulatedClock
  let store: SimulatedStore
  let cache: SimulatedPartCache
  let bucket: MountedBucket
  let errors: ErrorRing
  /// Where what is written is kept; nil in a mount that only reads.
  let directory: TestDirectory?

  init(
    options: FilesystemOptions = FilesystemOptions(),
    behaviour: SimulatedStore.Behaviour = .init(),
    faults: FaultPlan = FaultPlan(),
    clock: SimulatedClock = SimulatedClock(),
    store: SimulatedStore? = nil,
    front: (any ObjectStore)? = nil,
    writesIn directory: TestDirectory? = nil,
    memory: MemoryBudget = MemoryBudget(limit: .max),
    knownFacts: [RecordedFacts] = [],
    recordFacts: (@Sendable (RecordedFacts) -> Void)? = nil,
    hasWriter: @escaping @Sendable (UInt64, Int32) -> Bool = { _, _ in false }
  ) throws {
    self.clock = clock
    let store = store ?? SimulatedStore(time: clock, faults: faults, behaviour: behaviour)
    self.store = store
    cache = SimulatedPartCache(store: store, time: clock)
    errors = ErrorRing()
    self.directory = directory
    bucket = MountedBucket(
      store: front ?? store,
      cache: cache,
      options: options,
      digest: .sha256,
      time: clock,
      timers: testTimers,
      memory: memory,
      errors: errors,
      log: Log(
        level: .error,
        target: .descriptor(try FileDescriptor.open("/dev/null", .readWrite))
      ),
      knownFacts: knownFacts,
      recordFacts: recordFacts,
      hasWriter: hasWriter,
      makeDrafts: try directory.map { try Self.draftMaker(front ?? store, in: $0, options) }
    )
  }

  @discardableResult
  func place(_ key: String, _ text: String = "x") -> ObjectVersion {
    store.place(ObjectKey(key), .text(text))
  }

  func startLookup(_ name: String, in parent: NodeID = .root) -> Asked<EntryAnswer> {
    let asked = Asked<EntryAnswer>()
    bucket.lookup(FileName(name), in: parent, reply: asked.reply())
    return asked
  }

  func lookup(_ name: String, in parent: NodeID = .root) async throws -> EntryAnswer {
    try await startLookup(name, in: parent).answer()
  }

  /// Walks a path of names; each step counts a lookup.
  func node(_ path: String) async throws -> NodeID {
    var node = NodeID.root
    for name in path.split(separator: "/") {
      node = try #require(try await lookup(String(name), in: node).node, "no \(path)")
    }
    return node
  }

  func attributes(_ node: NodeID) async throws -> FileAttributes {
    let asked = Asked<AttributesAnswer>()
    bucket.getAttributes(of: node, handle: nil, reply: asked.reply())
    return try await asked.answer().attributes
  }

  func open(_ node: NodeID) async throws -> HandleID {
    try await openAnswer(node).handle
  }

  func openAnswer(_ node: NodeID) async throws -> OpenAnswer {
    let asked = Asked<OpenAnswer>()
    bucket.open(node, mode: .reading, reply: asked.reply())
    return try await asked.answer()
  }

  func startRead(_ handle: HandleID, _ range: ByteRange) -> Asked<DataAnswer> {
    let asked = Asked<DataAnswer>()
    bucket.read(handle, range: range, reply: asked.reply { $0.loaded })
    return asked
  }

  func read(_ handle: HandleID, _ range: ByteRange) async throws -> [UInt8] {
    try await startRead(handle, range).answer().loadedBytes
  }

  func release(_ handle: HandleID) async throws {
    let asked = Asked<EmptyAnswer>()
    bucket.release(handle, reply: asked.reply())
    _ = try await asked.answer()
  }

  func text(_ node: NodeID) async throws -> String {
    String(decoding: try await bytes(node), as: UTF8.self)
  }

  /// All of a file.
  func bytes(_ node: NodeID) async throws -> [UInt8] {
    let handle = try await open(node)
    defer { bucket.release(handle, reply: Asked<EmptyAnswer>().reply()) }
    return try await read(handle, ByteRange(0, 1 << 20))
  }

  func openDirectory(_ node: NodeID) async throws -> HandleID {
    let asked = Asked<OpenAnswer>()
    bucket.openDirectory(node, reply: asked.reply())
    return try await asked.answer().handle
  }

  func startReadDirectory(
    _ handle: HandleID,
    offset: Int = 0,
    withAttributes: Bool = false
  ) -> Asked<DirectoryAnswer> {
    let asked = Asked<DirectoryAnswer>()
    bucket.readDirectory(
      handle,
      offset: offset,
      withAttributes: withAttributes,
      reply: asked.reply()
    )
    return asked
  }

  /// Reads an open directory from a position to its end, a few entries at a time.
  func entries(
    _ handle: HandleID,
    from start: Int = 0,
    perAnswer: Int = 7
  ) async throws -> [DirectoryEntry] {
    var entries: [DirectoryEntry] = []
    var offset = start
    while true {
      var source = try await startReadDirectory(handle, offset: offset).answer().source
      var count = 0
      while count < perAnswer, let entry = source.peek() {
        _ = source.take(withAttributes: false)
        entries.append(entry)
        offset = entry.nextOffset
        count += 1
      }
      if count == 0 { return entries }
    }
  }

  /// The names in a directory, sorted, without `.` and `..`.
  func names(_ node: NodeID = .root) async throws -> [String] {
    let handle = try await openDirectory(node)
    defer { bucket.releaseDirectory(handle, reply: Asked<EmptyAnswer>().reply()) }
    return try await entries(handle).map(\.name.description).filter { $0 != "." && $0 != ".." }
      .sorted()
  }

  func value(_ name: String, of node: NodeID) async throws -> String {
    let asked = Asked<AttributeValueAnswer>()
    bucket.extendedAttribute(name, of: node, reply: asked.reply())
    return String(decoding: try await asked.answer().bytes, as: UTF8.self)
  }
}

/// The name of a component that is too long to be one.
func longName(_ component: String, isShadowed: Bool = false) -> String {
  let child = NameCodec.Child(component: component.utf8, isShadowedObject: isShadowed)
  return NameCodec.name(of: child, .sha256).description
}

extension DataAnswer {
  /// The same with the bytes read from the file, which may be closed later.
  fileprivate var loaded: DataAnswer {
    guard case .file(let descriptor, let range) = self else { return self }
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, range.count, off_t(range.lowerBound)))
    }
    return .bytes(bytes)
  }

  fileprivate var loadedBytes: [UInt8] {
    if case .bytes(let bytes) = self { return bytes }
    return []
  }
}

/// Expects a failure with this code.
func expectFailure(
  _ code: FileError.Code,
  _ body: () async throws -> Void,
  sourceLocation: SourceLocation = #_sourceLocation
) async {
  do {
    try await body()
    Issue.record("it succeeded", sourceLocation: sourceLocation)
  } catch let error as FileError {
    #expect(error.code == code, "\(error.message)", sourceLocation: sourceLocation)
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
  }
}
