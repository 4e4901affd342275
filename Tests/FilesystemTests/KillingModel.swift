import Core
import Filesystem
import ObjectFiles
import Simulation
import Support
import Testing

/// A mount that dies and comes again, and what its files may be.
struct KillingModel {
  /// A file and what may be found of it after a death.
  // Safety: only the model's own task touches it.
  final class File: @unchecked Sendable {
    /// What it was since the last promise, the newest last.
    private var states: [[UInt8]] = [[]]
    /// What it was before.
    private var past: [[UInt8]] = []
    /// The store has it, or had.
    private(set) var isPromised = false
    /// The permissions that it may have, the newest last; nil is the mount's.
    private(set) var modes: [UInt16?] = [nil]
    /// Those that it had.
    private var pastModes: [UInt16?] = []
    /// It was given bytes of others, perhaps with their attributes.
    var hasOthersModes = false

    var bytes: [UInt8] { states.last ?? [] }

    func write(_ new: [UInt8], at offset: Int) {
      var bytes = bytes
      let missing = offset + new.count - bytes.count
      if missing > 0 { bytes += [UInt8](repeating: 0, count: missing) }
      bytes.replaceSubrange(offset..<offset + new.count, with: new)
      states.append(bytes)
    }

    /// The store has it as it is, or is given it whatever happens.
    func promise() {
      past += states
      states = [bytes]
      isPromised = true
    }

    /// It is given permissions, which is promised when that has returned.
    func setMode(_ mode: UInt16) { modes.append(mode) }

    func promiseMode() {
      pastModes += modes
      modes = modes.suffix(1)
    }

    /// Whether it may be found so; if it `isLost`, also as it was before the last promise.
    ///
    /// What was written since the last promise may be there in part, as on any disk.
    func mayBe(_ found: [UInt8], isLost: Bool) -> Bool {
      let possible = isLost ? past + states : states
      return possible.contains { $0.count == found.count }
        && found.indices.allSatisfy { index in
          possible.contains { $0.indices.contains(index) && $0[index] == found[index] }
        }
    }

    func mayHave(_ mode: UInt16?, isLost: Bool = false) -> Bool {
      hasOthersModes || modes.contains(mode) || (isLost && pastModes.contains(mode))
    }

    /// This was found.
    func settle(_ found: [UInt8], _ mode: UInt16?) {
      past += states
      pastModes += modes
      (states, modes, isPromised, hasOthersModes) = ([found], [mode], true, false)
    }
  }

  struct Open {
    let handle: HandleID
    let file: File
  }

  struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  var generator: Seeded
  private(set) var mount: TestMount
  var files: [String: File] = [:]
  var open: [Open] = []
  private(set) var operations: [String] = []
  private let directory: TestDirectory
  private var deaths: [Death] = []

  private static let names = ["a", "b", "c"]
  private static let directories = ["", "d/", "e/"]

  init(seed: UInt64) throws {
    generator = Seeded(seed)
    directory = try TestDirectory()
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = [2, 1000][Int(seed % 2)]
    // Otherwise nobody can tell whether a copy was made whose answer didn't come (C1).
    behaviour.copiesKeepTags = true
    behaviour.tagsAreDigests = true
    behaviour.replacesMetadataInPlace = seed % 5 == 1
    behaviour.renamesNatively = seed % 5 == 1
    mount = try TestMount(
      options: Self.options,
      behaviour: behaviour,
      writesIn: directory
    )
    mount.store.hook = { _, _ in await Death.current?.pass() }
    for directory in Self.directories.dropFirst() { mount.place(directory, "") }
  }

  private static var options: FilesystemOptions {
    var options = FilesystemOptions()
    options.attributeDelay = .seconds(3600)
    return options
  }

  /// Runs an operation, or the beginning of one in which the process dies.
  ///
  /// - Parameters:
  ///   - operation: its name in the program that repeats a failure.
  ///   - worlds: what there may be if it dies, beside what there was.
  ///   - losing: what may have lost all that was not promised then.
  ///   - body: the operation.
  /// - Returns: its answer; nil if the process died.
  /// - Throws: what the operation throws.
  mutating func perform<Answer: Sendable>(
    _ operation: String,
    or worlds: [[String: File]] = [],
    losing: [File] = [],
    _ body: @escaping @Sendable (TestMount) async throws -> Answer
  ) async throws -> Answer? {
    guard Int.random(in: 0..<8, using: &generator) == 0 else {
      note(operation)
      return try await body(mount)
    }
    let step = Int.random(in: 1...10, using: &generator)
    note("\(operation), killed at step \(step)")
    let task = dying(at: step) { [mount] in
      do { return Result<Answer, any Error>.success(try await body(mount)) } catch {
        return .failure(error)
      }
    }
    guard await task.death.comes(before: task.task) else { return try await task.task.value.get() }
    try await recover(to: [files] + worlds, losing: losing)
    return nil
  }

  private mutating func dying<Answer: Sendable>(
    at step: Int,
    _ body: @escaping @Sendable () async -> Answer
  ) -> (death: Death, task: Task<Answer, Never>) {
    let death = Death(at: step)
    deaths.append(death)
    return (death, Death.$current.withValue(death) { Task { await body() } })
  }

  mutating func kill() async throws {
    note("killed")
    try await recover(to: [files], losing: [])
  }

  /// The next mount, or the one after that: the first may die while it recovers.
  private mutating func recover(to worlds: [[String: File]], losing: [File]) async throws {
    open = []
    while true {
      // The dead send nothing: what is on its way comes first.
      try await Task.sleep(for: .milliseconds(2))
      mount = try TestMount(
        options: Self.options,
        clock: mount.clock,
        store: mount.store,
        writesIn: directory
      )
      if let error = await mount.bucket.recoverDrafts() { throw error }
      let renamed = mount.bucket.unfinishedRenamings.compactMap { try? $0.get().source.description }
      let isFatal = Int.random(in: 0..<3, using: &generator) == 0
      let step = isFatal ? Int.random(in: 1...12, using: &generator) : .max
      let task = dying(at: step) { [mount] () async -> FileError? in
        do throws(FileError) {
          for renaming in mount.bucket.unfinishedRenamings {
            try await mount.bucket.finish(try renaming.get())
          }
          return nil
        } catch {
          return error
        }
      }
      let hasDied = await task.death.comes(before: task.task)
      // What was not stored is, in the background, but for what waits for a renaming.
      let bucket = mount.bucket
      var waitCount = 0
      while bucket.pendingFiles.contains(where: { file in
        file.failure == nil && !(hasDied && renamed.contains(file.key))
      }) {
        try await Task.sleep(for: .milliseconds(1))
        waitCount += 1
        guard waitCount < 20_000 else {
          throw Wrong(description: "never stored: \(bucket.pendingFiles)")
        }
      }
      if !hasDied {
        if let error = await task.task.value { throw error }
        break
      }
      note("killed while recovering at step \(step)")
    }
    try await settle(worlds, losing)
  }

  /// Finds out which of the possible worlds it is.
  private mutating func settle(_ worlds: [[String: File]], _ losing: [File]) async throws {
    let found = stored
    let left = mount.bucket.pendingFiles
    guard left.isEmpty else { throw Wrong(description: "left: \(left)") }
    let world = worlds.first { world in
      Set(world.keys) == Set(found.keys)
        && world.allSatisfy { path, file in
          guard let bytes = found[path] else { return false }
          return file.mayBe(bytes, isLost: losing.contains { $0 === file })
        }
    }
    guard let world else {
      let expected = worlds.map { $0.mapValues(\.bytes) }
      throw Wrong(description: "the store has \(found) for one of \(expected)")
    }
    files = world
    for (path, file) in world {
      let mode = storedMode(path)
      guard file.mayHave(mode, isLost: losing.contains { $0 === file }) else {
        throw Wrong(description: "\(path) has mode \(mode ?? 0) for one of \(file.modes)")
      }
      file.settle(found[path] ?? [], mode)
    }
    try await check()
  }

  /// What the mount shows is what there is.
  mutating func check() async throws {
    note("look at all")
    for (path, file) in files.sorted(by: { $0.key < $1.key }) {
      let node = try await mount.node(path)
      let text = Array(try await mount.bytes(node))
      guard text == file.bytes else {
        throw Wrong(description: "\(path) reads \(text) for \(file.bytes)")
      }
    }
  }

  /// Closes all, and compares with the store.
  mutating func end() async throws {
    note("unmount")
    for some in open { try await mount.close(some.handle) }
    let left = await mount.bucket.finish()
    guard left.isEmpty else { throw Wrong(description: "left: \(left)") }
    let expected = files.mapValues(\.bytes)
    guard stored == expected else {
      throw Wrong(description: "the store has \(stored) for \(expected)")
    }
    for (path, file) in files {
      let mode = storedMode(path)
      guard file.mayHave(mode) else {
        throw Wrong(description: "\(path) has mode \(mode ?? 0) for one of \(file.modes)")
      }
    }
    guard mount.store.openUploads.isEmpty else { throw Wrong(description: "uploads are left") }
  }

  /// The dead may go.
  func release() { for death in deaths { death.end() } }

  /// The files that the store has.
  private var stored: [String: [UInt8]] {
    var stored: [String: [UInt8]] = [:]
    for key in mount.store.keys where !key.isDirectoryMarker {
      stored[key.description] = mount.store.bytes(at: key)
    }
    return stored
  }

  /// The permissions that the store has of a file; nil if it has none.
  private func storedMode(_ path: String) -> UInt16? {
    let metadata = mount.store.metadata(at: ObjectKey(path))?.userMetadata
    return metadata?["mode"].flatMap { UInt32($0) }.map { UInt16($0 & 0o7777) }
  }

  // Names.

  mutating func note(_ operation: String) { operations.append(operation) }

  mutating func place() -> (directory: String, name: String) {
    (
      Self.directories.randomElement(using: &generator) ?? "",
      Self.names.randomElement(using: &generator) ?? "a"
    )
  }

  static func split(_ path: String) -> (directory: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return ("", path) }
    return (String(path[...slash]), String(path[path.index(after: slash)...]))
  }

  mutating func someFile() -> (path: String, file: File)? {
    files.sorted { $0.key < $1.key }.randomElement(using: &generator)
      .map { (path: $0.key, file: $0.value) }
  }
}

extension TestMount {
  /// The node of a directory of the root, made if there is none; "" is the root itself.
  func entered(_ directory: String) async throws -> NodeID {
    guard !directory.isEmpty else { return .root }
    let name = String(directory.dropLast())
    if let node = try await lookup(name).node { return node }
    return try await makeDirectory(name)
  }
}
