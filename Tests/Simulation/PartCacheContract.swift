package import Core

/// What must hold of every part cache; run against the real one and the simulated one.
package struct PartCacheContract {
  private let cache: any PartCache

  /// Creates the contract of `cache`.
  package init(_ cache: any PartCache) {
    self.cache = cache
  }

  /// Warms, maps, reads and evicts one object that the cache doesn't have yet and nobody has open.
  ///
  /// - Parameters:
  ///   - version: the object; not empty.
  ///   - bytes: its bytes.
  /// - Returns: what didn't hold, in sentences.
  package func violations(of version: ObjectVersion, _ bytes: [UInt8]) async -> [String] {
    var violations: [String] = []
    func expect(_ holds: Bool, _ claim: String) { if !holds { violations.append(claim) } }
    let whole = ByteRange(0, version.size)
    let empty = cache.map(of: version)
    expect(empty.size == version.size && empty.absent == [whole], "at first all is absent")
    do throws(FetchError) {
      try await cache.warm(version) { _ in }
    } catch {
      violations.append("warming ends well, not with \(error)")
    }
    let full = cache.map(of: version)
    expect(full.isWhole && full.absent.isEmpty, "what was warmed is cached")
    expect(full.underWay.isEmpty, "and nothing is on its way any more")
    expect(cache.cachedByteCount(of: version) == version.size, "the count agrees with the map")
    expect(await read(version) == bytes, "warmed bytes are right")
    expect(await evicted(version) > 0, "evicting what nobody has open frees bytes")
    expect(cache.map(of: version).absent == [whole], "what was evicted is absent")
    expect(cache.evict(version) == 0, "there is nothing left to evict")
    expect(await read(version) == bytes, "bytes are right after eviction")
    return violations
  }

  /// Evicts as soon as what was at work lets go.
  private func evicted(_ version: ObjectVersion) async -> Int {
    for _ in 0..<10_000 {
      if let freed = cache.evict(version) { return freed }
      try? await Task.sleep(for: .milliseconds(1))
    }
    return 0
  }

  private func read(_ version: ObjectVersion) async -> [UInt8]? {
    guard let object = try? cache.open(version) else { return nil }
    return try? await object.bytes(ByteRange(0, version.size)).get()
  }
}
