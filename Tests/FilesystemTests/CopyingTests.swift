import Core
import Filesystem
import Simulation
import Support
import Testing

/// `copy_file_range` of a mount, without a kernel (docs/semantics.md, C2), and what large files cost.
@Suite struct CopyingTests {
  private static let mebibyte = 1 << 20

  private func mount() throws -> TestMount { try TestMount(writesIn: try TestDirectory()) }

  private func content(_ size: Int, _ seed: UInt64 = 1) -> SimulatedContent {
    .words(size: size, seed: seed)
  }

  private func copy(
    _ mount: TestMount,
    _ source: HandleID,
    _ range: ByteRange,
    to target: HandleID,
    at offset: Int
  ) async throws -> Int {
    let asked = Asked<WrittenAnswer>()
    mount.bucket.copyRange(from: source, range, to: target, at: offset, reply: asked.reply())
    return try await asked.answer().count
  }

  @Test func c2APartOfAFileIsReadBeforeItIsStored() async throws {
    let mount = try mount()
    let data = content(8 * Self.mebibyte).allBytes
    mount.store.place(ObjectKey("a"), .bytes(data))
    let source = try await mount.open(try await mount.node("a"))
    let target = try await mount.create("b").open.handle
    let range = ByteRange(offset: 1000, count: 6 * Self.mebibyte)
    #expect(try await copy(mount, source, range, to: target, at: 10) == range.count)
    let expected = [UInt8](repeating: 0, count: 10) + data[1000..<1000 + range.count]
    #expect(
      try await mount.read(target, ByteRange(5, Self.mebibyte))
        == Array(expected[5..<Self.mebibyte])
    )
    // What is written over it counts.
    try await mount.write(target, [1, 2, 3], at: 11)
    try await mount.close(target)
    #expect(
      mount.store.bytes(at: ObjectKey("b")) == expected[..<11] + [1, 2, 3] + expected[14...]
    )
  }

  @Test func c2AWholeFileIsOneCopyAndNoByte() async throws {
    let mount = try mount()
    mount.store.place(ObjectKey("a"), content(3 * Self.mebibyte))
    let source = try await mount.open(try await mount.node("a"))
    let target = try await mount.create("b").open.handle
    mount.store.forgetCalls()
    let range = ByteRange(0, 1 << 30)
    #expect(try await copy(mount, source, range, to: target, at: 0) == 3 * Self.mebibyte)
    #expect(
      try await copy(mount, source, ByteRange(3 * Self.mebibyte, 1 << 30), to: target, at: 0) == 0
    )
    try await mount.close(target)
    #expect(mount.store.calls.of(.copyObject).count == 1)
    #expect(mount.store.calls.receivedByteCount + mount.store.calls.sentByteCount == 0)
    #expect(mount.store.bytes(at: ObjectKey("b")) == content(3 * Self.mebibyte).allBytes)
  }

  @Test func c2SeveralSourcesBecomeOneFile() async throws {
    let mount = try mount()
    let target = try await mount.create("all").open.handle
    var offset = 0
    var expected: [UInt8] = []
    for index in 0..<3 {
      let part = content(6 * Self.mebibyte + 8 * index, UInt64(index))
      mount.store.place(ObjectKey("p\(index)"), part)
      let source = try await mount.open(try await mount.node("p\(index)"))
      offset += try await copy(mount, source, ByteRange(0, part.size), to: target, at: offset)
      try await mount.release(source)
      expected += part.allBytes
    }
    #expect(offset == expected.count)
    try await mount.close(target)
    #expect(mount.store.bytes(at: ObjectKey("all")) == expected)
    #expect(mount.store.calls.of(.uploadPartCopy).count >= 2)
    #expect(mount.store.calls.sentByteCount < expected.count / 2)
  }

  @Test func c2WhatTheSourceHasUnsavedIsCopiedToo() async throws {
    let mount = try mount()
    mount.place("a", "0123456789")
    let source = try await mount.open(try await mount.node("a"), mode: .writing())
    try await mount.write(source, Array("XY".utf8), at: 4)
    try await mount.resize(try await mount.node("a"), to: 14, handle: source)
    let target = try await mount.create("b").open.handle
    #expect(try await copy(mount, source, ByteRange(0, 100), to: target, at: 0) == 14)
    // What is written to the source afterwards is not the target's.
    try await mount.write(source, Array("zz".utf8), at: 0)
    try await mount.close(target)
    #expect(mount.store.bytes(at: ObjectKey("b")) == Array("0123XY6789".utf8) + [0, 0, 0, 0])
    #expect(mount.store.bytes(at: ObjectKey("a")) == Array("0123456789".utf8))
    try await mount.close(source)
    #expect(mount.store.bytes(at: ObjectKey("a")) == Array("zz23XY6789".utf8) + [0, 0, 0, 0])
  }

  @Test func c2InsideOneFileRangesMoveUnlessTheyOverlap() async throws {
    let mount = try mount()
    mount.place("a", "0123456789")
    let node = try await mount.node("a")
    let file = try await mount.open(node, mode: .writing())
    let reader = try await mount.open(node)
    try await mount.write(file, Array("AB".utf8), at: 0)
    for (range, offset) in [(ByteRange(0, 4), 2), (ByteRange(4, 8), 2), (ByteRange(3, 5), 3)] {
      await expectFailure(.invalid) {
        _ = try await copy(mount, file, range, to: file, at: offset)
      }
      await expectFailure(.invalid) {
        _ = try await copy(mount, reader, range, to: file, at: offset)
      }
    }
    #expect(try await copy(mount, file, ByteRange(0, 4), to: file, at: 4) == 4)
    #expect(try await copy(mount, reader, ByteRange(8, 10), to: file, at: 12) == 2)
    let expected = Array("AB23AB2389".utf8) + [0, 0] + Array("89".utf8)
    #expect(try await mount.read(file, ByteRange(0, 100)) == expected)
    try await mount.close(file)
    #expect(mount.store.bytes(at: ObjectKey("a")) == expected)
  }

  @Test func c2ASourceThatIsReplacedBeforeTheTargetIsClosedFailsIt() async throws {
    let mount = try mount()
    mount.store.place(ObjectKey("a"), content(6 * Self.mebibyte))
    let source = try await mount.open(try await mount.node("a"))
    let target = try await mount.create("b").open.handle
    _ = try await copy(mount, source, ByteRange(0, 6 * Self.mebibyte), to: target, at: 0)
    mount.store.place(ObjectKey("a"), content(6 * Self.mebibyte, 2))
    await expectFailure(.stale) { try await mount.flush(target) }
    #expect(mount.store.keys == [ObjectKey("a")], "nothing is mixed")
  }

  @Test func c2WhatHasLostItsNameIsCopiedByItsBytes() async throws {
    let mount = try mount()
    mount.place("a", "text")
    let source = try await mount.open(try await mount.node("a"))
    try await mount.remove("a")
    let target = try await mount.create("b").open.handle
    await expectFailure(.notSupported) {
      _ = try await copy(mount, source, ByteRange(0, 4), to: target, at: 0)
    }
  }

  @Test func c1AFileLargerThanOneCopyIsRenamedInPartsWithoutAByte() async throws {
    let mount = try mount()
    let size = 12 << 30
    mount.store.place(ObjectKey("a"), content(size))
    #expect(try await mount.names() == ["a"])
    mount.store.forgetCalls()
    try await mount.rename("a", to: "b")
    let calls = mount.store.calls
    #expect(calls.receivedByteCount + calls.sentByteCount == 0)
    #expect(calls.of(.uploadPartCopy).count == size / (128 << 20))
    // A question before and behind, tags, and the upload's beginning, parts and end; then the deletion.
    #expect(calls.count <= size / (128 << 20) + 8, "\(calls.map(\.operation))")
    #expect(mount.store.keys == [ObjectKey("b")])
    #expect(mount.store.metadata(at: ObjectKey("b"))?.size == size)
  }

  @Test func c2AFileLargerThanOneCopyIsCopiedInPartsWithoutAByte() async throws {
    let mount = try mount()
    let size = 12 << 30
    mount.store.place(ObjectKey("a"), content(size))
    let source = try await mount.open(try await mount.node("a"))
    let target = try await mount.create("b").open.handle
    mount.store.forgetCalls()
    #expect(try await copy(mount, source, ByteRange(0, size), to: target, at: 0) == size)
    try await mount.close(target)
    let calls = mount.store.calls
    #expect(calls.receivedByteCount + calls.sentByteCount == 0)
    #expect(calls.of(.uploadPartCopy).count == size / (128 << 20))
    #expect(calls.count <= size / (128 << 20) + 8, "\(calls.map(\.operation))")
    #expect(mount.store.metadata(at: ObjectKey("b"))?.size == size)
  }
}
