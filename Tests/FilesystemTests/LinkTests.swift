import Core
import Filesystem
import Simulation
import Support
import Testing

/// Symbolic links (docs/semantics.md, N4).
@Suite struct LinkTests {
  private func mount(
    _ style: MetadataStyle = .s3fs,
    _ source: MetadataSource = .listing,
    store: SimulatedStore? = nil,
    knownFacts: [RecordedFacts] = [],
    recordFacts: (@Sendable (RecordedFacts) -> Void)? = nil
  ) throws -> TestMount {
    var options = FilesystemOptions()
    options.metadataStyle = style
    options.metadataSource = source
    return try TestMount(
      options: options,
      store: store,
      writesIn: try TestDirectory(),
      knownFacts: knownFacts,
      recordFacts: recordFacts
    )
  }

  private func placeLink(_ mount: TestMount, _ key: String, _ target: String) {
    mount.store.place(ObjectKey(key), .text(target), userMetadata: ["mode": "41471"])
  }

  @Test(arguments: [
    (MetadataStyle.s3fs, ["mode": "41471"]), (.datasync, ["file-permissions": "0120777"]),
  ])
  func n4ALinkIsAnObjectThatSaysSo(style: MetadataStyle, metadata: [String: String]) async throws {
    let mount = try mount(style)
    let node = try await mount.makeLink("l", to: "some/where")
    let seen = try await mount.attributes(node)
    #expect(seen.kind == .symbolicLink && seen.size == 10 && seen.permissions == 0o777)
    #expect(try await mount.linkTarget(node) == "some/where")
    let stored = try await mount.store.head(
      ObjectKey("l"),
      versionID: nil,
      ifMatch: nil,
      context: RequestContext(deadline: .distantFuture)
    )
    #expect(stored.userMetadata == metadata && stored.size == 10)
    #expect(mount.store.calls.filter { $0.operation == .putObject }.count == 1)
    // Another mount that asks for it has the same.
    let other = try TestMount(store: mount.store)
    let found = try await other.node("l")
    #expect(try await other.attributes(found).kind == .symbolicLink)
    #expect(try await other.linkTarget(found) == "some/where")
    // It is read once.
    other.store.forgetCalls()
    #expect(try await other.linkTarget(found) == "some/where")
    #expect(other.store.calls.isEmpty)
  }

  @Test func n4ALinkIsListedAsOneRenamedAndRemoved() async throws {
    let mount = try mount()
    try await mount.makeLink("l", to: "x")
    let directory = try await mount.makeDirectory("d")
    try await mount.makeLink("m", to: "y", in: directory)
    let handle = try await mount.openDirectory(.root)
    #expect(
      try await mount.entries(handle).filter { $0.kind == .symbolicLink }.map(\.name.description)
        == ["l"]
    )
    try await mount.rename("l", to: "k")
    let moved = try await mount.node("k")
    #expect(try await mount.attributes(moved).kind == .symbolicLink)
    #expect(try await mount.linkTarget(moved) == "x")
    try await mount.rename("d", to: "e")
    let below = try await mount.node("e/m")
    #expect(try await mount.attributes(below).kind == .symbolicLink)
    #expect(try await mount.linkTarget(below) == "y")
    try await mount.remove("k")
    #expect(try await mount.names() == ["e"])
    // What takes its name is what it is.
    try await mount.make("k", "x")
    #expect(try await mount.attributes(try await mount.node("k")).kind == .file)
  }

  @Test func n4ALinkIsStillOneAfterARemount() async throws {
    let recorded = Lock([RecordedFacts]())
    let mount = try mount { facts in recorded.withLock { $0.append(facts) } }
    try await mount.makeLink("l", to: "x")
    mount.store.forgetCalls()
    let again = try self.mount(store: mount.store, knownFacts: recorded.withLock { $0 })
    #expect(try await again.names() == ["l"])
    #expect(try await again.attributes(try await again.node("l")).kind == .symbolicLink)
    #expect(!again.store.calls.contains { $0.operation == .headObject })
  }

  @Test func n4WhatAListingDoesNotTellIsLearnedByAsking() async throws {
    let mount = try mount()
    placeLink(mount, "l", "x")
    #expect(try await mount.names() == ["l"])
    let file = try await mount.node("l")
    #expect(try await mount.attributes(file).kind == .file)
    _ = try await mount.value("user.dipper.content-type", of: file)
    // The kernel doesn't take another kind for the same node.
    let link = try await mount.node("l")
    #expect(link != file)
    #expect(try await mount.attributes(link).kind == .symbolicLink)
    await expectFailure(.stale) { _ = try await mount.attributes(file) }
  }

  @Test(arguments: ["", "a\0b", String(repeating: "x", count: 4096)])
  func aLinkThatCannotBeOneIsAFailureWithAReason(target: String) async throws {
    let mount = try mount(.s3fs, .head)
    placeLink(mount, "l", target)
    let node = try await mount.node("l")
    #expect(try await mount.attributes(node).kind == .symbolicLink)
    await expectFailure(.inputOutput) { _ = try await mount.linkTarget(node) }
    #expect(mount.errors.all.contains { $0.error.message.contains("symbolic link") })
  }

  @Test func aLinkThatCannotBeStoredIsRefused() async throws {
    let none = try mount(.none)
    await expectFailure(.notSupported) { _ = try await none.makeLink("l", to: "x") }
    let mount = try mount()
    await expectFailure(.nameTooLong) {
      _ = try await mount.makeLink("l", to: String(repeating: "x", count: 4096))
    }
    await expectFailure(.invalid) { _ = try await mount.makeLink("l", to: "") }
    mount.place("l")
    await expectFailure(.exists) { _ = try await mount.makeLink("l", to: "x") }
    let file = try await mount.node("l")
    await expectFailure(.invalid) { _ = try await mount.linkTarget(file) }
  }
}
