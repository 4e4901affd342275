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
    index.opened(id("a"), byteCount: 10, at: Timestamp(seconds: 9))
    #expect(index.victims(toFree: 15) == [id("b"), id("c")])
    index.closed(id("a"), at: Timestamp(seconds: 1))
    #expect(index.victims(toFree: 1) == [id("a")] || index.victims(toFree: 1) == [id("b")])
    #expect(index.byteCount == 40)
    index.forget(id("b"))
    index.grew(id("c"), by: 5)
    index.grew(id("b"), by: 5)
    #expect(index.byteCount == 35)
    #expect(index.victims(toFree: 0) == [])
  }

  @Test func namesOnDiskLeadBackToTheEntry() {
    let entry = id("a")
    #expect(EntryID(keyName: entry.keyName, versionName: entry.versionName) == entry)
    #expect(EntryID(keyName: "../..", versionName: entry.versionName) == nil)
    #expect(EntryID(keyName: entry.keyName.uppercased(), versionName: entry.versionName) == nil)
  }
}

@Suite struct EvictionTests {
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
