import Core
import Filesystem
import Simulation
import Support
import Testing

/// What is set of a closed file is stored a moment later (docs/semantics.md, N4).
@Suite struct DeferringTests {
  private func mount(
    delay: Duration = .seconds(3600),
    _ behaviour: SimulatedStore.Behaviour = .init(),
    store: SimulatedStore? = nil,
    directory: TestDirectory? = nil
  ) throws -> TestMount {
    var options = FilesystemOptions()
    options.attributeDelay = delay
    return try TestMount(
      options: options,
      behaviour: behaviour,
      store: store,
      writesIn: try directory ?? TestDirectory()
    )
  }

  /// A file whose attributes are set and not stored yet.
  private func pending(_ mount: TestMount, _ name: String = "f") async throws -> NodeID {
    try await mount.make(name, "text")
    let node = try await mount.node(name)
    mount.store.forgetCalls()
    try await mount.set(node, permissions: 0o600)
    try await mount.set(node, userID: 7)
    try await mount.set(node, modified: Timestamp(seconds: 1234))
    #expect(mount.store.calls.isEmpty)
    return node
  }

  private static let metadata = ["mode": "33152", "uid": "7", "mtime": "1234"]

  @Test func n4WhatIsSetAfterACloseIsStoredByOneRequest() async throws {
    let mount = try mount()
    let node = try await pending(mount)
    let seen = try await mount.attributes(node)
    #expect(seen.permissions == 0o600 && seen.userID == 7)
    #expect(seen.modified == Timestamp(seconds: 1234))
    #expect(await mount.bucket.finish() == [])
    #expect(mount.store.calls.map(\.operation) == [.headObject, .copyObject])
    #expect(try await mount.stored("f") == Self.metadata)
    #expect(try await mount.text(node) == "text" && mount.directory?.names("staged") == [])
  }

  @Test func n4ItIsStoredWithoutAnybodyAsking() async throws {
    let mount = try mount(delay: .milliseconds(20))
    try await mount.make("f", "text")
    try await mount.set(try await mount.node("f"), permissions: 0o600)
    while try await mount.stored("f")?["mode"] == nil { await Task.yield() }
    while mount.directory?.names("staged") != [] { await Task.yield() }
    #expect(mount.bucket.pendingFiles == [])
  }

  @Test func n4AFileThatIsRenamedThenCostsOneCopy() async throws {
    let mount = try mount()
    let node = try await pending(mount, ".f.tmp")
    mount.place("f", "old")
    try await mount.rename(".f.tmp", to: "f")
    let calls = mount.store.calls.map(\.operation).filter { $0 != .listObjects }
    #expect(calls.filter { $0 != .headObject } == [.copyObject, .deleteObject])
    #expect(calls.suffix(2) == [.copyObject, .deleteObject])
    #expect(try await mount.stored("f") == Self.metadata)
    #expect(try await mount.node("f") == node)
    #expect(try await mount.text(node) == "text")
    let seen = try await mount.attributes(node)
    #expect(
      seen.permissions == 0o600 && seen.modified == Timestamp(seconds: 1234)
    )
    #expect(try await mount.names() == ["f"])
    #expect(mount.bucket.pendingFiles == [] && mount.directory?.names("staged") == [])
    // It is an ordinary file.
    let handle = try await mount.open(node, mode: .writing())
    try await mount.write(handle, Array("T".utf8), at: 0)
    try await mount.close(handle)
    #expect(try await mount.text(node) == "Text")
  }

  @Test func c1ARenamingThatFailsLeavesItAsItWas() async throws {
    let mount = try mount()
    let node = try await pending(mount)
    mount.store.faults.add(Fault(.fail(.accessDenied), operation: .copyObject, callCount: 99))
    await expectFailure(.accessDenied) { try await mount.rename("f", to: "g") }
    #expect(try await mount.names() == ["f"])
    #expect(try await mount.node("f") == node)
    #expect(try await mount.attributes(node).permissions == 0o600)
    #expect(try await mount.text(node) == "text")
    mount.store.faults.clear()
    #expect(await mount.bucket.finish() == [])
    #expect(try await mount.stored("f") == Self.metadata)
    #expect(mount.directory?.names("staged") == [])
  }

  @Test func c1ARenamingThatReplacesNothingDoesNot() async throws {
    let mount = try mount()
    _ = try await pending(mount)
    #expect(try await mount.names() == ["f"])
    mount.place("g", "theirs")
    await expectFailure(.exists) { try await mount.rename("f", to: "g", replaces: false) }
    #expect(await mount.bucket.finish() == [])
    #expect(try await mount.stored("f") == Self.metadata)
    #expect(try await mount.stored("g") == [:])
  }

  @Test func w4WhatIsNotStoredYetSurvivesACrash() async throws {
    let directory = try TestDirectory()
    let mount = try mount(directory: directory)
    _ = try await pending(mount)
    let next = try self.mount(store: mount.store, directory: directory)
    #expect(await next.bucket.recoverDrafts() == nil)
    #expect(await next.bucket.finish() == [])
    #expect(try await next.stored("f") == Self.metadata)
    #expect(directory.names("staged") == [])
  }

  @Test func w1ASynchronizationOfAReaderStoresIt() async throws {
    let mount = try mount()
    let node = try await pending(mount)
    let handle = try await mount.open(node)
    try await mount.synchronize(handle)
    #expect(try await mount.stored("f") == Self.metadata)
    try await mount.release(handle)
  }

  @Test func c2WhatIsCopiedFromIsStoredFirst() async throws {
    let mount = try mount()
    let source = try await mount.open(try await pending(mount))
    let made = try await mount.create("g")
    let asked = Asked<WrittenAnswer>()
    mount.bucket.copyRange(
      from: source,
      ByteRange(0, 4),
      to: made.open.handle,
      at: 0,
      reply: asked.reply()
    )
    #expect(try await asked.answer().count == 4)
    // What is stored of the source from now on must not take the version away that is copied.
    try await mount.synchronize(source)
    try await mount.close(made.open.handle)
    #expect(try await mount.text(try await mount.node("g")) == "text")
    #expect(await mount.bucket.finish() == [])
    #expect(try await mount.stored("f") == Self.metadata)
  }

  @Test func whatWasReplacedMeanwhileKeepsItsOwn() async throws {
    let mount = try mount()
    _ = try await pending(mount)
    mount.place("f", "theirs")
    #expect(await mount.bucket.finish() == [])
    #expect(try await mount.stored("f") == [:])
    while mount.bucket.pendingFiles != [] { await Task.yield() }
    #expect(mount.errors.all.contains { $0.operation == "publish" })
  }

  @Test func whatIsRemovedMeanwhileStaysSo() async throws {
    let mount = try mount()
    _ = try await pending(mount)
    try await mount.remove("f")
    #expect(await mount.bucket.finish() == [])
    #expect(try await mount.names() == [] && mount.directory?.names("staged") == [])
  }

  @Test func w5WhoWritesMeanwhileStoresItAllAtOnce() async throws {
    let mount = try mount(delay: .milliseconds(20))
    try await mount.make("f", "text")
    let node = try await mount.node("f")
    mount.store.forgetCalls()
    try await mount.set(node, permissions: 0o600)
    let handle = try await mount.open(node, mode: .writing())
    try await mount.write(handle, Array("T".utf8), at: 0)
    try await Task.sleep(for: .milliseconds(60))
    #expect(mount.store.calls.isEmpty)
    try await mount.close(handle)
    #expect(try await mount.stored("f") == ["mode": "33152"])
    #expect(try await mount.text(node) == "Text")
  }

  @Test func n4AnAttributeThatWasRemovedDoesNotComeBackByARenaming() async throws {
    let mount = try mount()
    mount.store.place(ObjectKey("f"), .text("text"), userMetadata: ["color": "blue", "atime": "5"])
    let node = try await mount.node("f")
    let asked = Asked<EmptyAnswer>()
    mount.bucket.removeExtendedAttribute("user.color", of: node, reply: asked.reply())
    _ = try await asked.answer()
    let time = try await mount.attributes(node).modified.seconds
    #expect(try await mount.stored("f") == ["atime": "5", "mtime": "\(time)"])
    try await mount.set(node, permissions: 0o600)
    try await mount.rename("f", to: "g")
    #expect(try await mount.stored("g") == ["atime": "5", "mtime": "\(time)", "mode": "33152"])
  }

  @Test func c1WhatOthersPutAtTheOldNameMeanwhileStays() async throws {
    let mount = try mount()
    _ = try await pending(mount)
    let store = mount.store
    store.hook = { call, moment in
      guard call.operation == .deleteObject, moment == .request else { return }
      store.place(ObjectKey("f"), .text("another's"))
    }
    try await mount.rename("f", to: "g")
    #expect(store.bytes(at: ObjectKey("f")) == Array("another's".utf8))
    #expect(store.bytes(at: ObjectKey("g")) == Array("text".utf8))
  }

  /// The kernel tells of a close when the program that closed has long gone on.
  @Test func n4WhatIsSetWhileTheKernelStillLetsGoOfTheFileIsNotLost() async throws {
    let mount = try mount()
    let store = mount.store
    mount.place("f", "text")
    // A listing doesn't tell what it has beside its bytes.
    #expect(try await mount.names() == ["f"])
    let node = try await mount.node("f")
    let handle = try await mount.open(node, mode: .writing())
    let (asks, goesOn) = (Gate(), Gate())
    store.hook = { call, moment in
      guard call.operation == .headObject, moment == .request else { return }
      asks.open()
      await goesOn.wait()
    }
    let setting = Task { try await mount.set(node, permissions: 0o600) }
    await asks.wait()
    try await mount.release(handle)
    goesOn.open()
    _ = try await setting.value
    store.hook = nil
    #expect(mount.bucket.pendingFiles.map(\.path) == ["f"])
    try await mount.rename("f", to: "g")
    #expect(try await mount.stored("g")?["mode"] == "33152")
    #expect(await mount.bucket.finish() == [] && mount.directory?.names("staged") == [])
  }

  @Test func n4WhatIsSetBeforeTheKernelLetsGoOfTheFileCostsNoRequestOfItsOwn() async throws {
    let mount = try mount()
    let handle = try await mount.create(".f.tmp").open.handle
    try await mount.write(handle, Array("text".utf8), at: 0)
    try await mount.flush(handle)
    try await mount.set(
      try await mount.node(".f.tmp"),
      permissions: 0o600,
      userID: 7,
      modified: Timestamp(seconds: 1234)
    )
    try await mount.release(handle)
    try await mount.rename(".f.tmp", to: "f")
    #expect(await mount.bucket.finish() == [])
    let calls = mount.store.calls.map(\.operation).filter {
      $0 != .headObject && $0 != .listObjects
    }
    #expect(calls == [.putObject, .copyObject, .deleteObject])
    #expect(try await mount.stored("f") == Self.metadata)
  }

  /// Killed at each request of a renaming that carries attributes, and of the recovery after it.
  @Test(arguments: [false, true])
  func c1KilledAtEveryStepARenamingWithAttributesIsFinished(replaces: Bool) async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.copiesKeepTags = true
    var step = 1
    while true {
      let directory = try TestDirectory()
      let mount = try mount(behaviour, directory: directory)
      if replaces { mount.place("g", "old") }
      _ = try await pending(mount)
      mount.store.hook = { _, _ in await Death.current?.pass() }
      let death = Death(at: step)
      let running = Death.$current.withValue(death) {
        Task { () async -> Bool in (try? await mount.rename("f", to: "g")) != nil }
      }
      guard await death.comes(before: running) else {
        #expect(await running.value)
        break
      }
      let next = try self.mount(store: mount.store, directory: directory)
      #expect(await next.bucket.recoverDrafts() == nil)
      for renaming in next.bucket.unfinishedRenamings {
        try await next.bucket.finish(renaming.get())
      }
      #expect(await next.bucket.finish() == [], "step \(step)")
      let keys = mount.store.keys.map(\.description)
      // Before its journal is there nothing has happened.
      let isUndone = keys.contains("f")
      #expect(keys == (isUndone ? (replaces ? ["f", "g"] : ["f"]) : ["g"]), "step \(step)")
      #expect(try await next.stored(isUndone ? "f" : "g") == Self.metadata, "step \(step)")
      #expect(mount.store.bytes(at: ObjectKey(isUndone ? "f" : "g")) == Array("text".utf8))
      #expect(directory.names("staged") == [] && next.errors.all.isEmpty, "step \(step)")
      death.end()
      step += 1
    }
    #expect(step > 4)
  }

  @Test func w3AStoringThatWaitsForARenamingTakesTheTurnOfTheNewKey() async throws {
    let mount = try mount()
    let store = mount.store
    let handle = try await mount.create("f").open.handle
    try await mount.write(handle, [1], at: 0)
    try await mount.flush(handle)
    mount.place("g", "old")
    let gates = (0..<2).map { _ in (came: Gate(), goesOn: Gate()) }
    let count = Lock(0)
    store.hook = { call, moment in
      guard call.operation == .copyObject, moment == .request else { return }
      let gate = gates[
        count.withLock { count in
          defer { count += 1 }
          return count
        }
      ]
      gate.came.open()
      await gate.goesOn.wait()
    }
    let first = Task { try await mount.rename("f", to: "g") }
    await gates[0].came.wait()
    // Somebody is at what begins with the old key, and the close of the file waits behind.
    let busy = Gate()
    let other = Task.immediate {
      await mount.bucket.whileAlone(below: ObjectKey("f"), ObjectKey("nothing/")) {
        await busy.wait()
      }
    }
    try await mount.write(handle, [2], at: 0)
    let closing = Asked<EmptyAnswer>()
    mount.bucket.flush(handle, by: 0, reply: closing.reply())
    gates[0].goesOn.open()
    try await first.value
    let second = Task { try await mount.rename("g", to: "h") }
    await gates[1].came.wait()
    try await mount.write(handle, [3], at: 0)
    busy.open()
    await other.value
    try await Task.sleep(for: .milliseconds(50))
    gates[1].goesOn.open()
    try await second.value
    _ = try await closing.answer()
    #expect(store.keys == [ObjectKey("h")] && store.bytes(at: ObjectKey("h")) == [3])
    try await mount.close(handle)
  }
}
