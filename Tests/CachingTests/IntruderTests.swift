import Caching
import Core
import Simulation
import Support
import Testing
import Transfer

/// What may lie where a file of the cache should.
enum Intruder: String, CaseIterable {
  case link
  case danglingLink
  case directory
  case pipe
  case device
  case hardLink
  case foreignFile

  /// What only root can make can't be tested by others.
  static var possible: [Intruder] {
    Disk.userID == 0 ? allCases : allCases.filter { $0 != .device && $0 != .foreignFile }
  }

  /// Puts it in the place of the file at `path`; `victim` is a file that must not change.
  func replace(_ path: String, victim: String) throws {
    let content = try contents(path)
    try Disk.removeTree(path)
    switch self {
    case .link: try makeLink(path, to: victim)
    case .danglingLink: try makeLink(path, to: victim + ".not-there")
    case .directory:
      try Disk.createDirectory(path)
      try overwrite(path + "/something", [1])
    case .pipe: try makePipe(path)
    case .device: try makeDevice(path)
    case .hardLink: try makeHardLink(path, to: victim)
    case .foreignFile:
      try overwrite(path, content)
      try giveAway(path, to: 1)
    }
  }
}

/// What somebody put in the place of the cache's files is set aside and never followed (O5).
@Suite struct IntruderTests {
  private let victimBytes: [UInt8] = Array("dipper checkpoint 1\nprecious\n".utf8)

  /// A bench with one filled entry, nobody using it, and a file that is somebody's.
  private func filled() async throws -> (CacheBench, ObjectVersion, victim: String) {
    let bench = try CacheBench()
    let version = bench.place("a", size: 1000)
    let cache = try bench.open()
    await bench.fill(cache, version)
    await cache.close()
    let victim = bench.directory.file("victim")
    try overwrite(victim, victimBytes)
    return (bench, version, victim)
  }

  /// Opens the cache, reads the object through it, and checks that it was kept.
  private func readsAndKeeps(
    _ bench: CacheBench,
    _ version: ObjectVersion,
    _ comment: Comment
  ) async throws -> ObjectCache {
    let cache = try bench.open(environment: try bench.loggingEnvironment)
    let object = cache.open(version)
    #expect(object is Download, comment)
    let whole = ByteRange(0, version.size)
    #expect(await object.bytes(whole) == .success(bench.bytes(version)), comment)
    await (object as? Download)?.settled()
    #expect(object.cachedByteCount == version.size, comment)
    return cache
  }

  @Test(arguments: ["data", "checkpoint"], Intruder.possible)
  func o5WhatIsNoFileOfOursIsSetAside(name: String, intruder: Intruder) async throws {
    let (bench, version, victim) = try await filled()
    let path = try #require(try bench.files(name).first)
    try intruder.replace(path, victim: victim)
    let cache = try await readsAndKeeps(bench, version, "\(name) \(intruder)")
    #expect(try contents(victim) == victimBytes)
    #expect(try Disk.status(of: victim + ".not-there") == nil)
    #expect(try Disk.names(in: cache.path + "/aside").count == 1)
    #expect(try Disk.status(of: path)?.kind == .file)
    let lines = try bench.logLines()
    #expect(lines.count == 1, "\(lines)")
    // The next process finds it whole.
    await cache.close()
    bench.store.forgetCalls()
    let again = try await readsAndKeeps(bench, version, "\(name) \(intruder), again")
    #expect(bench.store.calls.isEmpty)
    await again.close()
  }

  @Test(arguments: Intruder.possible)
  func o5ALeftoverThatIsNoFileOfOursIsNotWrittenTo(intruder: Intruder) async throws {
    let (bench, version, victim) = try await filled()
    let checkpoint = try #require(try bench.files("checkpoint").first)
    try overwrite(checkpoint + ".new", [])
    try intruder.replace(checkpoint + ".new", victim: victim)
    // A torn text is written anew, beside the old one.
    try overwrite(checkpoint, try contents(checkpoint) + Array("0 1".utf8))
    _ = try await readsAndKeeps(bench, version, "\(intruder)")
    #expect(try contents(victim) == victimBytes)
    #expect(try bench.logLines().count <= 1)
  }

  @Test(
    arguments: [1, 2, 3],
    [Intruder.link, .danglingLink, .pipe, .foreignFile]
  )
  func o5WhatIsNoDirectoryOfOursIsSetAside(depth: Int, intruder: Intruder) async throws {
    guard Intruder.possible.contains(intruder) else { return }
    let (bench, version, _) = try await filled()
    let checkpoint = try #require(try bench.files("checkpoint").first)
    // The entry's directory, its key's, or the one above.
    let path = checkpoint.split(separator: "/").dropLast(depth).reduce("") { $0 + "/" + $1 }
    // The link leads to what was there: it looks right and still isn't ours.
    let elsewhere = bench.directory.file("elsewhere")
    try Disk.rename(path, to: elsewhere)
    try overwrite(path, [])
    try intruder.replace(path, victim: elsewhere)
    let cache = try await readsAndKeeps(bench, version, "\(depth) \(intruder)")
    #expect(try Disk.names(in: elsewhere).count == (depth == 1 ? 2 : 1), "left as it was")
    #expect(try Disk.names(in: cache.path + "/aside").count == 1)
    #expect(try Disk.status(of: path)?.kind == .directory)
  }

  /// The look through the cache at the start and who opens an object find the same intruder: it is set
  /// aside once, and what was made in its place stays.
  @Test func o5TwoThatFindAnIntruderSetItAsideOnce() async throws {
    let bench = try CacheBench()
    let versions = (0..<64).map { bench.place("\($0)", size: 100 + $0) }
    let first = try bench.open()
    for version in versions { await bench.fill(first, version) }
    await first.close()
    let checkpoints = try bench.files("checkpoint")
    for checkpoint in checkpoints {
      let path = checkpoint.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
      try Disk.removeTree(path)
      try makeLink(path, to: "/nowhere")
    }
    let cache = try bench.open()
    var kept: [any CachedObject] = []
    for version in versions { kept.append(cache.open(version)) }
    #expect(kept.filter { $0 is Download }.count == versions.count)
    for (version, object) in zip(versions, kept) {
      #expect(await object.bytes(ByteRange(0, version.size)) == .success(bench.bytes(version)))
      await (object as? Download)?.settled()
    }
    #expect(try bench.files("checkpoint").count == versions.count, "none was set aside again")
    await cache.close()
  }

  @Test func onlyTheLastThatWereSetAsideAreKept() async throws {
    let (bench, version, _) = try await filled()
    let checkpoint = try #require(try bench.files("checkpoint").first)
    let aside =
      checkpoint.split(separator: "/").dropLast(5).reduce("") { $0 + "/" + $1 } + "/aside"
    try Disk.createDirectory(aside)
    for number in 0..<10 {
      try Disk.createDirectory("\(aside)/old-\(number)")
      try setModified("\(aside)/old-\(number)", 1000 + number)
    }
    try overwrite(checkpoint, Array("nonsense\n".utf8))
    _ = try await readsAndKeeps(bench, version, "damaged")
    let names = try Disk.names(in: aside)
    #expect(names.count == 8)
    #expect(names.filter { $0.hasPrefix("old-") }.sorted() == (3..<10).map { "old-\($0)" })
  }

  @Test func o5EvictingDoesNotFollowLinks() async throws {
    let (bench, version, _) = try await filled()
    let checkpoint = try #require(try bench.files("checkpoint").first)
    let path = checkpoint.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    let elsewhere = bench.directory.file("elsewhere")
    let cache = try bench.open()
    try Disk.rename(path, to: elsewhere)
    try makeLink(path, to: elsewhere)
    #expect(cache.cachedByteCount(of: version) == 0)
    #expect(cache.evict(version) != nil)
    #expect(try Disk.names(in: elsewhere).sorted() == ["checkpoint", "data"])
  }

  @Test func o5ALinkBesideTheFilesGoesAlone() async throws {
    let (bench, version, victim) = try await filled()
    let checkpoint = try #require(try bench.files("checkpoint").first)
    let elsewhere = bench.directory.file("elsewhere")
    try Disk.createDirectory(elsewhere)
    try overwrite(elsewhere + "/precious", victimBytes)
    try makeLink(checkpoint + ".elsewhere", to: elsewhere)
    try makeLink(checkpoint + ".victim", to: victim)
    let cache = try bench.open()
    #expect(try await eventually { cache.evict(version) != nil })
    #expect(try bench.files("data").isEmpty)
    #expect(try contents(elsewhere + "/precious") == victimBytes)
    #expect(try contents(victim) == victimBytes)
    await cache.close()
  }

  @Test(arguments: Intruder.possible)
  func o5ALockThatIsNoFileOfOursIsSetAside(intruder: Intruder) async throws {
    let (bench, version, victim) = try await filled()
    let path = try #require(try bench.files("data").first)
    let store = path.split(separator: "/").dropLast(5).reduce("") { $0 + "/" + $1 }
    try overwrite(store + "/lock", [])
    try intruder.replace(store + "/lock", victim: victim)
    let cache = try await readsAndKeeps(bench, version, "\(intruder)")
    #expect(try contents(victim) == victimBytes)
    #expect(try bench.logLines().count == 1)
    #expect(throws: CacheError.self) { _ = try bench.open() }
    await cache.close()
  }

  @Test func o6OfTwoThatFindAnIntruderOneGoesFirst() async throws {
    let (bench, _, _) = try await filled()
    let path = try #require(try bench.files("data").first)
    let store = path.split(separator: "/").dropLast(5).reduce("") { $0 + "/" + $1 }
    try Disk.createDirectory(store + "/lock")
    // As a process that is about to set it aside.
    let directory = try FileDescriptor.open(store, [.read, .directory])
    try #require(try directory.tryLock())
    #expect(throws: CacheError.held(directory: store, by: "a process that has just started")) {
      _ = try bench.open()
    }
    #expect(try Disk.status(of: store + "/lock")?.kind == .directory)
    #expect(try Disk.status(of: store + "/aside") == nil)
    withExtendedLifetime(directory) {}
  }

  @Test func o6ALockWithASecondNameIsStillALock() async throws {
    let bench = try CacheBench()
    let cache = try bench.open()
    try makeHardLink(bench.directory.file("second"), to: cache.path + "/lock")
    #expect(throws: CacheError.self) { _ = try bench.open() }
    #expect(cache.open(bench.place("a", size: 10)) is Download)
  }
}
