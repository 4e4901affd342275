import Core
import Filesystem
import Simulation
import Support
import Testing

/// Random operations of programs on a mount that is killed now and then, between two of them, in the middle of
/// one, or while it recovers: what was promised is there when the next mount has begun, every renaming has
/// happened or not, and nothing is mixed.
@Suite struct KillingModelTests {
  @Test(arguments: Seeds.usually(60))
  func w4WhatWasPromisedSurvivesEveryDeath(seed: UInt64) async throws {
    var model = try KillingModel(seed: seed)
    defer { model.release() }
    do {
      for _ in 0..<60 { try await model.step() }
      try await model.end()
    } catch {
      let program = Seeds.program(seed, of: "KillingModelTests", model.operations)
      Issue.record("seed \(seed): \(error)\n\(program)")
    }
  }
}

/// What programs do.
extension KillingModel {
  mutating func step() async throws {
    switch Int.random(in: 0..<24, using: &generator) {
    case 0..<4: try await openSome()
    case 4..<9: try await write()
    case 9..<12: try await closeSome()
    case 12: try await synchronizeSome()
    case 13..<15: try await removeSome()
    case 15..<18: try await renameSome()
    case 18: try await renameDirectory()
    case 19..<21: try await setPermissions()
    case 21: try await copySome()
    case 22: try await check()
    default: try await kill()
    }
  }

  private mutating func openSome() async throws {
    let (directory, name) = place()
    let path = directory + name
    guard let file = files[path] else {
      let made = File()
      var worlds = files
      worlds[path] = made
      let handle = try await perform("create \(path)", or: [worlds]) { mount in
        let parent = try await mount.entered(directory)
        return try await mount.create(name, in: parent).open.handle
      }
      guard let handle else { return }
      files[path] = made
      open.append(Open(handle: handle, file: made))
      return
    }
    let handle = try await perform("open \(path)") { mount in
      try await mount.open(try await mount.node(path), mode: .writing())
    }
    if let handle { open.append(Open(handle: handle, file: file)) }
  }

  private mutating func write() async throws {
    guard let some = open.randomElement(using: &generator) else { return }
    let byte = UInt8.random(in: 1...255, using: &generator)
    let bytes = [UInt8](repeating: byte, count: Int.random(in: 1..<40, using: &generator))
    let offset = Int.random(in: 0...min(60, some.file.bytes.count + 5), using: &generator)
    note("write \(bytes.count) of \(byte) at \(offset) by \(some.handle.rawValue)")
    try await mount.write(some.handle, bytes, at: offset)
    some.file.write(bytes, at: offset)
  }

  private mutating func closeSome() async throws {
    guard let index = open.indices.randomElement(using: &generator) else { return }
    let some = open.remove(at: index)
    let done: Void? = try await perform("close \(some.handle.rawValue)") { mount in
      try await mount.close(some.handle)
    }
    if done != nil { some.file.promise() }
  }

  private mutating func synchronizeSome() async throws {
    guard let some = open.randomElement(using: &generator) else { return }
    let done: Void? = try await perform("fsync \(some.handle.rawValue)") { mount in
      try await mount.synchronize(some.handle)
    }
    if done != nil { some.file.promise() }
  }

  private mutating func removeSome() async throws {
    guard let (path, file) = someFile() else { return }
    let (directory, name) = Self.split(path)
    var worlds = files
    worlds[path] = nil
    // Who is killed in it has lost at most what was never promised.
    let done: Void? = try await perform("unlink \(path)", or: [worlds], losing: [file]) { mount in
      try await mount.remove(name, in: try await mount.entered(directory))
    }
    if done != nil { files = worlds }
  }

  private mutating func renameSome() async throws {
    guard let (path, file) = someFile() else { return }
    let (newDirectory, newName) = place()
    let newPath = newDirectory + newName
    guard newPath != path else { return }
    let (directory, name) = Self.split(path)
    var renamed = files
    renamed[path] = nil
    renamed[newPath] = file
    var worlds = [renamed]
    let replaced = files[newPath]
    if let replaced, !replaced.isPromised {
      // It was never stored, and is not to be.
      var without = files
      without[newPath] = nil
      worlds.append(without)
    }
    let done: Void? = try await perform(
      "rename \(path) to \(newPath)",
      or: worlds,
      losing: replaced.map { [$0] } ?? []
    ) { mount in
      let (parent, newParent) = (
        try await mount.entered(directory), try await mount.entered(newDirectory)
      )
      _ = try await mount.lookup(newName, in: newParent)
      try await mount.rename(name, in: parent, to: newName, in: newParent)
    }
    if done != nil { files = renamed }
  }

  private mutating func renameDirectory() async throws {
    let names = ["d", "e"].shuffled(using: &generator)
    let (source, target) = (names[0] + "/", names[1] + "/")
    guard !files.keys.contains(where: { $0.hasPrefix(target) }) else { return }
    let renamed = Dictionary(
      uniqueKeysWithValues: files.map { path, file in
        (path.hasPrefix(source) ? target + path.dropFirst(source.count) : path, file)
      }
    )
    let done: Void? = try await perform("rename \(source) to \(target)", or: [renamed]) { mount in
      _ = try await mount.entered(source)
      _ = try await mount.lookup(names[1])
      try await mount.rename(names[0], to: names[1])
    }
    if done != nil { files = renamed }
  }

  private mutating func setPermissions() async throws {
    guard let (path, file) = someFile() else { return }
    let permissions = UInt16.random(in: 0o400...0o677, using: &generator)
    file.setMode(permissions)
    let done: Void? = try await perform("chmod \(path) \(String(permissions, radix: 8))") { mount in
      try await mount.set(try await mount.node(path), permissions: permissions)
    }
    // It is on the disk when the call returns.
    if done != nil { file.promiseMode() }
  }

  private mutating func copySome() async throws {
    guard let (path, source) = someFile(), let some = open.randomElement(using: &generator),
      some.file !== source
    else { return }
    let offset = Int.random(in: 0...some.file.bytes.count, using: &generator)
    let range = ByteRange(0, source.bytes.count)
    guard !range.isEmpty else { return }
    let bytes = source.bytes
    let copied: Int? = try await perform("copy \(path) to \(some.handle.rawValue) at \(offset)") {
      mount in
      let handle = try await mount.open(try await mount.node(path))
      let asked = Asked<WrittenAnswer>()
      mount.bucket.copyRange(
        from: handle,
        range,
        to: some.handle,
        at: offset,
        reply: asked.reply()
      )
      let count = try await asked.answer().count
      try await mount.release(handle)
      return count
    }
    // A copy of all of a file has its attributes, too.
    some.file.hasOthersModes = true
    guard let copied else { return }
    guard copied == bytes.count else { throw Wrong(description: "\(copied) bytes were copied") }
    some.file.write(bytes, at: offset)
  }
}
