import Caching
import Core
import Simulation
import Support
import Testing
import Transfer

/// What a cache says of its objects without asking the store.
@Suite struct KnowledgeTests {
  private func directory(of file: String) -> String {
    file.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  }

  private func known(_ cache: ObjectCache) async -> [ObjectVersion] {
    await cache.knownObjects(under: ObjectKey("")).map(\.version)
  }

  /// The entry's directory of the one object that a cache was filled with.
  private func filled(_ bench: CacheBench, _ version: ObjectVersion) async throws -> String {
    let cache = try bench.open()
    await bench.fill(cache, version)
    await cache.close()
    return directory(of: try #require(try bench.files("checkpoint").first))
  }

  @Test func ofTwoVersionsTheOneThatWasUsedLastIsKnown() async throws {
    let bench = try CacheBench()
    let old = bench.place("a", size: 1000, seed: 1)
    let path = try await filled(bench, old)
    let elsewhere = bench.directory.file("elsewhere")
    try Disk.rename(path, to: elsewhere)
    let new = bench.place("a", size: 2000, seed: 2)
    let newPath = try await filled(bench, new)
    try Disk.rename(elsewhere, to: path)
    let cache = try bench.open()
    for (oldTime, newTime, expected) in [(1000, 2000, new), (2000, 1000, old)] {
      try setModified(path + "/checkpoint", oldTime)
      try setModified(newPath + "/checkpoint", newTime)
      #expect(cache.known(ObjectKey("a"))?.version == expected)
      #expect(await known(cache) == [expected])
    }
  }

  @Test func whatBelongsToAnotherStoreIsNotKnown() async throws {
    let bench = try CacheBench()
    let path = try await filled(bench, bench.place("a", size: 1000)) + "/checkpoint"
    let text = String(decoding: try contents(path), as: UTF8.self)
    #expect(text.contains("simulated"))
    try overwrite(path, Array(text.replacing("simulated", with: "different").utf8))
    let cache = try bench.open()
    #expect(cache.known(ObjectKey("a")) == nil)
    #expect(await known(cache) == [])
  }

  @Test func aVersionThatWasAskedForByItsIdIsNotTheObjects() async throws {
    let bench = try CacheBench()
    let placed = bench.place("a", size: 1000)
    let version = ObjectVersion(
      key: placed.key,
      etag: placed.etag,
      size: placed.size,
      lastModified: placed.lastModified,
      versionID: "7"
    )
    _ = try await filled(bench, version)
    let cache = try bench.open()
    #expect(cache.cachedByteCount(of: version) == 1000)
    #expect(cache.known(ObjectKey("a")) == nil)
    #expect(await known(cache) == [])
  }

  @Test(arguments: [0, 1, 2]) func o5WhatLiesBehindALinkIsNotKnown(depth: Int) async throws {
    let bench = try CacheBench()
    var path = try await filled(bench, bench.place("a", size: 1000))
    for _ in 0..<depth { path = directory(of: path) }
    let elsewhere = bench.directory.file("elsewhere")
    let cache = try bench.open()
    try Disk.rename(path, to: elsewhere)
    try makeLink(path, to: elsewhere)
    #expect(cache.known(ObjectKey("a")) == nil)
  }
}
