import Caching
import Core
import Filesystem
import Glibc
import ObjectFiles
import Simulation
import Support
import Testing
import Transfer

extension TestMount {
  /// Makes what is written to, in a directory of the test's.
  static func draftMaker(
    _ store: any ObjectStore,
    in directory: TestDirectory,
    _ options: FilesystemOptions
  ) throws -> (any DraftObserver, ObjectFile.Environment) -> Drafts {
    let log = Log(
      level: .error,
      target: .descriptor(try FileDescriptor.open("/dev/null", .readWrite))
    )
    let staging = try StagingArea(at: directory.file("staged"), log: log)
    var settings = Drafts.Settings()
    settings.metadataStyle = options.metadataStyle
    return { [settings] observer, files in
      Drafts(
        Drafts.Environment(
          store: store,
          storeName: store.name,
          staging: staging,
          transfers: TransferEnvironment(
            scheduler: FetchScheduler(parallel: 4, budget: MemoryBudget(limit: 64 << 20)),
            timers: testTimers,
            time: files.time,
            log: log
          ),
          files: files,
          observer: observer,
          settings: settings
        )
      )
    }
  }

  private static let maker = NewNode(permissions: 0o644, userID: 0, groupID: 0)

  func create(
    _ name: String,
    in parent: NodeID = .root,
    mode: OpenMode = .writing()
  ) async throws -> CreateAnswer {
    let asked = Asked<CreateAnswer>()
    bucket.create(FileName(name), in: parent, like: Self.maker, mode: mode, reply: asked.reply())
    return try await asked.answer()
  }

  func open(_ node: NodeID, mode: OpenMode) async throws -> HandleID {
    let asked = Asked<OpenAnswer>()
    bucket.open(node, mode: mode, reply: asked.reply())
    return try await asked.answer().handle
  }

  func write(_ handle: HandleID, _ bytes: [UInt8], at offset: Int?) async throws {
    let asked = Asked<WrittenAnswer>()
    bytes.withUnsafeBytes { bucket.write(handle, $0, at: offset, reply: asked.reply()) }
    #expect(try await asked.answer().count == bytes.count)
  }

  func flush(_ handle: HandleID, by process: Int32 = 0) async throws {
    let asked = Asked<EmptyAnswer>()
    bucket.flush(handle, by: process, reply: asked.reply())
    _ = try await asked.answer()
  }

  func synchronize(_ handle: HandleID) async throws {
    let asked = Asked<EmptyAnswer>()
    bucket.synchronize(handle, reply: asked.reply())
    _ = try await asked.answer()
  }

  /// What close(2) of the only descriptor asks for.
  func close(_ handle: HandleID) async throws {
    try await flush(handle)
    try await release(handle)
  }

  func resize(_ node: NodeID, to size: Int, handle: HandleID? = nil) async throws {
    var changes = AttributeChanges()
    changes.size = size
    let asked = Asked<AttributesAnswer>()
    bucket.setAttributes(of: node, handle: handle, to: changes, reply: asked.reply())
    #expect(try await asked.answer().attributes.size == size)
  }

  /// What chmod(2), chown(2) and utimensat(2) ask for.
  @discardableResult
  func set(
    _ node: NodeID,
    permissions: UInt16? = nil,
    userID: UInt32? = nil,
    modified: Timestamp? = nil
  ) async throws -> FileAttributes {
    try await set(node) { changes in
      changes.permissions = permissions
      changes.userID = userID
      changes.modified = modified.map { .at($0) }
    }
  }

  @discardableResult
  func set(
    _ node: NodeID,
    _ change: (inout AttributeChanges) -> Void
  ) async throws -> FileAttributes {
    var changes = AttributeChanges()
    change(&changes)
    let asked = Asked<AttributesAnswer>()
    bucket.setAttributes(of: node, handle: nil, to: changes, reply: asked.reply())
    return try await asked.answer().attributes
  }

  func makeDirectory(_ name: String, in parent: NodeID = .root) async throws -> NodeID {
    let asked = Asked<EntryAnswer>()
    bucket.makeDirectory(FileName(name), in: parent, like: Self.maker, reply: asked.reply())
    return try #require(try await asked.answer().node)
  }

  func remove(_ name: String, in parent: NodeID = .root) async throws {
    let asked = Asked<EmptyAnswer>()
    bucket.remove(FileName(name), in: parent, reply: asked.reply())
    _ = try await asked.answer()
  }

  func removeDirectory(_ name: String, in parent: NodeID = .root) async throws {
    let asked = Asked<EmptyAnswer>()
    bucket.removeDirectory(FileName(name), in: parent, reply: asked.reply())
    _ = try await asked.answer()
  }

  func rename(
    _ name: String,
    in parent: NodeID = .root,
    to newName: String,
    in newParent: NodeID = .root,
    replaces: Bool = true
  ) async throws {
    let asked = Asked<EmptyAnswer>()
    bucket.rename(
      FileName(name),
      in: parent,
      to: FileName(newName),
      in: newParent,
      replaces: replaces,
      reply: asked.reply()
    )
    _ = try await asked.answer()
  }

  @discardableResult
  func makeLink(_ name: String, to target: String, in parent: NodeID = .root) async throws -> NodeID
  {
    let asked = Asked<EntryAnswer>()
    bucket.makeLink(
      FileName(name),
      in: parent,
      to: Array(target.utf8),
      like: Self.maker,
      reply: asked.reply()
    )
    return try #require(try await asked.answer().node)
  }

  func linkTarget(_ node: NodeID) async throws -> String {
    let asked = Asked<LinkTargetAnswer>()
    bucket.linkTarget(of: node, reply: asked.reply())
    return String(decoding: try await asked.answer().target, as: UTF8.self)
  }

  /// The entries of a directory with their attributes, as `ls -l` asks for them.
  func attributesByName(_ node: NodeID = .root) async throws -> [String: FileAttributes] {
    let handle = try await openDirectory(node)
    defer { bucket.releaseDirectory(handle, reply: Asked<EmptyAnswer>().reply()) }
    var found: [String: FileAttributes] = [:]
    var offset = 0
    while true {
      let asked = startReadDirectory(handle, offset: offset, withAttributes: true)
      var source = try await asked.answer().source
      var count = 0
      while let entry = source.peek() {
        if let answer = source.take(withAttributes: true) {
          found[entry.name.description] = answer.attributes
        }
        offset = entry.nextOffset
        count += 1
      }
      if count == 0 { return found }
    }
  }

  /// The user metadata that the store has of an object.
  func stored(_ key: String) async throws -> [String: String]? {
    try await store.head(
      ObjectKey(key),
      versionID: nil,
      ifMatch: nil,
      context: RequestContext(deadline: .distantFuture)
    ).userMetadata
  }

  /// Makes a file of a text.
  func make(_ name: String, _ text: String, in parent: NodeID = .root) async throws {
    let handle = try await create(name, in: parent).open.handle
    try await write(handle, Array(text.utf8), at: 0)
    try await close(handle)
  }
}
