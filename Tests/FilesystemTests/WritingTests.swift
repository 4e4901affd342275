import Core
import Filesystem
import Simulation
import Support
import Testing

/// What a program that writes may rely on (docs/semantics.md, W1 to W5).
@Suite struct WritingTests {
  private func mount(_ behaviour: SimulatedStore.Behaviour = .init()) throws -> TestMount {
    try TestMount(behaviour: behaviour, writesIn: try TestDirectory())
  }

  private func text(_ mount: TestMount, _ key: String) -> String? {
    mount.store.bytes(at: ObjectKey(key)).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func w1ACloseThatSucceedsMeansTheStoreHasIt() async throws {
    let mount = try mount()
    let handle = try await mount.create("f").open.handle
    try await mount.write(handle, Array("hello".utf8), at: 0)
    #expect(text(mount, "f") == nil)
    try await mount.flush(handle)
    #expect(text(mount, "f") == "hello")
    try await mount.write(handle, Array("HE".utf8), at: 0)
    try await mount.synchronize(handle)
    #expect(text(mount, "f") == "HEllo")
    try await mount.release(handle)
    #expect(mount.bucket.pendingFiles == [] && mount.directory?.names("staged") == [])
  }

  @Test func w1AnEmptyFileAndAnEmptiedOneAreStoredToo() async throws {
    let mount = try mount()
    try await mount.close(try await mount.create("new").open.handle)
    #expect(text(mount, "new") == "")
    mount.place("old", "text")
    let node = try await mount.node("old")
    try await mount.close(try await mount.open(node, mode: .writing(truncates: true)))
    #expect(text(mount, "old") == "")
  }

  @Test func w1AnEmptyFileIsStoredByTheLastOfItsProcessesDescriptors() async throws {
    let others = Lock(true)
    let mount = try TestMount(
      writesIn: TestDirectory(),
      hasWriter: { _, _ in others.withLock { $0 } }
    )
    let created = try await mount.create("f")
    let handle = created.open.handle
    try await mount.flush(handle, by: 7)
    #expect(mount.store.calls.of(.putObject).isEmpty)
    // Nobody knows whose descriptor it is.
    try await mount.flush(handle, by: 0)
    #expect(text(mount, "f") == "")
    try await mount.write(handle, Array("bytes".utf8), at: 0)
    try await mount.flush(handle, by: 7)
    #expect(text(mount, "f") == "bytes")
    try await mount.resize(try #require(created.entry.node), to: 0, handle: handle)
    try await mount.flush(handle, by: 7)
    #expect(text(mount, "f") == "bytes")
    others.withLock { $0 = false }
    try await mount.flush(handle, by: 7)
    #expect(text(mount, "f") == "")
  }

  @Test func whatWasNotChangedIsNotSent() async throws {
    let mount = try mount()
    mount.place("f", "text")
    let node = try await mount.node("f")
    let handle = try await mount.open(node, mode: .writing())
    let callCount = mount.store.calls.count
    try await mount.close(handle)
    #expect(mount.store.calls.count == callCount)
    #expect(mount.directory?.names("staged") == [])
  }

  @Test func w1AnInterruptedCloseGoesOn() async throws {
    let mount = try mount()
    let handle = try await mount.create("f").open.handle
    try await mount.write(handle, Array("hello".utf8), at: 0)
    let gate = Gate()
    mount.store.hook = { call, moment in
      if call.operation == .putObject, moment == .request { await gate.wait() }
    }
    let asked = Asked<EmptyAnswer>()
    mount.bucket.flush(handle, by: 0, reply: asked.reply())
    asked.interrupt()
    #expect(try await asked.failure().code == .interrupted)
    gate.open()
    try await eventually("the file is stored") { text(mount, "f") == "hello" }
  }

  @Test func w2EveryHandleReadsWhatAnyHasWritten() async throws {
    let mount = try mount()
    mount.place("f", "0123456789")
    let node = try await mount.node("f")
    let before = try await mount.open(node)
    #expect(try await mount.read(before, ByteRange(0, 4)) == Array("0123".utf8))
    let writer = try await mount.open(node, mode: .writing())
    try await mount.write(writer, Array("ab".utf8), at: 1)
    let after = try await mount.open(node)
    for handle in [before, writer, after] {
      #expect(try await mount.read(handle, ByteRange(0, 99)) == Array("0ab3456789".utf8))
    }
    try await mount.write(writer, Array("end".utf8), at: nil)
    #expect(try await mount.attributes(node).size == 13)
    #expect(try await mount.read(before, ByteRange(9, 99)) == Array("9end".utf8))
  }

  @Test func w3TheLoserOfTwoWritersIsToldAndItsBytesAreKept() async throws {
    let mount = try mount()
    mount.place("f", "first")
    let node = try await mount.node("f")
    let handle = try await mount.open(node, mode: .writing())
    try await mount.write(handle, Array("mine!".utf8), at: 0)
    mount.place("f", "theirs")
    await expectFailure(.stale) { try await mount.flush(handle) }
    #expect(text(mount, "f") == "theirs")
    let left = try #require(mount.bucket.pendingFiles.first)
    #expect(left.path == "f" && left.size == 5 && left.failure != nil)
    // The handle is of a version that is no more, the name leads to the other's.
    await expectFailure(.stale) { try await mount.write(handle, [1], at: 0) }
    try await mount.release(handle)
    #expect(try await mount.text(try await mount.node("f")) == "theirs")
    #expect(mount.bucket.pendingFiles.count == 1)
  }

  @Test func w3ANewFileDoesNotReplaceWhatCameMeanwhile() async throws {
    let mount = try mount()
    let handle = try await mount.create("f").open.handle
    try await mount.write(handle, Array("mine".utf8), at: 0)
    mount.place("f", "theirs")
    await expectFailure(.exists) { try await mount.flush(handle) }
    #expect(text(mount, "f") == "theirs")
    #expect(mount.bucket.pendingFiles.map(\.size) == [4])
  }

  @Test(arguments: [StoreError.Kind.accessDenied, .unreachable, .serverFailure])
  func w4WhatCouldNotBeStoredIsKeptAndStoredLater(kind: StoreError.Kind) async throws {
    let mount = try mount()
    let handle = try await mount.create("f").open.handle
    try await mount.write(handle, Array("hello".utf8), at: 0)
    mount.store.faults.add(Fault(.fail(kind), operation: .putObject, callCount: 99))
    await #expect(throws: FileError.self) { try await mount.flush(handle) }
    try await mount.release(handle)
    #expect(mount.bucket.pendingFiles.map(\.path) == ["f"])
    #expect(mount.bucket.dirtyByteCount == 5)
    #expect(mount.errors.all.map(\.operation) == ["publish"])
    // It is what the mount shows meanwhile.
    let node = try await mount.node("f")
    #expect(try await mount.text(node) == "hello")
    mount.store.faults.clear()
    #expect(await mount.bucket.finish().isEmpty)
    #expect(text(mount, "f") == "hello" && mount.bucket.pendingFiles == [])
  }

  @Test func w5WhatIsBeingStoredIsSeenByNobodyBefore() async throws {
    let mount = try mount()
    mount.place("f", "old")
    let node = try await mount.node("f")
    let handle = try await mount.open(node, mode: .writing(truncates: true))
    try await mount.write(handle, Array("newer".utf8), at: 0)
    let seen = Lock<String?>(nil)
    mount.store.hook = { [store = mount.store] call, moment in
      guard call.operation == .putObject, moment == .request else { return }
      let bytes = store.bytes(at: ObjectKey("f"))
      seen.withLock { $0 = bytes.map { String(decoding: $0, as: UTF8.self) } }
    }
    try await mount.close(handle)
    #expect(seen.withLock { $0 } == "old" && text(mount, "f") == "newer")
  }

  @Test func aNodeKeepsItsNumberWhenItsFileIsStored() async throws {
    let mount = try mount()
    mount.place("f", "old")
    let node = try await mount.node("f")
    let handle = try await mount.open(node, mode: .writing(truncates: true))
    try await mount.write(handle, Array("new".utf8), at: 0)
    try await mount.close(handle)
    #expect(try await mount.node("f") == node)
    mount.clock.advance(by: .seconds(60))
    #expect(try await mount.node("f") == node)
    #expect(try await mount.text(node) == "new")
  }

  @Test func aMountThatOnlyReadsRefusesEveryChange() async throws {
    let mount = try TestMount()
    mount.place("f")
    let node = try await mount.node("f")
    await expectFailure(.readOnly) { _ = try await mount.open(node, mode: .writing()) }
    await expectFailure(.readOnly) {
      _ = try await mount.open(node, mode: .writing(truncates: true))
    }
    await expectFailure(.readOnly) { _ = try await mount.create("g") }
    await expectFailure(.readOnly) { _ = try await mount.makeDirectory("d") }
    await expectFailure(.readOnly) { try await mount.remove("f") }
    await expectFailure(.readOnly) { try await mount.removeDirectory("f") }
    await expectFailure(.readOnly) { try await mount.rename("f", to: "g") }
    await expectFailure(.readOnly) { try await mount.resize(node, to: 1) }
    #expect(mount.store.keys == [ObjectKey("f")])
  }

  @Test func whoHasARemovedFileOpenReadsOn() async throws {
    let mount = try mount()
    mount.place("f", "hello")
    let node = try await mount.node("f")
    let handle = try await mount.open(node)
    try await mount.remove("f")
    #expect(mount.store.keys == [])
    #expect(try await mount.read(handle, ByteRange(0, 5)) == Array("hello".utf8))
    #expect(try await mount.attributes(node).linkCount == 0)
    #expect(try await mount.lookup("f").node == nil)
  }

  @Test func whatIsRemovedBeforeItIsStoredIsNeverStored() async throws {
    let mount = try mount()
    let handle = try await mount.create("f").open.handle
    try await mount.write(handle, Array("hello".utf8), at: 0)
    try await mount.remove("f")
    try await mount.flush(handle)
    #expect(try await mount.read(handle, ByteRange(0, 5)) == Array("hello".utf8))
    try await mount.release(handle)
    #expect(mount.store.keys == [] && mount.store.calls.of(.putObject).isEmpty)
    #expect(mount.directory?.names("staged") == [])
  }

  @Test func n4WhatIsNotToBeStoredIsShownForAsLongAsTheKernelKnowsTheFile() async throws {
    var options = FilesystemOptions()
    options.metadataStyle = .none
    let mount = try TestMount(options: options, writesIn: try TestDirectory())
    mount.place("f", "text")
    let node = try await mount.node("f")
    let callCount = mount.store.calls.count
    var changes = AttributeChanges()
    changes.permissions = 0o4755
    changes.userID = 7
    changes.groupID = 8
    changes.modified = .at(Timestamp(nanoseconds: 1_234_567_890))
    let asked = Asked<AttributesAnswer>()
    mount.bucket.setAttributes(of: node, handle: nil, to: changes, reply: asked.reply())
    #expect(try await asked.answer().attributes.permissions == 0o4755)
    let attributes = try await mount.attributes(node)
    #expect(attributes.permissions == 0o4755)
    #expect(attributes.userID == 7 && attributes.groupID == 8)
    #expect(attributes.modified == Timestamp(nanoseconds: 1_234_567_890))
    #expect(mount.store.calls.count == callCount)
    // Who writes takes the right to be another user away, as on a disk, and sets the time.
    let handle = try await mount.open(node, mode: .writing())
    try await mount.write(handle, Array("x".utf8), at: 0)
    #expect(try await mount.attributes(node).permissions == 0o755)
    #expect(try await mount.attributes(node).modified == mount.clock.wallTime)
    try await mount.close(handle)
    #expect(try await mount.attributes(node).userID == 7)
  }
}
