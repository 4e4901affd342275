import Core
import Filesystem
import Simulation
import Support
import Testing

/// Random operations of several programs on files, whose answers are compared with those of files in
/// memory; in the end the store must have what memory has.
@Suite struct WritingModelTests {
  @Test(arguments: Seeds.usually(150))
  func filesBehaveAsFilesInMemoryDo(seed: UInt64) async throws {
    var model = try WritingModel(seed: seed)
    do {
      for _ in 0..<80 { try await model.step() }
      try await model.closeAll()
      try model.compareWithStore()
    } catch {
      let program = Seeds.program(seed, of: "WritingModelTests", model.operations)
      Issue.record("seed \(seed): \(error)\n\(program)")
    }
  }
}

private struct WritingModel {
  /// A file, which lives on without a name as long as it is open.
  private final class File {
    var bytes: [UInt8] = []
  }

  private struct Open {
    let handle: HandleID
    let file: File
    let writes: Bool
  }

  private struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  private static let names = ["a", "b", "c"]
  private static let directories = ["", "d/", "e/"]

  private var generator: Seeded
  private let mount: TestMount
  private var files: [String: File] = [:]
  private var directories: Set<String> = [""]
  private var open: [Open] = []
  private var lookups: [NodeID: UInt64] = [:]
  private(set) var operations: [String] = []

  init(seed: UInt64) throws {
    generator = Seeded(seed)
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = [1, 2, 1000][Int(seed % 3)]
    behaviour.renamesNatively = seed % 5 == 0
    mount = try TestMount(behaviour: behaviour, writesIn: try TestDirectory())
  }

  mutating func step() async throws {
    switch Int.random(in: 0..<30, using: &generator) {
    case 0..<5: try await openSome()
    case 5..<10: try await write()
    case 10..<14: try await read()
    case 14: try await truncate()
    case 15..<18: try await closeSome()
    case 18: try await synchronizeSome()
    case 19..<21: try await removeSome()
    case 21..<23: try await renameSome()
    case 23..<25: try await changeDirectory()
    case 25..<27: try await list()
    case 27: try await lookAtAll()
    case 28: mount.clock.advance(by: .seconds(Int.random(in: 0..<12, using: &generator)))
    default:
      if Int.random(in: 0..<3, using: &generator) == 0 { mount.bucket.invalidateAll() }
    }
  }

  // What programs do.

  private mutating func openSome() async throws {
    let (directory, name) = place()
    guard let parent = try await enter(directory) else { return }
    let path = directory + name
    let writes = Bool.random(using: &generator)
    let truncates = writes && Int.random(in: 0..<3, using: &generator) == 0
    let mode = writes ? OpenMode.writing(truncates: truncates) : .reading
    let node = try await lookUp(name, in: parent, path)
    if let node, let file = files[path] {
      note("open \(path)\(writes ? " to write" : "")\(truncates ? ", emptied" : "")")
      let handle = try await mount.open(node, mode: mode)
      if truncates { file.bytes = [] }
      open.append(Open(handle: handle, file: file, writes: writes))
    } else if writes {
      note("create \(path)")
      let answer = try await mount.create(name, in: parent, mode: mode)
      count(answer.entry.node)
      let file = File()
      files[path] = file
      open.append(Open(handle: answer.open.handle, file: file, writes: true))
    }
  }

  private mutating func write() async throws {
    guard let some = open.filter(\.writes).randomElement(using: &generator) else { return }
    let byte = UInt8.random(in: 1...255, using: &generator)
    let bytes = [UInt8](repeating: byte, count: Int.random(in: 1..<40, using: &generator))
    let appends = Int.random(in: 0..<3, using: &generator) == 0
    let offset = appends ? some.file.bytes.count : Int.random(in: 0..<60, using: &generator)
    note("write \(bytes.count) at \(appends ? "the end" : "\(offset)") by \(some.handle.rawValue)")
    try await mount.write(some.handle, bytes, at: appends ? nil : offset)
    let missing = offset + bytes.count - some.file.bytes.count
    if missing > 0 { some.file.bytes += [UInt8](repeating: 0, count: missing) }
    some.file.bytes.replaceSubrange(offset..<offset + bytes.count, with: bytes)
  }

  private mutating func read() async throws {
    guard let some = open.randomElement(using: &generator) else { return }
    let start = Int.random(in: 0..<80, using: &generator)
    let range = ByteRange(start, start + Int.random(in: 1..<80, using: &generator))
    note("read \(range) by \(some.handle.rawValue)")
    let bytes = try await mount.read(some.handle, range)
    let wanted = range.clamped(to: ByteRange(0, some.file.bytes.count))
    let expected =
      wanted.isEmpty ? [] : Array(some.file.bytes[wanted.lowerBound..<wanted.upperBound])
    guard bytes == expected else { throw Wrong(description: "read \(bytes) for \(expected)") }
  }

  private mutating func truncate() async throws {
    guard let (path, node, file) = try await someFile() else { return }
    let size = Int.random(in: 0..<60, using: &generator)
    note("truncate \(path) to \(size)")
    try await mount.resize(node, to: size)
    let missing = size - file.bytes.count
    if missing > 0 { file.bytes += [UInt8](repeating: 0, count: missing) }
    file.bytes.removeLast(max(0, -missing))
  }

  private mutating func closeSome() async throws {
    guard let index = open.indices.randomElement(using: &generator) else { return }
    let some = open.remove(at: index)
    note("close \(some.handle.rawValue)")
    try await mount.close(some.handle)
  }

  private mutating func synchronizeSome() async throws {
    guard let some = open.filter(\.writes).randomElement(using: &generator) else { return }
    note("fsync \(some.handle.rawValue)")
    try await mount.synchronize(some.handle)
    guard let path = files.first(where: { $0.value === some.file })?.key else { return }
    try compare(path, some.file)
  }

  private mutating func removeSome() async throws {
    guard let (path, _, _) = try await someFile() else { return }
    let (directory, name) = Self.split(path)
    guard let parent = try await enter(directory) else { return }
    note("unlink \(path)")
    try await mount.remove(name, in: parent)
    files[path] = nil
  }

  private mutating func renameSome() async throws {
    guard let (path, _, file) = try await someFile() else { return }
    let (directory, name) = Self.split(path)
    let (newDirectory, newName) = place()
    guard let parent = try await enter(directory), let newParent = try await enter(newDirectory)
    else { return }
    let newPath = newDirectory + newName
    // The kernel knows by itself that nothing is to be done.
    guard newPath != path else { return }
    _ = try await lookUp(newName, in: newParent, newPath)
    let replaces = Bool.random(using: &generator)
    note("rename \(path) to \(newPath)\(replaces ? "" : ", keeping")")
    do {
      try await mount.rename(name, in: parent, to: newName, in: newParent, replaces: replaces)
      guard replaces || files[newPath] == nil else { throw Wrong(description: "it was replaced") }
      files[path] = nil
      files[newPath] = file
    } catch let error as FileError {
      guard error.code == .exists, !replaces, files[newPath] != nil else { throw error }
    }
  }

  private mutating func changeDirectory() async throws {
    let directory = Self.directories.dropFirst().randomElement(using: &generator) ?? ""
    let name = String(directory.dropLast())
    let answer = try await mount.lookup(name)
    count(answer.node)
    guard directories.contains(directory) else {
      note("mkdir \(name)")
      guard answer.node == nil else { throw Wrong(description: "\(name) is there") }
      count(try await mount.makeDirectory(name))
      directories.insert(directory)
      return
    }
    note("rmdir \(name)")
    let isEmpty = !files.keys.contains { $0.hasPrefix(directory) }
    do {
      try await mount.removeDirectory(name)
      guard isEmpty else { throw Wrong(description: "it was not empty") }
      directories.remove(directory)
    } catch let error as FileError {
      guard error.code == .notEmpty, !isEmpty else { throw error }
    }
  }

  private mutating func list() async throws {
    let directory = Self.directories.randomElement(using: &generator) ?? ""
    guard let node = try await enter(directory) else { return }
    note("list \(directory)")
    let names = try await mount.names(node)
    let inside = (Array(files.keys) + directories.map { String($0.dropLast()) })
      .filter { $0.hasPrefix(directory) && $0 != directory.dropLast() }
      .map { String($0.dropFirst(directory.count)) }
      .filter { !$0.isEmpty && !$0.contains("/") }
    guard names == inside.sorted() else {
      throw Wrong(description: "listed \(names) for \(inside.sorted())")
    }
  }

  private mutating func lookAtAll() async throws {
    note("look at all")
    for (path, file) in files {
      let (directory, name) = Self.split(path)
      guard let parent = try await enter(directory),
        let node = try await lookUp(name, in: parent, path)
      else { throw Wrong(description: "\(path) is missing") }
      let size = try await mount.attributes(node).size
      guard size == file.bytes.count else {
        throw Wrong(description: "\(path) has \(size) bytes for \(file.bytes.count)")
      }
    }
  }

  // In the end.

  mutating func closeAll() async throws {
    note("close all")
    for some in open { try await mount.close(some.handle) }
    open = []
    let left = await mount.bucket.finish()
    guard left.isEmpty else { throw Wrong(description: "\(left) is left") }
    for (node, count) in lookups { mount.bucket.forget(node, count: count) }
    guard mount.bucket.snapshot.nodeCount == 1, mount.bucket.snapshot.handleCount == 0 else {
      throw Wrong(description: "\(mount.bucket.snapshot) is left")
    }
    guard mount.directory?.names("staged") == [] else {
      throw Wrong(description: "drafts are left on the disk")
    }
  }

  func compareWithStore() throws {
    for (path, file) in files { try compare(path, file) }
    for directory in Self.directories {
      for name in Self.names where files[directory + name] == nil {
        guard mount.store.bytes(at: ObjectKey(directory + name)) == nil else {
          throw Wrong(description: "the store has \(directory + name)")
        }
      }
    }
  }

  private func compare(_ path: String, _ file: File) throws {
    let stored = mount.store.bytes(at: ObjectKey(path))
    guard stored == file.bytes else {
      throw Wrong(
        description: "the store has \(stored.map { "\($0)" } ?? "nothing") at \(path)"
          + " for \(file.bytes)"
      )
    }
  }

  // Names.

  private mutating func note(_ operation: String) { operations.append(operation) }

  private mutating func place() -> (directory: String, name: String) {
    (
      Self.directories.randomElement(using: &generator) ?? "",
      Self.names.randomElement(using: &generator) ?? "a"
    )
  }

  private static func split(_ path: String) -> (directory: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return ("", path) }
    return (String(path[...slash]), String(path[path.index(after: slash)...]))
  }

  private mutating func someFile() async throws -> (path: String, node: NodeID, file: File)? {
    guard let (path, file) = files.sorted(by: { $0.key < $1.key }).randomElement(using: &generator)
    else { return nil }
    let (directory, name) = Self.split(path)
    guard let parent = try await enter(directory),
      let node = try await lookUp(name, in: parent, path)
    else { throw Wrong(description: "\(path) is missing") }
    return (path, node, file)
  }

  private mutating func count(_ node: NodeID?) {
    if let node { lookups[node, default: 0] += 1 }
  }

  private mutating func lookUp(
    _ name: String,
    in parent: NodeID,
    _ path: String
  ) async throws -> NodeID? {
    let answer = try await mount.lookup(name, in: parent)
    count(answer.node)
    guard (answer.node != nil) == (files[path] != nil) else {
      throw Wrong(description: "\(path) is \(answer.node == nil ? "missing" : "there")")
    }
    return answer.node
  }

  private mutating func enter(_ directory: String) async throws -> NodeID? {
    guard !directory.isEmpty else { return .root }
    let answer = try await mount.lookup(String(directory.dropLast()))
    count(answer.node)
    guard (answer.node != nil) == directories.contains(directory) else {
      throw Wrong(description: "\(directory) is \(answer.node == nil ? "missing" : "there")")
    }
    return answer.node
  }
}
