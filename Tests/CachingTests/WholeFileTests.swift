import Caching
import Core
import Simulation
import Support
import Testing
import Transfer

/// The files that may be read by somebody else: whole, and every byte verified in this process.
@Suite struct WholeFileTests {
  private let mebibyte = 1 << 20

  @Test func whatArrivedInThisProcessIsWholeAtOnce() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 2 * mebibyte)
    #expect(cache.openCached(version) == nil, "nothing is made")
    #expect(try bench.files("data").isEmpty)
    await bench.fill(cache, version)
    let object = try #require(cache.openCached(version))
    let file = try #require(object.wholeFile(verifiedSizeMax: 0))
    #expect(readBytes(of: file, ByteRange(0, version.size + 1)) == bench.bytes(version))
  }

  @Test func aGapIsNotWhole() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 2 * mebibyte)
    let object = cache.open(version)
    _ = await object.bytes(ByteRange(0, version.size - 1))
    #expect(object.wholeFile(verifiedSizeMax: .max) == nil)
  }

  @Test func r4WhatTheProcessBeforeFetchedIsVerifiedFirst() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 3 * mebibyte)
    do {
      let cache = try bench.open()
      await bench.fill(cache, version)
      await cache.close()
    }
    let cache = try bench.open()
    #expect(try await eventually { cache.byteCount > 0 })
    let object = try #require(cache.openCached(version))
    #expect(object.wholeFile(verifiedSizeMax: version.size - 1) == nil)
    _ = await object.bytes(ByteRange(0, version.size - mebibyte))
    #expect(object.wholeFile(verifiedSizeMax: 0) == nil)
    _ = await object.bytes(ByteRange(0, version.size))
    #expect(object.wholeFile(verifiedSizeMax: 0) != nil)
  }

  @Test func r4ASmallFileIsVerifiedWhenItIsAskedFor() async throws {
    let bench = try CacheBench()
    let (good, bad) = (bench.place("a", size: 5000), bench.place("b", size: 6000))
    do {
      let cache = try bench.open()
      await bench.fill(cache, good)
      await bench.fill(cache, bad)
      await cache.close()
    }
    for path in try bench.files("data") where try contents(path).count == bad.size {
      var data = try contents(path)
      data[5] ^= 0x80
      try overwrite(path, data)
    }
    let cache = try bench.open()
    #expect(try await eventually { cache.openCached(good) != nil && cache.openCached(bad) != nil })
    #expect(cache.openCached(good)?.wholeFile(verifiedSizeMax: mebibyte) != nil)
    let object = try #require(cache.openCached(bad))
    #expect(object.wholeFile(verifiedSizeMax: mebibyte) == nil)
    #expect(await object.bytes(ByteRange(0, bad.size)) == .success(bench.bytes(bad)))
    #expect(object.wholeFile(verifiedSizeMax: 0) != nil)
  }

  @Test func whatWasVerifiedIsKnownAfterItsLastReaderLeft() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 3 * mebibyte)
    await bench.fill(cache, version)
    #expect(try await eventually { cache.openDownloads.isEmpty })
    #expect(cache.openCached(version)?.wholeFile(verifiedSizeMax: 0) != nil)
    #expect(try await eventually { cache.openDownloads.isEmpty })
    // Unless somebody wrote to it.
    let path = try #require(try bench.files("data").first)
    var data = try contents(path)
    data[5] ^= 0x80
    try overwrite(path, data)
    let object = try #require(cache.openCached(version))
    #expect(object.wholeFile(verifiedSizeMax: 0) == nil)
    #expect(await object.bytes(ByteRange(0, version.size)) == .success(bench.bytes(version)))
  }

  @Test func aFileInPlaceOfTheVerifiedOneIsVerifiedAnew() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 3 * mebibyte)
    await bench.fill(cache, version)
    #expect(try await eventually { cache.openDownloads.isEmpty })
    // Opened and closed once more, with a time that is easily forged.
    let path = try #require(try bench.files("data").first)
    try setModified(path, 1_000_000)
    do {
      let object = cache.open(version)
      _ = await object.bytes(ByteRange(0, version.size))
      #expect(object.wholeFile(verifiedSizeMax: 0) != nil)
    }
    #expect(try await eventually { cache.openDownloads.isEmpty })
    let forged = bench.directory.file("forged")
    try overwrite(forged, [UInt8](repeating: 0, count: version.size))
    try setModified(forged, 1_000_000)
    try Disk.rename(forged, to: path)
    let object = try #require(cache.openCached(version))
    #expect(object.wholeFile(verifiedSizeMax: 0) == nil)
    #expect(await object.bytes(ByteRange(0, version.size)) == .success(bench.bytes(version)))
  }

  @Test func aFileThatIsLongerThanItsObjectIsNotGivenAway() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 5000)
    await bench.fill(cache, version)
    let object = try #require(cache.openCached(version))
    #expect(object.wholeFile(verifiedSizeMax: 0) != nil)
    let path = try #require(try bench.files("data").first)
    try overwrite(path, bench.bytes(version) + [1])
    #expect(object.wholeFile(verifiedSizeMax: mebibyte) == nil)
    #expect(await object.bytes(ByteRange(0, 5000)) == .success(bench.bytes(version)))
  }

  @Test func anEvictedEntryIsForgotten() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 3 * mebibyte)
    await bench.fill(cache, version)
    do {
      let object = try #require(cache.openCached(version))
      let file = try #require(object.wholeFile(verifiedSizeMax: 0))
      #expect(cache.evict(version) == nil, "somebody holds it")
      #expect(readBytes(of: file, ByteRange(0, version.size)) == bench.bytes(version))
      withExtendedLifetime(object) {}
    }
    #expect(try await eventually { cache.evict(version) != nil })
    #expect(cache.openCached(version) == nil)
  }
}
