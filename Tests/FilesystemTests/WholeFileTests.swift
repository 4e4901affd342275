import Core
import Filesystem
import Simulation
import Testing

/// What is offered to the kernel to read by itself.
@Suite struct WholeFileTests {
  private static var options: FilesystemOptions {
    var options = FilesystemOptions()
    options.offersWholeFiles = true
    return options
  }

  private func readAll(_ mount: TestMount, _ node: NodeID) async throws {
    let handle = try await mount.open(node)
    _ = try await mount.read(handle, ByteRange(0, 1 << 20))
    try await mount.release(handle)
  }

  @Test func aFileThatIsWhollyCachedIsOffered() async throws {
    let mount = try TestMount(options: Self.options)
    mount.place("f", "hello")
    let node = try await mount.node("f")
    #expect(try await mount.openAnswer(node).wholeFile == nil)
    try await readAll(mount, node)
    #expect(try await mount.openAnswer(node).wholeFile != nil)
    // Also when the name has to be confirmed first.
    mount.clock.advance(by: .seconds(11))
    #expect(try await mount.openAnswer(node).wholeFile != nil)
  }

  @Test func aFileWithAGapIsNot() async throws {
    let mount = try TestMount(options: Self.options)
    mount.store.place(ObjectKey("f"), .words(size: 64 << 20))
    let node = try await mount.node("f")
    let handle = try await mount.open(node)
    _ = try await mount.read(handle, ByteRange(0, 4096))
    #expect(try await mount.openAnswer(node).wholeFile == nil)
  }

  @Test func nothingIsOfferedUnlessItIsWanted() async throws {
    let mount = try TestMount()
    mount.place("f", "hello")
    let node = try await mount.node("f")
    try await readAll(mount, node)
    #expect(try await mount.openAnswer(node).wholeFile == nil)
  }

  @Test func anEmptyFileNeedsNoOffer() async throws {
    let mount = try TestMount(options: Self.options)
    mount.place("f", "")
    let node = try await mount.node("f")
    try await readAll(mount, node)
    #expect(try await mount.openAnswer(node).wholeFile == nil)
  }

  @Test func r1ANewVersionIsNotReadFromTheOldFile() async throws {
    let mount = try TestMount(options: Self.options)
    mount.place("f", "old")
    let old = try await mount.node("f")
    try await readAll(mount, old)
    mount.place("f", "newer")
    mount.clock.advance(by: .seconds(11))
    await expectFailure(.stale) { _ = try await mount.openAnswer(old) }
    let new = try await mount.node("f")
    #expect(new != old)
    #expect(try await mount.openAnswer(new).wholeFile == nil)
  }

  @Test func w2WhoWritesWhatTheKernelReadsGetsAnotherNode() async throws {
    let mount = try TestMount(options: Self.options, writesIn: try TestDirectory())
    mount.place("f", "old")
    let old = try await mount.node("f")
    try await readAll(mount, old)
    let reader = try await mount.openAnswer(old)
    #expect(reader.wholeFile != nil)
    // The kernel can't write it beside that.
    mount.bucket.detach(old)
    let new = try await mount.node("f")
    #expect(new != old)
    // Nobody comes in between.
    #expect(try await mount.openAnswer(new).wholeFile == nil)
    let writer = try await mount.open(new, mode: .writing())
    try await mount.write(writer, Array("NEW".utf8), at: 0)
    #expect(try await mount.text(new) == "NEW")
    let seen = try await mount.attributes(old)
    #expect(seen.size == 3 && seen.linkCount == 0)
    #expect(try await mount.text(old) == "old")
    try await mount.close(writer)
    #expect(mount.store.bytes(at: ObjectKey("f")) == Array("NEW".utf8))
    try await mount.release(reader.handle)
  }
}
