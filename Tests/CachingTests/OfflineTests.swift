import Caching
import Core
import Simulation
import Support
import Testing
import Transfer

private let mebibyte = 1 << 20

@Suite struct OfflineTests {
  private let context = RequestContext(deadline: .distantFuture)

  /// Fills a cache with whole objects and opens it again without its store.
  private func offline(
    _ bench: CacheBench,
    _ versions: [ObjectVersion]
  ) async throws -> (ObjectCache, OfflineStore) {
    let before = try bench.open()
    for version in versions { await bench.fill(before, version) }
    await before.close()
    bench.store.forgetCalls()
    let store = OfflineStore(name: "s3://simulated")
    let cache = try bench.open(store: store)
    store.learn(await cache.knownObjects(under: ObjectKey("")))
    return (cache, store)
  }

  private func error<Answer>(
    _ body: () async throws(StoreError) -> Answer
  ) async -> StoreError.Kind? {
    do throws(StoreError) {
      _ = try await body()
      return nil
    } catch {
      return error.kind
    }
  }

  @Test func r6WhatIsCachedIsReadWithoutTheStoreAfterARestart() async throws {
    let bench = try CacheBench()
    let version = bench.place("dir/a b", size: 2 * mebibyte)
    let (cache, store) = try await offline(bench, [version])
    let known = try await store.head(version.key, versionID: nil, ifMatch: nil, context: context)
    #expect(known.version == version)
    let whole = ByteRange(0, version.size)
    #expect(await cache.open(known.version).bytes(whole) == .success(bench.bytes(version)))
    #expect(bench.store.calls.isEmpty)
  }

  @Test func r6WhatIsNotCachedFailsAtOnce() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 3 * mebibyte)
    do {
      let cache = try bench.open()
      let object = cache.open(version)
      _ = await object.bytes(ByteRange(0, mebibyte))
      await (object as? Download)?.settled()
      await cache.close()
    }
    let (cache, store) = try await offline(bench, [])
    let known = try await store.head(version.key, versionID: nil, ifMatch: nil, context: context)
    let object = cache.open(known.version)
    let first = ByteRange(0, mebibyte)
    #expect(await object.bytes(first) == .success(Array(bench.bytes(version)[..<mebibyte])))
    // Also for those who join a fetch that was only a guess.
    let rest = ByteRange(mebibyte, 3 * mebibyte)
    let missing = await object.bytes(ByteRange(2 * mebibyte, 2 * mebibyte + 5), ahead: [rest])
    guard case .failure(.store(let error)) = missing else {
      Issue.record("\(missing)")
      return
    }
    #expect(error.kind == .offline)
    #expect(bench.store.calls.isEmpty)
  }

  @Test func theCacheKnowsItsObjectsByKey() async throws {
    let bench = try CacheBench()
    let versions = ["b", "a/1", "a/2"].map { bench.place($0, size: 1000) }
    let (cache, _) = try await offline(bench, versions)
    #expect(cache.known(ObjectKey("a/1"))?.version == versions[1])
    #expect(cache.known(ObjectKey("a/1"))?.cachedByteCount == 1000)
    #expect(cache.known(ObjectKey("a")) == nil)
    let all = await cache.knownObjects(under: ObjectKey(""))
    #expect(all.map(\.version.key) == [ObjectKey("a/1"), ObjectKey("a/2"), ObjectKey("b")])
    let below = await cache.knownObjects(under: ObjectKey("a/"))
    #expect(below.map(\.version.key) == [ObjectKey("a/1"), ObjectKey("a/2")])
  }

  @Test func o3WhatIsKnownOfTheCacheIsBounded() async throws {
    let bench = try CacheBench()
    let versions = (0..<10).map { bench.place("\($0)", size: 10) }
    let (cache, _) = try await offline(bench, versions)
    let some = await cache.knownObjects(under: ObjectKey(""), byteCountMax: 1000)
    #expect(some.count == 3)
  }

  @Test func aCheckpointInAnothersPlaceIsNotKnown() async throws {
    let bench = try CacheBench()
    let versions = ["a", "b"].map { bench.place($0, size: 1000) }
    let (cache, _) = try await offline(bench, versions)
    let paths = try bench.files("checkpoint")
    try #require(paths.count == 2)
    try overwrite(paths[0], try contents(paths[1]))
    let listed = await cache.knownObjects(under: ObjectKey("")).map(\.version)
    #expect(listed.count == 1 && versions.contains(listed[0]))
    // The other has an entry still, whose checkpoint speaks of the first.
    #expect(versions.compactMap { cache.known($0.key)?.version } == listed)
  }

  @Test func offlineListingsAgreeWithTheStores() async throws {
    let bench = try CacheBench()
    let keys = ["a", "a/", "a/b", "a/b/c", "a/d", "a0", "b/c/d", "b/c/e", "c", "c/"]
    let versions = keys.map { bench.place($0, size: 10) }
    let (_, store) = try await offline(bench, versions)
    for prefix in ["", "a", "a/", "b/", "b/c/", "x"] {
      for isDelimited in [true, false] {
        for countMax in [1, 2, 1000] {
          var mine: [[String]] = []
          var theirs: [[String]] = []
          for (source, isMine) in [(store as any ObjectStore, true), (bench.store, false)] {
            var request = ListRequest(
              prefix: ObjectKey(prefix),
              isDelimited: isDelimited,
              countMax: countMax
            )
            for _ in 0..<30 {
              let page = try await source.list(request, context: context)
              let names =
                page.objects.map(\.key.description) + page.commonPrefixes.map(\.description)
              if isMine { mine.append(names) } else { theirs.append(names) }
              request.continuationToken = page.nextToken
              if page.nextToken == nil { break }
            }
          }
          #expect(mine == theirs, "\(prefix) \(isDelimited) \(countMax)")
        }
      }
    }
  }

  @Test func offlineAnotherVersionIsRefused() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 10)
    let (_, store) = try await offline(bench, [version])
    let same = try await store.head(
      version.key,
      versionID: nil,
      ifMatch: version.etag,
      context: context
    )
    #expect(same.version == version)
    for (versionID, ifMatch, kind) in [
      (nil, ETag("other"), StoreError.Kind.preconditionFailed), ("7", nil, .notFound),
    ] {
      #expect(
        await error { () throws(StoreError) in
          try await store.head(
            version.key,
            versionID: versionID,
            ifMatch: ifMatch,
            context: context
          )
        } == kind
      )
    }
  }

  @Test func offlineNothingElseCanBeHad() async throws {
    let store = OfflineStore(name: "s3://simulated")
    let key = ObjectKey("a")
    #expect(
      await error { () throws(StoreError) in
        try await store.head(key, versionID: nil, ifMatch: nil, context: context)
      } == .notFound
    )
    #expect(
      await error { () throws(StoreError) in
        try await store.put(PutRequest(key: key), body: .empty, context: context)
      } == .offline
    )
    #expect(
      await error { () throws(StoreError) in
        try await store.delete(key, ifMatch: nil, context: context)
      } == .offline
    )
  }
}
