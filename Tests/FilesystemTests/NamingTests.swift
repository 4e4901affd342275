import Core
import Filesystem
import Simulation
import Support
import Testing

/// What becomes of names that are made, removed and changed (docs/semantics.md, N2 and N5).
@Suite struct NamingTests {
  private func mount(_ behaviour: SimulatedStore.Behaviour = .init()) throws -> TestMount {
    try TestMount(behaviour: behaviour, writesIn: try TestDirectory())
  }

  private func keys(_ mount: TestMount) -> [String] { mount.store.keys.map(\.description) }

  @Test func n2ADirectoryIsAMarkerThatOtherToolsKnow() async throws {
    let mount = try mount()
    _ = try await mount.makeDirectory("d")
    let context = RequestContext(deadline: .distantFuture)
    let head = try await mount.store.head(
      ObjectKey("d/"),
      versionID: nil,
      ifMatch: nil,
      context: context
    )
    #expect(head.size == 0 && head.headers.contentType == "application/x-directory")
    await expectFailure(.exists) { _ = try await mount.makeDirectory("d") }
    try await mount.removeDirectory("d")
    #expect(keys(mount) == [])
    await expectFailure(.notFound) { try await mount.removeDirectory("d") }
  }

  @Test func n2ADirectoryWithSomethingInItIsNotRemoved() async throws {
    let mount = try mount()
    mount.place("d/f")
    await expectFailure(.notEmpty) { try await mount.removeDirectory("d") }
    let directory = try await mount.makeDirectory("e")
    let handle = try await mount.create("new", in: directory).open.handle
    // The store doesn't have it yet.
    await expectFailure(.notEmpty) { try await mount.removeDirectory("e") }
    try await mount.close(handle)
    await expectFailure(.notEmpty) { try await mount.removeDirectory("e") }
    await expectFailure(.notDirectory) {
      try await mount.removeDirectory("f", in: try await mount.node("d"))
    }
    await expectFailure(.isDirectory) { try await mount.remove("d") }
  }

  @Test func n2ADirectoryStaysWhenItsLastFileIsRemoved() async throws {
    let mount = try mount()
    mount.place("d/f")
    let directory = try await mount.node("d")
    try await mount.remove("f", in: directory)
    #expect(try await mount.names() == ["d"])
    #expect(try await mount.names(directory) == [])
    #expect(await mount.bucket.finish().isEmpty)
    #expect(keys(mount) == ["d/"])
  }

  @Test func n2WhoRemovesATreePutsNoMarkers() async throws {
    let mount = try mount()
    for index in 0..<20 { mount.place("d/f\(index)") }
    let directory = try await mount.node("d")
    for name in try await mount.names(directory) { try await mount.remove(name, in: directory) }
    try await mount.removeDirectory("d")
    _ = await mount.bucket.finish()
    #expect(keys(mount) == [] && mount.store.calls.of(.putObject).isEmpty)
    #expect(try await mount.names() == [])
  }

  @Test func n5WhatIsMadeInANewDirectoryCostsOneRequestEach() async throws {
    let mount = try mount()
    let directory = try await mount.makeDirectory("d")
    let callCount = mount.store.calls.count
    for index in 0..<20 {
      #expect(try await mount.lookup("f\(index)", in: directory).node == nil)
      try await mount.make("f\(index)", "x", in: directory)
    }
    #expect(mount.store.calls.count == callCount + 20)
    #expect(mount.store.calls.of(.putObject).count == 21)
  }

  @Test func n5OneListingAnswersWhateverIsMadeAndRemoved() async throws {
    let mount = try mount()
    for index in 0..<10 { mount.place("f\(index)") }
    #expect(try await mount.names().count == 10)
    for index in 0..<5 { try await mount.remove("f\(index)") }
    try await mount.make("new", "x")
    #expect(try await mount.names() == ["f5", "f6", "f7", "f8", "f9", "new"])
    #expect(try await mount.lookup("f0").node == nil)
    #expect(try await mount.lookup("f5").node != nil)
    #expect(mount.store.calls.of(.listObjects).count == 1)
  }

  @Test func aListingThatBeganBeforeAChangeDoesNotHideIt() async throws {
    let mount = try mount()
    mount.place("old")
    mount.place("other")
    let gate = Gate()
    mount.store.hook = { call, moment in
      if call.operation == .listObjects, moment == .answer { await gate.wait() }
    }
    let handle = try await mount.openDirectory(.root)
    let asked = mount.startReadDirectory(handle)
    let node = try await mount.create("new").entry.node
    mount.store.hook = nil
    try await mount.remove("old")
    gate.open()
    _ = try await asked.answer()
    #expect(try await mount.names() == ["new", "other"])
    #expect(try await mount.lookup("new").node == node)
  }

  @Test func aDirectoryIsReadOnFromWhereItWas() async throws {
    let mount = try mount()
    for index in 0..<10 { mount.place("f\(index)") }
    let handle = try await mount.openDirectory(.root)
    let first = try await mount.entries(handle, perAnswer: 4).prefix(6)
    let offset = try #require(first.last?.nextOffset)
    for entry in first.dropFirst(2) { try await mount.remove(entry.name.description) }
    let rest = try await mount.entries(handle, from: offset).map(\.name.description)
    #expect(rest == (4..<10).map { "f\($0)" })
    #expect(try await mount.names() == rest)
  }

  @Test func c1AFileIsRenamedByACopyOfTheVersionThatWasKnown() async throws {
    let mount = try mount()
    let version = mount.place("a", "text")
    mount.place("b", "other")
    let node = try await mount.node("a")
    _ = try await mount.node("b")
    let handle = try await mount.open(node)
    await expectFailure(.exists) { try await mount.rename("a", to: "b", replaces: false) }
    try await mount.rename("a", to: "b")
    #expect(keys(mount) == ["b"])
    let copy = try #require(mount.store.calls.of(.copyObject).first)
    #expect(copy.source == version.key && copy.ifMatch == version.etag)
    #expect(mount.store.calls.receivedByteCount + mount.store.calls.sentByteCount == 0)
    #expect(try await mount.node("b") == node)
    let made = try #require(mount.store.metadata(at: ObjectKey("b"))).version
    #expect(mount.cache.followed.withLock { $0 } == [VersionMove(version, to: made)])
    // Who has it open goes on.
    #expect(try await mount.read(handle, ByteRange(0, 4)) == Array("text".utf8))
    await expectFailure(.notFound) { try await mount.rename("a", to: "c") }
  }

  @Test func c1AFileThatIsKnownIsRenamedByTwoRequests() async throws {
    let mount = try mount()
    mount.place("a", "text")
    #expect(try await mount.names() == ["a"])
    mount.store.forgetCalls()
    try await mount.rename("a", to: "b")
    #expect(mount.store.calls.map(\.operation) == [.copyObject, .deleteObject])
    #expect(try await mount.names() == ["b"])
    #expect(try await mount.text(try await mount.node("b")) == "text")
  }

  @Test func c1AStoreThatRenamesIsLetTo() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.renamesNatively = true
    let mount = try mount(behaviour)
    mount.place("a", "text")
    _ = try await mount.node("a")
    try await mount.rename("a", to: "b")
    #expect(keys(mount) == ["b"] && mount.store.calls.of(.renameObject).count == 1)
    #expect(
      mount.store.calls.of(.copyObject).isEmpty && mount.store.calls.of(.deleteObject).isEmpty
    )
  }

  @Test func c3ADirectoryIsRenamedByCopiesOnTheServer() async throws {
    let mount = try mount()
    mount.place("d/f", "text")
    mount.place("d/s/g", "more")
    let file = try await mount.node("d/f")
    let node = try await mount.node("d")
    mount.store.forgetCalls()
    try await mount.rename("d", to: "e")
    #expect(keys(mount) == ["e/f", "e/s/g"])
    #expect(mount.store.calls.of(.getObject).isEmpty && mount.store.calls.of(.putObject).isEmpty)
    #expect(try await mount.node("e") == node, "a directory keeps its node")
    #expect(try await mount.node("e/f") == file, "a file keeps it, and its pages")
    #expect(try await mount.text(file) == "text")
    let moves = mount.cache.followed.withLock { $0 }
    #expect(moves.map(\.source.key).sorted() == [ObjectKey("d/f"), ObjectKey("d/s/g")])
    for move in moves {
      #expect(mount.store.metadata(at: move.target.key)?.version.etag == move.target.etag)
    }
    #expect(try await mount.lookup("d", in: .root).node == nil)
  }

  @Test func c1WhatAFailedRenameLeavesIsAsItWas() async throws {
    let mount = try mount()
    mount.place("a", "text")
    let node = try await mount.node("a")
    mount.store.faults.add(Fault(.fail(.accessDenied), operation: .copyObject))
    await expectFailure(.accessDenied) { try await mount.rename("a", to: "b") }
    #expect(keys(mount) == ["a"])
    #expect(try await mount.text(node) == "text")
    #expect(try await mount.lookup("b").node == nil)
  }

  @Test func aRefusedRemovalLeavesTheName() async throws {
    let mount = try mount()
    mount.place("f", "text")
    let node = try await mount.node("f")
    mount.store.faults.add(Fault(.fail(.accessDenied), operation: .deleteObject))
    await expectFailure(.accessDenied) { try await mount.remove("f") }
    #expect(try await mount.node("f") == node)
    #expect(try await mount.names() == ["f"])
  }

  @Test func whatIsRemovedSideBySideGoesInOneRequest() async throws {
    let mount = try mount()
    for index in 0..<40 { mount.place("f\(index)") }
    _ = try await mount.names()
    let gate = Gate()
    mount.store.hook = { call, moment in
      if call.operation == .deleteObject, moment == .request { await gate.wait() }
    }
    let asked = (0..<40).map { index in
      let asked = Asked<EmptyAnswer>()
      mount.bucket.remove(FileName("f\(index)"), in: .root, reply: asked.reply())
      return asked
    }
    try await eventually("four are on their way") {
      mount.store.calls.of(.deleteObject).count == 4
    }
    gate.open()
    for one in asked { _ = try await one.answer() }
    #expect(keys(mount) == [])
    #expect(mount.store.calls.of(.deleteObject).count == 4)
    #expect(mount.store.calls.of(.deleteObjects).count == 1)
  }

  @Test func aNameThatSpellsNoKeyIsRefused() async throws {
    let mount = try mount()
    for name in ["%dipper%plain", "%dipper-object%f", "%dipper-long%x"] {
      await expectFailure(.invalid) { _ = try await mount.create(name) }
    }
    await expectFailure(.nameTooLong) {
      _ = try await mount.create(String(repeating: "n", count: 256))
    }
    // A control character has its spelling.
    try await mount.make("%dipper%a%0A", "x")
    #expect(mount.store.keys == [ObjectKey("a\n")])
  }

  @Test func n5ALargeDirectoryIsListedAgainWhenItsNamesHaveCostAsMuch() async throws {
    let mount = try mount()
    for index in 0..<3000 { mount.place("f\(index)") }
    #expect(try await mount.names().count == 3000)
    mount.clock.advance(by: .seconds(60))
    let callCount = mount.store.calls.count
    for index in 0..<100 { _ = try await mount.lookup("absent\(index)") }
    // Five names by two requests each, and all others by three pages.
    #expect(mount.store.calls.count == callCount + 13)
  }

  @Test func whatIsRememberedOfChangesIsBounded() async throws {
    let mount = try mount()
    for index in 0..<20_010 { mount.place("f\(index)") }
    let names = try await mount.names()
    for name in names.dropLast(5) { try await mount.remove(name) }
    #expect(try await mount.names() == Array(names.suffix(5)))
    #expect(try await mount.lookup(names[0]).node == nil)
  }
}
