import Core
import Simulation
import Support
import Testing
import Transfer

@testable import Caching

private let mebibyte = 1 << 20

@Suite struct CacheIndexTests {
  private func id(_ name: String) -> EntryID {
    EntryID(
      ObjectVersion(
        key: ObjectKey(name),
        etag: ETag("e"),
        size: 1,
        lastModified: Timestamp(seconds: 0)
      )
    )
  }

  @Test func theLeastRecentlyUsedGoesFirstAndTheOpenStays() {
    var index = CacheIndex()
    for (number, name) in ["a", "b", "c", "d"].enumerated() {
      index.found(id(name), byteCount: 10, lastUsed: Timestamp(seconds: number))
    }
    index.opened(id("a"), byteCount: 10, at: Timestamp(seconds: 0))
    #expect(index.victims(toFree: 15) == [id("b"), id("c")])
    #expect(index.victims(toFree: 100) == [id("b"), id("c"), id("d")])
    index.closed(id("a"), at: Timestamp(seconds: 2))
    index.closed(id("c"), at: Timestamp(seconds: 5))
    #expect(index.victims(toFree: 35) == [id("b"), id("a"), id("d"), id("c")])
    #expect(index.byteCount == 40)
    index.forget(id("b"))
    index.grew(id("c"), by: 5)
    index.grew(id("b"), by: 5)
    #expect(index.byteCount == 35)
    #expect(index.victims(toFree: 0) == [])
  }

  @Test func whatIsNotOursToRemoveIsNoVictim() {
    var index = CacheIndex()
    index.found(id("a"), byteCount: 10, lastUsed: Timestamp(seconds: 1))
    index.found(id("b"), byteCount: 10, lastUsed: Timestamp(seconds: 2))
    index.kept(id("a"))
    #expect(index.victims(toFree: 20) == [id("b")])
    #expect(index.byteCount == 20, "it takes room all the same")
  }

  @Test func noTwoVersionsShareAnEntry() {
    func id(_ key: String, _ etag: String, _ size: Int, _ versionID: String?) -> EntryID {
      EntryID(
        ObjectVersion(
          key: ObjectKey(key),
          etag: ETag(etag),
          size: size,
          lastModified: Timestamp(seconds: 0),
          versionID: versionID
        )
      )
    }
    let different = [
      id("a", "e", 1, nil), id("b", "e", 1, nil), id("a", "f", 1, nil), id("a", "e", 11, nil),
      id("a", "e", 1, "1"), id("a", "e", 1, "2"), id("a", "e1", 1, nil),
    ]
    #expect(Set(different).count == different.count)
    #expect(different.count { $0.keyName == different[0].keyName } == different.count - 1)
  }

  @Test func namesOnDiskLeadBackToTheEntry() {
    let entry = id("a")
    #expect(EntryID(keyName: entry.keyName, versionName: entry.versionName) == entry)
    #expect(EntryID(keyName: "../..", versionName: entry.versionName) == nil)
    #expect(EntryID(keyName: entry.keyName.uppercased(), versionName: entry.versionName) == nil)
  }
}

@Suite struct EvictionTurnTests {
  @Test func oneBeginsAndAWishInTheMeantimeMakesItLookAgain() {
    var turn = EvictionTurn()
    let begins = (0..<3).map { _ in turn.wanted() }
    let goesOn = (0..<2).map { _ in turn.ended() }
    #expect(begins == [true, false, false])
    #expect(goesOn == [true, false])
    let beginsLater = turn.wanted()
    let goesOnLater = turn.ended()
    #expect(beginsLater && !goesOnLater)
  }
}

@Suite struct EvictionTests {
  @Test func whatGrowsWhileSomethingIsEvictedIsNotForgotten() async throws {
    let bench = try CacheBench()
    let cache = try bench.open(byteCountMax: 3 * mebibyte)
    let small = bench.place("small", size: 64 << 10)
    let held = bench.place("held", size: mebibyte)
    for version in [small, held] { await bench.fill(cache, version) }
    #expect(
      try await eventually {
        cache.state.withLock { !$0.index.entries.values.contains { $0.isOpen } }
      }
    )
    // The first round picks both; it removes the small one and then waits for the held one.
    guard case .mine = cache.claim(EntryID(held)) else {
      Issue.record("the entry is open")
      return
    }
    await bench.fill(cache, bench.place("a", size: 2 * mebibyte))
    #expect(
      try await eventually { cache.state.withLock { $0.index.entries[EntryID(small)] == nil } }
    )
    await bench.fill(cache, bench.place("b", size: 2 * mebibyte))
    #expect(
      try await eventually {
        cache.state.withLock { !$0.index.entries.values.contains { $0.isOpen } }
      }
    )
    cache.state.withLock(wakingAll: true) { $0.slots[EntryID(held)] = nil }
    #expect(try await eventually { cache.byteCount <= 3 * mebibyte })
  }

  @Test func whatIsNotOpenGoesWhenTheLimitIsPassed() async throws {
    let bench = try CacheBench()
    let cache = try bench.open(byteCountMax: 3 * mebibyte)
    let versions = (0..<6).map { bench.place("\($0)", size: mebibyte) }
    let kept = cache.open(versions[0])
    for version in versions { await bench.fill(cache, version) }
    #expect(try await eventually { cache.byteCount <= 3 * mebibyte })
    #expect(kept.cachedByteCount == mebibyte)
    #expect(cache.cachedByteCount(of: versions[1]) == 0)
    #expect(cache.cachedByteCount(of: versions[5]) == mebibyte)
    #expect(await kept.bytes(ByteRange(0, mebibyte)) == .success(bench.bytes(versions[0])))
  }

  @Test func aHalfIsRemovedUnlessItHasBecomeWhole() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 1000)
    await bench.fill(cache, version)
    #expect(try await eventually { cache.openDownloads.isEmpty })
    cache.evictHalf(EntryID(version))
    #expect(cache.cachedByteCount(of: version) == 1000)
    #expect(cache.evict(version) != nil)
    await bench.fill(cache, version)
    #expect(try await eventually { cache.openDownloads.isEmpty })
    try Disk.removeFile(#require(bench.files("checkpoint").first))
    cache.evictHalf(EntryID(version))
    #expect(try bench.files("data").isEmpty)
  }

  @Test func anOldVersionThatWasOpenGoesWhenTheNewOneIsOpenedAgain() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let old = bench.place("a", size: 1000)
    var reader: (any CachedObject)? = cache.open(old)
    _ = await reader?.bytes(ByteRange(0, 1000))
    await (reader as? Download)?.settled()
    let new = bench.place("a", size: 2000, seed: 2)
    await bench.fill(cache, new)
    #expect(cache.cachedByteCount(of: old) == 1000)
    reader = nil
    #expect(
      try await eventually {
        _ = cache.open(new)
        return cache.cachedByteCount(of: old) == 0
      }
    )
    #expect(cache.cachedByteCount(of: new) == 2000)
  }

  @Test func aNewVersionReplacesTheOldOne() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let old = bench.place("a", size: mebibyte, seed: 1)
    await bench.fill(cache, old)
    let new = bench.place("a", size: mebibyte, seed: 2)
    await bench.fill(cache, new)
    #expect(try await eventually { try bench.files("data").count == 1 })
    #expect(cache.cachedByteCount(of: new) == mebibyte)
  }

  @Test func theNextProcessEvictsWhatItFinds() async throws {
    let bench = try CacheBench()
    let versions = (0..<4).map { bench.place("\($0)", size: mebibyte) }
    do {
      let cache = try bench.open()
      for version in versions { await bench.fill(cache, version) }
      await cache.close()
    }
    let foreign = try Disk.names(in: bench.root)[0]
    try Disk.createDirectory(bench.root + "/" + foreign + "/objects/zz")
    try Disk.createDirectory(bench.root + "/" + foreign + "/objects/zz/not-a-hash")
    try overwrite(bench.root + "/" + foreign + "/objects/stray", [1])
    try overwrite(bench.root + "/" + foreign + "/objects/zz/not-a-hash/stray", [1])
    let cache = try bench.open(byteCountMax: 2 * mebibyte)
    #expect(try await eventually { try bench.files("data").count <= 2 })
    #expect(try await eventually { try Disk.names(in: cache.path + "/aside").count >= 1 })
  }

  @Test func theNextProcessKnowsWhatWasOpenedLast() async throws {
    let bench = try CacheBench()
    let versions = ["a", "b", "c"].map { bench.place($0, size: mebibyte) }
    do {
      let cache = try bench.open()
      for version in versions { await bench.fill(cache, version) }
      await cache.close()
    }
    for path in try bench.files("checkpoint") {
      let text = String(decoding: try contents(path), as: UTF8.self)
      try setModified(
        path,
        text.contains("key a\n") ? 1000 : text.contains("key b\n") ? 2000 : 3000
      )
    }
    do {
      let cache = try bench.open()
      _ = cache.open(versions[0])
      await cache.close()
    }
    let cache = try bench.open(byteCountMax: 5 * mebibyte / 2)
    #expect(try await eventually { try bench.files("data").count == 2 })
    #expect(versions.map { cache.cachedByteCount(of: $0) } == [mebibyte, 0, mebibyte])
    await cache.close()
  }

  @Test func evictingSparesWhatIsOpen() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 1000)
    do {
      let object = cache.open(version)
      _ = await object.bytes(ByteRange(0, 1000))
      #expect(cache.evict(version) == nil)
      await (object as? Download)?.settled()
    }
    #expect(try await eventually { cache.openDownloads.isEmpty })
    #expect(cache.evict(version) != nil)
    #expect(cache.cachedByteCount(of: version) == 0)
    #expect(try bench.files("data").isEmpty)
  }

  @Test func anotherFormatIsNotEvicted() async throws {
    let bench = try CacheBench()
    let foreign = bench.place("a", size: mebibyte)
    do {
      let cache = try bench.open()
      await bench.fill(cache, foreign)
      await cache.close()
    }
    let checkpoint = try #require(try bench.files("checkpoint").first)
    let text = String(decoding: try contents(checkpoint), as: UTF8.self)
    try overwrite(checkpoint, Array(text.replacing("checkpoint 1\n", with: "checkpoint 9\n").utf8))
    let cache = try bench.open(byteCountMax: mebibyte / 2)
    let version = bench.place("b", size: mebibyte)
    #expect(try await eventually { cache.byteCount >= mebibyte })
    await bench.fill(cache, version)
    #expect(try await eventually { cache.cachedByteCount(of: version) == 0 })
    #expect(try Disk.status(of: checkpoint)?.size == text.utf8.count)
    let size = mebibyte..<mebibyte * 3 / 2
    #expect(try await eventually { size.contains(cache.byteCount) }, "it takes room all the same")
  }

  @Test func evictingFreesMoreThanItMust() async throws {
    let bench = try CacheBench()
    let versions = (0..<22).map { bench.place("\($0)", size: mebibyte) }
    do {
      let cache = try bench.open()
      for version in versions { await bench.fill(cache, version) }
      await cache.close()
    }
    let cache = try bench.open(byteCountMax: 20 * mebibyte)
    #expect(try await eventually { try bench.files("data").count <= 18 })
    #expect(try bench.files("data").count >= 17)
    await cache.close()
  }

  @Test func theEndOfAnEarlierUseLeavesTheEntryOpen() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 1000)
    let object = cache.open(version)
    _ = await object.bytes(ByteRange(0, 1000))
    await (object as? Download)?.settled()
    let id = EntryID(version)
    let number = try #require(cache.state.withLock { $0.slots[id]?.number })
    cache.leaseEnded(id, number &- 1)
    #expect(cache.evict(version) == nil)
    #expect(cache.open(version) === object)
  }

  @Test func whatWasVerifiedIsForgottenWithItsEntry() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 1000)
    await bench.fill(cache, version)
    #expect(cache.state.withLock { $0.verified.count } == 1)
    #expect(try await eventually { cache.evict(version) != nil })
    #expect(cache.state.withLock { $0.verified.isEmpty })
  }

  @Test(arguments: [PartFile.DiskStep.createData, .writeData])
  func aDiskThatIsFullGetsRoom(step: PartFile.DiskStep) async throws {
    let bench = try CacheBench()
    let old = bench.place("a", size: mebibyte)
    do {
      let cache = try bench.open()
      await bench.fill(cache, old)
      await cache.close()
      try Disk.createDirectory(cache.path + "/aside")
      try overwrite(cache.path + "/aside/junk", [1])
    }
    let cache = try bench.open(
      freeByteCountMin: 1 << 60,
      faults: { (current) throws(DiskFailure) in
        if current == step { throw DiskFailure(errno: 28, action: "\(step)", reason: "full") }
      }
    )
    #expect(try await eventually { cache.byteCount > 0 }, "the old entry is found")
    let version = bench.place("b", size: 1000)
    #expect(
      await cache.open(version).bytes(ByteRange(0, 1000)) == .success(bench.bytes(version))
    )
    #expect(try await eventually { cache.cachedByteCount(of: old) == 0 })
    #expect(try await eventually { try Disk.names(in: cache.path + "/aside").isEmpty })
  }

  @Test func aFullFileSystemIsNotFilledFurther() async throws {
    let bench = try CacheBench()
    var download = DownloadSettings()
    download.diskRetryDelay = .seconds(60)
    let cache = try bench.open(freeByteCountMin: 1 << 60, download: download)
    let version = bench.place("a", size: 4 * mebibyte)
    let object = cache.open(version)
    let first = ByteRange(0, 1000)
    #expect(await object.bytes(first) == .success(Array(bench.bytes(version)[..<1000])))
    #expect(
      try await eventually {
        bench.store.forgetCalls()
        return object.cachedByteCount == 1000
      }
    )
    let download2 = try #require(object as? Download)
    #expect(try await eventually { download2.isKeepingPaused })
    let second = ByteRange(2000, 3000)
    #expect(await object.bytes(second) == .success(Array(bench.bytes(version)[2000..<3000])))
    #expect(object.cachedByteCount == 1000)
  }
}
