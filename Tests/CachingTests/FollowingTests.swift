import Core
import Simulation
import Support
import Testing
import Transfer

@testable import Caching

/// What is cached of an object goes along to its new key, or is lost; wrong bytes are never served.
@Suite struct FollowingTests {
  private static let size = 3 << 20

  /// What the store makes of a version: the same bytes under another key and tag.
  private func copy(_ bench: CacheBench, _ version: ObjectVersion, to key: String) -> VersionMove {
    VersionMove(version, to: bench.place(key, size: version.size))
  }

  @Test func whatWasCachedIsReadUnderTheNewKeyWithoutTheStore() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: Self.size)
    await bench.fill(cache, version)
    let move = copy(bench, version, to: "d/b")
    let byteCount = cache.byteCount
    bench.store.forgetCalls()
    await cache.follow([move])
    #expect(cache.cachedByteCount(of: version) == 0 && cache.byteCount == byteCount)
    #expect(cache.cachedByteCount(of: move.target) == Self.size)
    let object = cache.open(move.target)
    // It had every byte verified before, so the kernel may read it at once.
    #expect(object.wholeFile(verifiedSizeMax: 0) != nil)
    #expect(await object.bytes(ByteRange(0, Self.size)) == .success(bench.bytes(version)))
    #expect(bench.store.calls.isEmpty)
    #expect(try bench.files("data").count == 1 && bench.files("checkpoint").count == 1)
  }

  @Test func theNextProcessReadsItUnderTheNewKey() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: Self.size)
    let move = copy(bench, version, to: "b")
    do {
      let cache = try bench.open()
      await bench.fill(cache, version)
      await cache.follow([move])
      await cache.close()
    }
    bench.store.forgetCalls()
    let again = try bench.open()
    #expect(
      await again.open(move.target).bytes(ByteRange(0, Self.size)) == .success(bench.bytes(version))
    )
    #expect(bench.store.calls.isEmpty)
  }

  @Test func whatIsOpenIsTakenAlongWhenItIsLetGo() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: Self.size)
    let move = copy(bench, version, to: "b")
    do {
      let object = cache.open(version)
      _ = await object.bytes(ByteRange(0, Self.size))
      await cache.follow([move])
      // Whoever has it open reads on.
      #expect(await object.bytes(ByteRange(5, 50)) == .success(Array(bench.bytes(version)[5..<50])))
      #expect(cache.cachedByteCount(of: version) == Self.size)
    }
    #expect(try await eventually { cache.cachedByteCount(of: move.target) == Self.size })
    #expect(cache.cachedByteCount(of: version) == 0)
  }

  @Test func whatIsOpenUnderTheNewKeyIsNotTouched() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: Self.size)
    await bench.fill(cache, version)
    let move = copy(bench, version, to: "b")
    let object = cache.open(move.target)
    _ = await object.bytes(ByteRange(0, 100))
    await cache.follow([move])
    #expect(await object.bytes(ByteRange(0, Self.size)) == .success(bench.bytes(version)))
    #expect(cache.cachedByteCount(of: version) == Self.size)
  }

  @Test func aDiskThatFailsAtAnyStepLosesNoMoreThanTheCache() async throws {
    for step in [PartFile.DiskStep.writeCheckpoint, .createData] {
      let bench = try CacheBench()
      let version = bench.place("a", size: Self.size)
      let move = copy(bench, version, to: "b")
      let isBroken = Lock(false)
      let cache = try bench.open(faults: { (now) throws(DiskFailure) in
        guard now == step, isBroken.withLock({ $0 }) else { return }
        throw DiskFailure(errno: 28, action: "write", reason: "no space")
      })
      await bench.fill(cache, version)
      isBroken.withLock { $0 = true }
      await cache.follow([move])
      isBroken.withLock { $0 = false }
      #expect(cache.cachedByteCount(of: version) == Self.size, "\(step)")
      for one in [version, move.target] {
        #expect(
          await cache.open(one).bytes(ByteRange(0, Self.size)) == .success(bench.bytes(version))
        )
      }
    }
  }

  /// A crash leaves the checkpoint of the one without data, or the data of the other without checkpoint.
  @Test func aCrashOnTheWayLosesNoMoreThanTheCache() async throws {
    for isDataMoved in [false, true] {
      let bench = try CacheBench()
      let version = bench.place("a", size: Self.size)
      let move = copy(bench, version, to: "b")
      do {
        let cache = try bench.open()
        await bench.fill(cache, version)
        let old = cache.directory.paths(of: EntryID(version))
        let new = cache.directory.paths(of: EntryID(move.target))
        try cache.directory.makeDirectory(of: EntryID(move.target))
        let path = try #require(old.checkpoint)
        let text = try #require(try CheckpointFile.text(at: path))
        var checkpoint = try Checkpoint(parsing: text, dataSize: Self.size)
        checkpoint.identity = cache.identity(of: move.target)
        _ = try CheckpointFile.replace(try #require(new.checkpoint), with: checkpoint.text)
        if isDataMoved { try Disk.rename(old.data, to: new.data) }
        await cache.close()
      }
      let again = try bench.open()
      for one in [version, move.target] {
        #expect(
          await again.open(one).bytes(ByteRange(0, Self.size)) == .success(bench.bytes(version))
        )
      }
    }
  }

  @Test func whatWasTamperedWithIsNotServedUnderTheNewKey() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: Self.size)
    let move = copy(bench, version, to: "b")
    do {
      let cache = try bench.open()
      await bench.fill(cache, version)
      await cache.close()
    }
    let data = try FileDescriptor.open(try #require(try bench.files("data").first), [.readWrite])
    try [UInt8](repeating: 0, count: 100).withUnsafeBytes { try data.write($0, at: 1 << 20) }
    let cache = try bench.open()
    await cache.follow([move])
    #expect(
      await cache.open(move.target).bytes(ByteRange(0, Self.size)) == .success(bench.bytes(version))
    )
  }
}
