import Core
import Filesystem
import Simulation
import Support
import Testing

/// A range that was copied is what the source was, whatever becomes of the source before the target is
/// stored (docs/semantics.md, C2).
@Suite struct PendingCopyTests {
  enum Fate: CaseIterable {
    case removed, renamed, replacedByRenaming, directoryRenamed, overwritten, synchronized
  }

  @Test(arguments: Fate.allCases, [100, 6 << 20])
  func c2ACopiedRangeSurvivesItsSource(fate: Fate, size: Int) async throws {
    let mount = try TestMount(writesIn: try TestDirectory())
    let data = SimulatedContent.words(size: size, seed: 3)
    mount.store.place(ObjectKey("d/a"), data)
    let directory = try await mount.node("d")
    let node = try await mount.node("d/a")
    let source = try await mount.open(node)
    let target = try await mount.create("b").open.handle
    let asked = Asked<WrittenAnswer>()
    mount.bucket.copyRange(
      from: source,
      ByteRange(0, size),
      to: target,
      at: 1,
      reply: asked.reply()
    )
    #expect(try await asked.answer().count == size)
    switch fate {
    case .removed: try await mount.remove("a", in: directory)
    case .renamed: try await mount.rename("a", in: directory, to: "c", in: directory)
    case .replacedByRenaming:
      try await mount.make("other", "other")
      try await mount.rename("other", in: .root, to: "a", in: directory)
    case .directoryRenamed: try await mount.rename("d", to: "e")
    case .overwritten, .synchronized:
      let writer = try await mount.open(node, mode: .writing())
      try await mount.write(writer, [0, 0, 0], at: 0)
      if fate == .synchronized { try await mount.synchronize(writer) }
      try await mount.close(writer)
    }
    try await mount.close(target)
    #expect(mount.store.bytes(at: ObjectKey("b")) == [0] + data.allBytes)
  }
}
