import Core
import Filesystem
import Simulation
import Support
import Testing

/// Owner, mode, time and user attributes (docs/semantics.md, N3 and N4).
@Suite struct FactsTests {
  private func mount(
    _ style: MetadataStyle = .s3fs,
    _ behaviour: SimulatedStore.Behaviour = .init()
  ) throws -> TestMount {
    var options = FilesystemOptions()
    options.metadataStyle = style
    return try TestMount(options: options, behaviour: behaviour, writesIn: try TestDirectory())
  }

  private func setValue(
    _ mount: TestMount,
    _ name: String,
    of node: NodeID,
    to value: String,
    _ rule: AttributeRule = .any
  ) async throws {
    let asked = Asked<EmptyAnswer>()
    mount.bucket.setExtendedAttribute(
      name,
      of: node,
      to: Array(value.utf8),
      rule,
      reply: asked.reply()
    )
    _ = try await asked.answer()
  }

  private func removeValue(_ mount: TestMount, _ name: String, of node: NodeID) async throws {
    let asked = Asked<EmptyAnswer>()
    mount.bucket.removeExtendedAttribute(name, of: node, reply: asked.reply())
    _ = try await asked.answer()
  }

  private func valueNames(_ mount: TestMount, _ node: NodeID) async throws -> [String] {
    let asked = Asked<AttributeValueAnswer>()
    mount.bucket.extendedAttributeNames(of: node, reply: asked.reply())
    return String(decoding: try await asked.answer().bytes, as: UTF8.self).split(separator: "\0")
      .map(String.init)
  }

  private static let time: Int64 = 1_234_567_890_500_000_000
  private static let s3fs = ["mode": "33216", "uid": "7", "mtime": "1234567890.5"]

  @Test(arguments: [
    (MetadataStyle.s3fs, Self.s3fs),
    (
      .datasync,
      [
        "file-permissions": "0100700", "file-owner": "7",
        "file-mtime": "1234567890500000000ns",
      ]
    ), (.none, [:]),
  ])
  func n4WhatIsSetBeforeTheCloseGoesWithTheBytes(
    style: MetadataStyle,
    metadata: [String: String]
  ) async throws {
    let mount = try mount(style)
    let made = try await mount.create("f")
    let node = try #require(made.entry.node)
    try await mount.write(made.open.handle, Array("hello".utf8), at: 0)
    try await mount.set(node, permissions: 0o700)
    try await mount.set(node, userID: 7)
    try await mount.set(node, modified: Timestamp(nanoseconds: Self.time))
    mount.store.forgetCalls()
    try await mount.close(made.open.handle)
    #expect(mount.store.calls.map(\.operation) == [.putObject])
    #expect(try await mount.stored("f") == metadata)
  }

  @Test func n4AnOrdinaryFileGetsNoMetadata() async throws {
    let mount = try mount()
    try await mount.make("f", "hello")
    #expect(try await mount.stored("f") == [:])
  }

  @Test func n4AModeThatTheMountWouldNotShowIsStored() async throws {
    var options = FilesystemOptions()
    options.fileMode = 0o600
    let mount = try TestMount(options: options, writesIn: try TestDirectory())
    try await mount.make("f", "hello")
    #expect(try await mount.stored("f") == ["mode": "33188"])
  }

  @Test(arguments: [false, true])
  func n4WhatIsSetOfAClosedFileIsStoredByOneRequest(isInPlace: Bool) async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.replacesMetadataInPlace = isInPlace
    let mount = try mount(.s3fs, behaviour)
    mount.place("f", "text")
    let node = try await mount.node("f")
    let before = try await mount.attributes(node).modified
    mount.store.forgetCalls()
    #expect(try await mount.set(node, permissions: 0o600).permissions == 0o600)
    let changing = mount.store.calls.map(\.operation).filter { $0 != .headObject }
    #expect(changing == [isInPlace ? .setObjectMeta : .copyObject])
    // The time of its bytes is what it was.
    #expect(
      try await mount.stored("f") == ["mode": "33152", "mtime": "\(before.seconds)"]
    )
    #expect(try await mount.attributes(node).modified == before)
    #expect(try await mount.node("f") == node)
    #expect(try await mount.text(node) == "text")
    #expect(mount.bucket.pendingFiles == [] && mount.directory?.names("staged") == [])
  }

  @Test func n4WhatWasReplacedMeanwhileKeepsItsAttributes() async throws {
    let mount = try mount()
    mount.place("f", "text")
    let node = try await mount.node("f")
    mount.place("f", "theirs")
    await expectFailure(.stale) { try await mount.set(node, permissions: 0o600) }
    #expect(try await mount.stored("f") == [:])
    #expect(mount.bucket.pendingFiles == [] && mount.directory?.names("staged") == [])
  }

  @Test func n4WhatCouldNotBeSetIsAsItWas() async throws {
    let mount = try mount()
    mount.place("f", "text")
    let node = try await mount.node("f")
    let before = try await mount.attributes(node)
    mount.store.faults.add(Fault(.fail(.accessDenied), operation: .copyObject, callCount: 99))
    await expectFailure(.accessDenied) {
      try await mount.set(node, permissions: 0o600, modified: Timestamp(nanoseconds: Self.time))
    }
    #expect(try await mount.attributes(node) == before)
    #expect(mount.bucket.pendingFiles == [] && mount.directory?.names("staged") == [])
    mount.store.faults.clear()
    // It can be written to, and what failed doesn't come back with that.
    let handle = try await mount.open(node, mode: .writing())
    try await mount.write(handle, Array("T".utf8), at: 0)
    try await mount.close(handle)
    #expect(try await mount.stored("f") == [:])
    #expect(try await mount.text(node) == "Text")
  }

  @Test func n4WritingEndsATimeThatWasSet() async throws {
    let mount = try mount()
    mount.place("f", "text")
    let node = try await mount.node("f")
    try await mount.set(node, permissions: 0o4755, modified: Timestamp(nanoseconds: Self.time))
    #expect(try await mount.stored("f") == ["mode": "35309", "mtime": "1234567890.5"])
    let handle = try await mount.open(node, mode: .writing())
    try await mount.write(handle, Array("x".utf8), at: 0)
    try await mount.close(handle)
    #expect(try await mount.stored("f") == ["mode": "33261"])
    #expect(try await mount.attributes(node).permissions == 0o755)
    #expect(try await mount.attributes(node).modified == mount.clock.wallTime)
  }

  @Test func n3AnotherMountShowsWhatAHeadTells() async throws {
    let mount = try mount()
    mount.place("f", "text")
    try await mount.set(
      try await mount.node("f"),
      permissions: 0o600,
      modified: Timestamp(nanoseconds: Self.time)
    )
    let other = try TestMount(store: mount.store)
    let seen = try await other.attributes(try await other.node("f"))
    #expect(seen.permissions == 0o600)
    #expect(seen.modified == Timestamp(nanoseconds: Self.time))
    // By a listing it isn't known, unless this version was asked for before.
    let third = try TestMount(store: mount.store)
    #expect(try await third.names() == ["f"])
    #expect(try await third.attributes(try await third.node("f")).permissions == 0o644)
    other.clock.advance(by: .seconds(60))
    #expect(try await other.names() == ["f"])
    #expect(try await other.attributes(try await other.node("f")).permissions == 0o600)
  }

  @Test func n4ARenamedFileKeepsWhatWasSet() async throws {
    let mount = try mount()
    mount.place("f", "text")
    try await mount.set(
      try await mount.node("f"),
      permissions: 0o600,
      modified: Timestamp(nanoseconds: Self.time)
    )
    try await mount.rename("f", to: "g")
    let seen = try await mount.attributes(try await mount.node("g"))
    #expect(seen.permissions == 0o600 && seen.modified == Timestamp(nanoseconds: Self.time))
    #expect(try await mount.stored("g") == ["mode": "33152", "mtime": "1234567890.5"])
  }

  @Test func userAttributesAreUserMetadata() async throws {
    let mount = try mount()
    mount.place("f", "text")
    let node = try await mount.node("f")
    try await setValue(mount, "user.color", of: node, to: "blue")
    #expect(try await mount.stored("f")?["color"] == "blue")
    #expect(try await mount.value("user.color", of: node) == "blue")
    #expect(try await valueNames(mount, node) == ["user.color"])
    await expectFailure(.exists) {
      try await setValue(mount, "user.color", of: node, to: "x", .creates)
    }
    await expectFailure(.noAttribute) {
      try await setValue(mount, "user.size", of: node, to: "x", .replaces)
    }
    try await removeValue(mount, "user.color", of: node)
    #expect(try await mount.stored("f")?["color"] == nil)
    await expectFailure(.noAttribute) { try await removeValue(mount, "user.color", of: node) }
    await expectFailure(.noAttribute) { _ = try await mount.value("user.color", of: node) }
    #expect(try await valueNames(mount, node) == [])
  }

  @Test func userAttributesOfWhatIsBeingWrittenGoWithTheBytes() async throws {
    let mount = try mount()
    let made = try await mount.create("f")
    let node = try #require(made.entry.node)
    try await setValue(mount, "user.color", of: node, to: "blue")
    #expect(try await mount.value("user.color", of: node) == "blue")
    #expect(try await valueNames(mount, node) == ["user.color"])
    mount.store.forgetCalls()
    try await mount.close(made.open.handle)
    #expect(mount.store.calls.map(\.operation) == [.putObject])
    #expect(try await mount.stored("f") == ["color": "blue"])
  }

  @Test(arguments: [
    ("user.Color", "x", FileError.Code.invalid), ("user.", "x", .invalid),
    ("user.a b", "x", .invalid), ("user.mode", "x", .invalid), ("user.dipper.x", "x", .invalid),
    ("user.dipper.etag", "x", .notPermitted), ("trusted.x", "x", .notSupported),
    ("user.x", "\u{e9}", .invalid), ("user.x", "a\nb", .invalid),
    ("user.x", String(repeating: "x", count: 2049), .attributeTooLarge),
    ("user.x", String(repeating: "x", count: 2048), .attributeTooLarge),
  ])
  func whatCannotBeUserMetadataIsRefused(
    name: String,
    value: String,
    code: FileError.Code
  ) async throws {
    let mount = try mount()
    mount.place("f", "text")
    let node = try await mount.node("f")
    await expectFailure(code) { try await setValue(mount, name, of: node, to: value) }
    #expect(try await mount.stored("f") == [:])
    #expect(mount.bucket.pendingFiles == [] && mount.directory?.names("staged") == [])
  }
}
