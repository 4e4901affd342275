import Core
import Filesystem
import Simulation
import Support
import Testing

/// The three times of files and directories (docs/semantics.md, N3 and N4).
@Suite struct TimeTests {
  private let long = Timestamp(seconds: 1_000_000_000)

  private func mount(_ store: SimulatedStore? = nil) throws -> TestMount {
    try TestMount(store: store, writesIn: try TestDirectory())
  }

  @Test func n4AnAccessTimeThatIsSetIsStoredBesideTheModification() async throws {
    let mount = try mount()
    try await mount.make("f", "bytes")
    let node = try await mount.node("f")
    let earlier = Timestamp(seconds: 900_000_000)
    try await mount.set(node) {
      $0.accessed = .at(earlier)
      $0.modified = .at(long)
    }
    let shown = try await mount.attributes(node)
    #expect(shown.accessed == earlier && shown.modified == long)
    // The attributes themselves were changed just now.
    #expect(try #require(shown.changed) > long)
    let stored = try #require(mount.store.metadata(at: ObjectKey("f"))?.userMetadata)
    #expect(stored["atime"] == "900000000" && stored["mtime"] == "1000000000")
    // The present is said by saying nothing.
    try await mount.set(node) {
      $0.accessed = .now
      $0.modified = .now
    }
    #expect(mount.store.metadata(at: ObjectKey("f"))?.userMetadata?["atime"] == nil)
  }

  @Test func n3ADirectoryShowsWhenANameInItWasMadeRemovedOrRenamed() async throws {
    let mount = try mount()
    let directory = try await mount.makeDirectory("d")
    func expectsTouched(_ what: Comment, _ body: () async throws -> Void) async throws {
      try await mount.set(directory) { $0.modified = .at(long) }
      #expect(try await mount.attributes(directory).modified == long)
      try await body()
      let after = try await mount.attributes(directory)
      #expect(after.modified > long && after.changed == after.modified, what)
    }
    try await expectsTouched("a file") { try await mount.make("f", "x", in: directory) }
    try await expectsTouched("a directory") {
      _ = try await mount.makeDirectory("e", in: directory)
    }
    try await expectsTouched("within") {
      try await mount.rename("f", in: directory, to: "g", in: directory)
    }
    try await expectsTouched("out") { try await mount.rename("g", in: directory, to: "h") }
    try await expectsTouched("in") {
      try await mount.rename("h", in: .root, to: "i", in: directory)
    }
    try await expectsTouched("unlink") { try await mount.remove("i", in: directory) }
    try await expectsTouched("rmdir") { try await mount.removeDirectory("e", in: directory) }
  }

  @Test func n3WritingIsALaterChangeThanThatOfAttributes() async throws {
    let mount = try mount()
    try await mount.make("f", "bytes")
    let node = try await mount.node("f")
    try await mount.set(node) { $0.permissions = 0o600 }
    let handle = try await mount.open(node, mode: .writing())
    try await mount.write(handle, [1], at: 0)
    let written = try await mount.attributes(node)
    #expect(written.changed == nil)
    try await mount.close(handle)
  }
}
