import Caching
import Core
import Simulation
import Support
import Testing
import Transfer

private let mebibyte = 1 << 20

@Suite struct WarmingTests {
  @Test func theCacheKeepsTheContract() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.place("a", size: 100_000)
    let contract = PartCacheContract(cache)
    #expect(await contract.violations(of: version, bench.bytes(version)) == [])
  }

  @Test func whatWasWarmedIsRecordedForTheNextProcess() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 9 * mebibyte)
    let seen = Lock<[Int]>([])
    do {
      let cache = try bench.open()
      try await cache.warm(version) { count in seen.withLock { $0.append(count) } }
      await cache.close()
    }
    let counts = seen.withLock { $0 }
    #expect(counts == counts.sorted())
    #expect(counts.last == version.size)
    bench.store.forgetCalls()
    let cache = try bench.open()
    try await cache.warm(version) { _ in }
    #expect(cache.map(of: version).isWhole)
    #expect(bench.store.calls.isEmpty)
  }

  @Test func r4WarmingFetchesWhatWasTamperedWith() async throws {
    let bench = try CacheBench()
    let version = bench.place("a", size: 2 * mebibyte)
    do {
      let cache = try bench.open()
      await bench.fill(cache, version)
      await cache.close()
    }
    let path = try #require(try bench.files("data").first)
    var data = try contents(path)
    data[mebibyte + 5] ^= 1
    try overwrite(path, data)
    let cache = try bench.open()
    bench.store.forgetCalls()
    try await cache.warm(version) { _ in }
    #expect(bench.store.calls.count == 1)
    #expect(try contents(path) == bench.bytes(version))
  }

  @Test func warmingIsCancelled() async throws {
    let bench = try CacheBench()
    let version = bench.store.place(
      ObjectKey("a"),
      SimulatedContent.words(size: 40 * mebibyte, seed: 1)
    )
    let cache = try bench.open()
    let gate = Gate()
    bench.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let warming = Task { () -> FetchError? in
      do throws(FetchError) {
        try await cache.warm(version) { _ in }
        return nil
      } catch {
        return error
      }
    }
    #expect(try await eventually { !bench.store.calls.isEmpty })
    warming.cancel()
    #expect(await warming.value == .cancelled)
    gate.open()
    #expect(try await eventually { bench.environment.scheduler.runningCount == 0 })
    #expect(bench.environment.scheduler.waitingCount == 0)
    #expect(!cache.map(of: version).isWhole)
  }

  @Test func warmingSaysThatTheDiskIsFull() async throws {
    let bench = try CacheBench()
    let cache = try bench.open(
      faults: { (step) throws(DiskFailure) in
        guard step == .writeData else { return }
        throw DiskFailure(errno: 28, action: "write", reason: "No space left on device")
      }
    )
    let version = bench.place("a", size: 2 * mebibyte)
    await #expect(throws: FetchError.self) { try await cache.warm(version) { _ in } }
    // Not a byte went into memory for nobody.
    #expect(bench.store.calls.count == 1)
  }

  @Test func whatDoesNotFitIsNotWarmed() async throws {
    let bench = try CacheBench()
    let cache = try bench.open(byteCountMax: mebibyte)
    let version = bench.place("a", size: mebibyte + 1)
    await #expect(throws: FetchError.self) { try await cache.warm(version) { _ in } }
    #expect(bench.store.calls.isEmpty)
  }

  @Test func theMapShowsWhatIsThere() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    let version = bench.store.place(
      ObjectKey("a"),
      SimulatedContent.words(size: 3 * mebibyte, seed: 1)
    )
    do {
      let object = cache.open(version)
      _ = await object.bytes(ByteRange(mebibyte, mebibyte + 1000))
      await (object as? Download)?.settled()
      let map = cache.map(of: version)
      #expect(map.cached == ByteRangeSet([ByteRange(mebibyte, mebibyte + 1000)]))
      #expect(map.absent == [ByteRange(0, mebibyte), ByteRange(mebibyte + 1000, 3 * mebibyte)])
      #expect(cache.evict(version) == nil)
    }
    #expect(try await eventually { cache.openDownloads.isEmpty })
    #expect(cache.map(of: version).cached.byteCount == 1000)
    #expect(cache.evict(version) != nil)
    #expect(cache.map(of: version).cached.isEmpty)
  }

  @Test(arguments: 0..<6) func readsAndEvictionsAtOnceNeverServeWrongBytes(
    seed: UInt64
  ) async throws {
    let bench = try CacheBench()
    let cache = try bench.open(byteCountMax: mebibyte)
    let size = 100_000
    let versions = (0..<3).map { bench.place("\($0)", size: size, seed: UInt64($0 + 1)) }
    let expected = versions.enumerated().map { bench.bytes($1, seed: UInt64($0 + 1)) }
    await withTaskGroup { group in
      for reader in 0..<4 {
        group.addTask {
          var random = Seeded(seed &* 10 &+ UInt64(reader))
          for _ in 0..<60 {
            let index = Int.random(in: 0..<3, using: &random)
            let lower = Int.random(in: 0..<size, using: &random)
            let range = ByteRange(lower, min(size, lower + 20_000))
            let bytes = await cache.open(versions[index]).bytes(range)
            let right = Array(expected[index][range.lowerBound..<range.upperBound])
            #expect(bytes == .success(right), "seed \(seed), \(index) \(range)")
          }
        }
      }
      group.addTask {
        var random = Seeded(seed &+ 1000)
        for _ in 0..<200 {
          _ = cache.evict(versions[Int.random(in: 0..<3, using: &random)])
          await Task.yield()
        }
      }
    }
    await cache.close()
  }
}
