import Caching
import Core
import Simulation
import Support
import Testing
import Transfer

private let mebibyte = 1 << 20

@Suite struct ObjectCacheTests {
  @Test func oneVersionIsOneLiveObject() throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 1000)
    let first = cache.open(version)
    #expect(cache.open(version) === first)
    #expect(cache.openDownloads.count == 1)
  }

  @Test func r4NothingRecordedIsFetchedAgainByTheNextProcess() async throws {
    let bench = try CacheBench()
    let version = bench.place("dir/a b", size: 3 * mebibyte)
    do {
      let cache = try bench.open()
      await bench.fill(cache, version)
      #expect(cache.cachedByteCount(of: version) == version.size)
      await cache.close()
    }
    bench.store.forgetCalls()
    let cache = try bench.open()
    #expect(cache.cachedByteCount(of: version) == version.size)
    let object = cache.open(version)
    let whole = ByteRange(0, version.size)
    #expect(await object.bytes(whole) == .success(bench.bytes(version)))
    #expect(bench.store.calls.isEmpty)
  }

  @Test func r4TamperedBytesOfTheCacheAreNotServed() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 2 * mebibyte)
    do {
      let cache = try bench.open()
      await bench.fill(cache, version)
      await cache.close()
    }
    let path = try #require(try bench.files("data").first)
    var data = try contents(path)
    data[5] ^= 0x80
    try overwrite(path, data)
    let cache = try bench.open()
    let object = cache.open(version)
    let range = ByteRange(0, 100)
    #expect(await object.bytes(range) == .success(Array(bench.bytes(version)[..<100])))
  }

  @Test func aSecondProcessIsToldWhoHoldsTheCache() throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    do {
      _ = try bench.open()
      Issue.record("two caches on one directory")
    } catch {
      #expect(error == .held(directory: cache.path, by: "pid \(Disk.processID): a test on /mnt/x"))
    }
  }

  @Test func aClosedCacheCanBeOpenedAgain() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 10)
    do {
      let cache = try bench.open()
      await cache.close()
      let object = cache.open(version)
      #expect(object is UncachedObject)
    }
    let again = try bench.open()
    #expect(again.open(version) is Download)
  }

  @Test func o5ADirectoryThatOthersCanReachIsRefused() throws {
    let bench = try CacheBench()
    try Disk.createDirectory(bench.root, permissions: 0o700)
    try Disk.rename(bench.root, to: bench.root + ".real")
    try makeLink(bench.root, to: bench.root + ".real")
    #expect(throws: CacheError.refused("the cache directory \(bench.root) is a symbolic link")) {
      _ = try bench.open()
    }
    try Disk.removeFile(bench.root)
    try Disk.rename(bench.root + ".real", to: bench.root)
    try setPermissions(bench.root, 0o770)
    #expect(
      throws: CacheError.refused(
        "the cache directory \(bench.root) can be written by other users; chmod it to 0700"
      )
    ) {
      _ = try bench.open()
    }
    try setPermissions(bench.root, 0o700)
    _ = try bench.open()
  }

  /// What only root can make can't be tested by others.
  @Test(.enabled(if: Disk.userID == 0)) func o5ADirectoryOfAnotherUserIsRefused() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let path = cache.path
    await cache.close()
    for directory in [path, bench.root] {
      try giveAway(directory, to: 1)
      #expect(
        throws: CacheError.refused(
          "the cache directory \(directory) belongs to another user (uid 1)"
        )
      ) {
        _ = try bench.open()
      }
      try giveAway(directory, to: 0)
    }
    _ = try bench.open()
  }

  @Test func o5FilesAreTheUsersOwn() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    await bench.fill(cache, bench.place("a", size: 10))
    for name in ["data", "checkpoint", "lock", "store"] {
      let path = try #require(try bench.files(name).first)
      #expect(try Disk.status(of: path)?.permissions == 0o600, "\(name)")
    }
    func check(_ directory: String) throws -> Int {
      #expect(try Disk.status(of: directory)?.permissions == 0o700, "\(directory)")
      let below = try Disk.names(in: directory).map { directory + "/" + $0 }
        .filter { try Disk.status(of: $0)?.kind == .directory }
      return try 1 + below.reduce(0) { try $0 + check($1) }
    }
    // The root, the store's, `objects`, and those of the shard, the key and the version.
    #expect(try check(bench.root) == 6)
    withExtendedLifetime(cache) {}
  }

  @Test func o5ALinkInPlaceOfDataIsNotFollowed() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 1000)
    do {
      let cache = try bench.open()
      await bench.fill(cache, version)
      await cache.close()
    }
    let victim = bench.directory.file("victim")
    try overwrite(victim, [1, 2, 3])
    let path = try #require(try bench.files("data").first)
    try Disk.removeFile(path)
    try makeLink(path, to: victim)
    let cache = try bench.open()
    let object = cache.open(version)
    #expect(await object.bytes(ByteRange(0, 1000)) == .success(bench.bytes(version)))
    #expect(try contents(victim) == [1, 2, 3])
  }

  @Test func anotherFormatIsLeftAloneAndReadAround() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 1000)
    do {
      let cache = try bench.open()
      await bench.fill(cache, version)
      await cache.close()
    }
    let path = try #require(try bench.files("checkpoint").first)
    let text = Array("dipper checkpoint 9\nsomething else\n".utf8)
    try overwrite(path, text)
    let cache = try bench.open()
    let object = cache.open(version)
    #expect(object is UncachedObject)
    #expect(await object.bytes(ByteRange(5, 50)) == .success(Array(bench.bytes(version)[5..<50])))
    #expect(cache.evict(version) == nil)
    #expect(try contents(path) == text)
  }

  @Test(arguments: ["", "nonsense\n", "dipper checkpoint 1\nkey\n"])
  func aDamagedCheckpointIsSetAside(text: String) async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 1000)
    do {
      let cache = try bench.open()
      await bench.fill(cache, version)
      await cache.close()
    }
    let path = try #require(try bench.files("checkpoint").first)
    try overwrite(path, Array(text.utf8))
    let cache = try bench.open()
    let object = cache.open(version)
    #expect(object is Download)
    #expect(await object.bytes(ByteRange(0, 1000)) == .success(bench.bytes(version)))
    #expect(try Disk.names(in: cache.path + "/aside").count == 1)
  }

  @Test func anotherObjectsCheckpointIsNotBelieved() async throws {
    let bench = try CacheBench()
    let first = bench.place("a", size: 1000, seed: 1)
    let second = bench.place("b", size: 1000, seed: 2)
    do {
      let cache = try bench.open()
      await bench.fill(cache, first)
      await bench.fill(cache, second)
      await cache.close()
    }
    let paths = try bench.files("checkpoint")
    try overwrite(paths[1], try contents(paths[0]))
    let cache = try bench.open()
    let whole = ByteRange(0, 1000)
    #expect(await cache.open(first).bytes(whole) == .success(bench.bytes(first, seed: 1)))
    #expect(await cache.open(second).bytes(whole) == .success(bench.bytes(second, seed: 2)))
  }

  @Test func aRemovedCacheDirectoryIsMadeAnew() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 1000)
    await bench.fill(cache, version)
    try Disk.removeTree(bench.root)
    let other = bench.place("b", size: 1000)
    #expect(await cache.open(other).bytes(ByteRange(0, 1000)) == .success(bench.bytes(other)))
    #expect(try bench.files("checkpoint").count == 1)
    #expect(throws: CacheError.self) { _ = try bench.open() }
  }

  @Test func o6ACacheThatAnotherProcessTookIsReadAround() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 1000)
    await bench.fill(cache, version)
    try Disk.removeTree(bench.root)
    let second = try bench.open()
    let other = bench.place("b", size: 1000)
    let object = cache.open(other)
    #expect(object is UncachedObject)
    #expect(await object.bytes(ByteRange(0, 1000)) == .success(bench.bytes(other)))
    #expect(second.open(other) is Download)
  }

  @Test func r5ACacheThatCannotBeMadeIsReadAround() async throws {
    let bench = try CacheBench()
    let disk = FailingCacheDisk()
    let cache = try bench.open(faults: disk.faults)
    let version = bench.place("a", size: 1000)
    let object = cache.open(version)
    #expect(object is UncachedObject)
    #expect(await object.bytes(ByteRange(0, 1000)) == .success(bench.bytes(version)))
  }

  @Test func anObjectWithoutATagIsNotCached() throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = ObjectVersion(
      key: ObjectKey("a"),
      etag: nil,
      size: 10,
      lastModified: Timestamp(seconds: 0)
    )
    #expect(cache.open(version) is UncachedObject)
  }
}

/// A disk on which nothing can be made.
final class FailingCacheDisk: Sendable {
  var faults: PartFile.DiskFaults {
    { (step) throws(DiskFailure) in
      throw DiskFailure(errno: 28, action: "\(step)", reason: "No space left on device")
    }
  }
}
