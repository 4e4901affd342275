import Core
import Filesystem
import Simulation
import Support
import Testing

/// Owner, mode, time and user attributes of directories (docs/semantics.md, N4).
@Suite struct DirectoryFactsTests {
  private func mount(
    delay: Duration = .zero,
    _ style: MetadataStyle = .s3fs,
    source: MetadataSource = .listing,
    store: SimulatedStore? = nil,
    directory: TestDirectory? = nil,
    knownFacts: [RecordedFacts] = [],
    recordFacts: (@Sendable (RecordedFacts) -> Void)? = nil
  ) throws -> TestMount {
    var options = FilesystemOptions()
    options.metadataStyle = style
    options.metadataSource = source
    options.attributeDelay = delay
    return try TestMount(
      options: options,
      store: store,
      writesIn: try directory ?? TestDirectory(),
      knownFacts: knownFacts,
      recordFacts: recordFacts
    )
  }

  /// Longer than any test.
  private static let long = Duration.seconds(3600)

  private static let metadata = ["mode": "16832", "uid": "7", "mtime": "1234"]

  @Test func n4WhatIsSetOfADirectoryIsStoredByOneRequest() async throws {
    let mount = try mount(delay: Self.long)
    // Whether the store keeps such attributes is found out once.
    try await mount.set(try await mount.makeDirectory("first"), permissions: 0o700)
    #expect(mount.store.calls.map(\.operation).suffix(2) == [.putObject, .headObject])
    mount.store.forgetCalls()
    let node = try await mount.makeDirectory("d")
    #expect(mount.store.calls.map(\.operation).last == .putObject)
    mount.store.forgetCalls()
    try await mount.set(node, userID: 7)
    try await mount.set(node, permissions: 0o700)
    let seen = try await mount.set(node, modified: Timestamp(seconds: 1234))
    #expect(seen.kind == .directory && seen.permissions == 0o700 && seen.userID == 7)
    #expect(seen.modified == Timestamp(seconds: 1234))
    #expect(mount.store.calls.isEmpty)
    #expect(await mount.bucket.finish() == [])
    #expect(mount.store.calls.map(\.operation) == [.putObject])
    #expect(try await mount.stored("d/") == Self.metadata)
    #expect(mount.directory?.names("staged") == [])
  }

  @Test func n4AModeThatTheMountWouldNotShowGoesWithTheMarker() async throws {
    var options = FilesystemOptions()
    options.directoryMode = 0o700
    let mount = try TestMount(options: options, writesIn: try TestDirectory())
    _ = try await mount.makeDirectory("d")
    #expect(try await mount.stored("d/") == ["mode": "16804"])
    let plain = try self.mount()
    plain.store.place(ObjectKey("x/f"), .text("x"))
    #expect(try await plain.attributes(try await plain.node("x")).permissions == 0o755)
  }

  @Test(arguments: [MetadataStyle.s3fs, .datasync])
  func n4ADirectoryIsSeenAsItWasSetByTheNextMountAndByWhoAsks(style: MetadataStyle) async throws {
    let recorded = Lock([RecordedFacts]())
    let mount = try mount(style) { facts in recorded.withLock { $0.append(facts) } }
    // One that has no marker gets one.
    mount.place("d/f")
    try await mount.set(
      try await mount.node("d"),
      permissions: 0o700,
      userID: 7,
      modified: Timestamp(seconds: 1234)
    )
    let next = try self.mount(store: mount.store, knownFacts: recorded.withLock { $0 })
    let other = try self.mount(source: .head, store: mount.store)
    for mount in [next, other] {
      let seen = try await mount.attributes(try await mount.node("d"))
      #expect(seen.permissions == 0o700 && seen.userID == 7)
      #expect(seen.modified == Timestamp(seconds: 1234))
    }
    // What else is set leaves the rest.
    try await next.set(try await next.node("d"), permissions: 0o750)
    let again = try await next.attributes(try await next.node("d"))
    #expect(
      again.permissions == 0o750 && again.modified == Timestamp(seconds: 1234)
    )
    #expect(try await other.names(try await other.node("d")) == ["f"])
  }

  @Test func n4WhatIsNotStoredYetSurvivesACrash() async throws {
    let directory = try TestDirectory()
    let mount = try mount(delay: Self.long, directory: directory)
    try await mount.set(try await mount.makeDirectory("first"), permissions: 0o700)
    try await mount.set(
      try await mount.makeDirectory("d"),
      permissions: 0o700,
      modified: Timestamp(seconds: 1234)
    )
    mount.store.faults.add(Fault(.fail(.accessDenied), operation: .putObject, callCount: 99))
    let next = try self.mount(store: mount.store, directory: directory)
    #expect(await next.bucket.recoverDrafts() == nil)
    let seen = try await next.attributes(try await next.node("d"))
    #expect(
      seen.permissions == 0o700 && seen.modified == Timestamp(seconds: 1234)
    )
    next.store.faults.clear()
    #expect(await next.bucket.finish() == [])
    #expect(try await next.stored("d/") == ["mode": "16832", "mtime": "1234"])
    #expect(directory.names("staged") == [])
  }

  @Test func aDirectoryThatIsRemovedIsNotBroughtBack() async throws {
    let mount = try mount(delay: Self.long)
    try await mount.set(try await mount.makeDirectory("first"), permissions: 0o700)
    try await mount.set(try await mount.makeDirectory("d"), permissions: 0o700)
    try await mount.removeDirectory("d")
    #expect(await mount.bucket.finish() == [])
    #expect(try await mount.names() == ["first"])
    #expect(mount.directory?.names("staged") == [])
    await #expect(throws: StoreError.self) { _ = try await mount.stored("d/") }
  }

  @Test func aDirectoryThatIsRenamedKeepsWhatWasSet() async throws {
    let mount = try mount(delay: Self.long)
    try await mount.set(try await mount.makeDirectory("first"), permissions: 0o700)
    try await mount.set(try await mount.makeDirectory("d"), permissions: 0o700)
    _ = try await mount.makeDirectory("e")
    try await mount.set(try await mount.node("e"), permissions: 0o711)
    try await mount.rename("d", to: "e")
    #expect(try await mount.attributes(try await mount.node("e")).permissions == 0o700)
    #expect(await mount.bucket.finish() == [])
    #expect(try await mount.stored("e/") == ["mode": "16832"])
    #expect(try await mount.names() == ["e", "first"] && mount.directory?.names("staged") == [])
  }

  @Test func userAttributesOfADirectoryAreKept() async throws {
    let mount = try mount()
    let node = try await mount.makeDirectory("d")
    let asked = Asked<EmptyAnswer>()
    mount.bucket.setExtendedAttribute(
      "user.color",
      of: node,
      to: Array("blue".utf8),
      .any,
      reply: asked.reply()
    )
    _ = try await asked.answer()
    #expect(try await mount.stored("d/") == ["mode": "16804", "color": "blue"])
    #expect(try await mount.value("user.color", of: node) == "blue")
    let other = try self.mount(store: mount.store)
    #expect(try await other.value("user.color", of: try await other.node("d")) == "blue")
    await expectFailure(.noAttribute) { _ = try await mount.value("user.size", of: node) }
    let type = Asked<EmptyAnswer>()
    mount.bucket.setExtendedAttribute(
      "user.dipper.content-type",
      of: node,
      to: Array("a/b".utf8),
      .any,
      reply: type.reply()
    )
    await expectFailure(.notSupported) { _ = try await type.answer() }
  }

  @Test func whatCannotBeStoredIsShownUntilTheUnmountOrFails() async throws {
    let none = try mount(.none)
    let node = try await none.makeDirectory("d")
    none.store.forgetCalls()
    try await none.set(node, permissions: 0o700)
    #expect(try await none.attributes(node).permissions == 0o700 && none.store.calls.isEmpty)
    // The bucket itself has no marker.
    let mount = try mount()
    try await mount.set(.root, permissions: 0o700)
    #expect(try await mount.attributes(.root).permissions == 0o700)
    #expect(mount.store.calls.isEmpty)
    mount.place("d/f")
    let directory = try await mount.node("d")
    mount.store.faults.add(Fault(.fail(.accessDenied), operation: .headObject, callCount: 99))
    await expectFailure(.accessDenied) { try await mount.set(directory, permissions: 0o700) }
    #expect(try await mount.attributes(directory).permissions == 0o755)
  }

  @Test func aStoreThatKeepsNothingIsFoundOutAndSparedTheRest() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.keepsMarkerMetadata = false
    let mount = try TestMount(behaviour: behaviour, writesIn: try TestDirectory())
    let node = try await mount.makeDirectory("d")
    try await mount.set(node, permissions: 0o700)
    mount.store.forgetCalls()
    let seen = try await mount.set(node, permissions: 0o711, modified: Timestamp(seconds: 1234))
    #expect(
      seen.permissions == 0o711 && seen.modified == Timestamp(seconds: 1234)
    )
    #expect(try await mount.attributes(node).permissions == 0o711)
    let asked = Asked<EmptyAnswer>()
    mount.bucket.setExtendedAttribute(
      "user.color",
      of: node,
      to: Array("blue".utf8),
      .any,
      reply: asked.reply()
    )
    await expectFailure(.notSupported) { _ = try await asked.answer() }
    #expect(mount.store.calls.isEmpty)
    #expect(await mount.bucket.finish() == [] && mount.directory?.names("staged") == [])
  }
}
