import Caching
import Core
import Simulation
import Support
import Testing
import Transfer

/// Made once, because making them byte by byte is most of a test's time.
private let content = SimulatedContent.words(size: 240_000, seed: 1).allBytes

/// A disk that fails at one of its steps, or at all of them from there on, until it is well again.
private final class FaultyDisk: Sendable {
  private struct State {
    var count = 0
    var isWell = false
  }

  private let errno: Int32
  private let failing: ClosedRange<Int>
  private let state = Lock(State())

  init(errno: Int32, failing: ClosedRange<Int>) {
    self.errno = errno
    self.failing = failing
  }

  /// How many steps there were.
  var count: Int { state.withLock { $0.count } }

  func recover() { state.withLock { $0.isWell = true } }

  var faults: PartFile.DiskFaults {
    { [self] (step) throws(DiskFailure) in
      let fails = state.withLock { state in
        state.count += 1
        return !state.isWell && failing.contains(state.count)
      }
      if fails { throw DiskFailure(errno: errno, action: "\(step)", reason: "errno \(errno)") }
    }
  }
}

/// The cache's disk fails at each step it takes: reads go on, and the cache works again afterwards.
@Suite struct FullDiskTests {
  /// Reads an object in pieces on a disk that fails at `failing`.
  ///
  /// - Returns: how many steps the disk was asked for.
  private func read(errno: Int32, failing: ClosedRange<Int>) async throws -> Int {
    let bench = try CacheBench()
    let disk = FaultyDisk(errno: errno, failing: failing)
    var settings = DownloadSettings()
    settings.diskRetryDelay = .zero
    let cache = try bench.open(
      download: settings,
      environment: try bench.loggingEnvironment,
      faults: disk.faults
    )
    let bytes = content
    let version = bench.store.place(ObjectKey("a"), .bytes(bytes))
    let comment: Comment = "errno \(errno), failing \(failing)"
    for lower in stride(from: 0, to: version.size, by: 60_000) {
      let range = ByteRange(lower, lower + 60_000)
      let object = cache.open(version)
      let read = await object.bytes(range)
      #expect(read == .success(Array(bytes[range.lowerBound..<range.upperBound])), comment)
      await (object as? Download)?.settled()
    }
    let lines = try bench.logLines()
    // Once for what was open when it began, for its bytes and its record, and once for the rest.
    #expect(lines.count <= (failing.count == 1 ? 1 : 3), "\(comment): \(lines)")
    let stepCount = disk.count
    disk.recover()
    try await cache.warm(version) { _ in }
    #expect(cache.map(of: version).isWhole, comment)
    await cache.close()
    bench.store.forgetCalls()
    let again = try bench.open()
    #expect(await again.open(version).bytes(ByteRange(0, version.size)) == .success(bytes), comment)
    await again.close()
    return stepCount
  }

  @Test(arguments: [Int32(28), 5]) func aDiskThatFailsOnceIsReadAround(errno: Int32) async throws {
    var number = 1
    while try await read(errno: errno, failing: number...number) >= number { number += 1 }
    #expect(number > 20, "the disk was not asked for much")
  }

  @Test(arguments: [Int32(28), 5])
  func aDiskThatFailsFromSomewhereOnIsReadAround(errno: Int32) async throws {
    for number in [1, 2, 3, 4, 5, 8, 13, 21, 34] {
      _ = try await read(errno: errno, failing: number...Int.max)
    }
  }

  @Test func aCacheDirectoryThatGoesIsReadAroundAndComesBack() async throws {
    let bench = try CacheBench()
    let cache = try bench.open(environment: try bench.loggingEnvironment)
    let versions = (0..<4).map { bench.place("\($0)", size: 1000) }
    let whole = ByteRange(0, 1000)
    let held = cache.open(versions[0])
    #expect(
      await held.bytes(ByteRange(0, 500)) == .success(Array(bench.bytes(versions[0])[..<500]))
    )
    await (held as? Download)?.settled()
    let objects = cache.path + "/objects"
    // In its place a file, as on a disk that was unmounted and is something else now.
    try Disk.rename(bench.root, to: bench.root + ".away")
    try overwrite(bench.root, [])
    #expect(await held.bytes(whole) == .success(bench.bytes(versions[0])))
    let around = cache.open(versions[1])
    #expect(await around.bytes(whole) == .success(bench.bytes(versions[1])))
    #expect(try !bench.logLines().isEmpty)
    // It comes back as it was.
    try Disk.removeFile(bench.root)
    try Disk.rename(bench.root + ".away", to: bench.root)
    await bench.fill(cache, versions[2])
    #expect(cache.cachedByteCount(of: versions[2]) == 1000)
    // Its content goes, and comes back as a link that somebody laid.
    try Disk.removeTree(objects)
    let elsewhere = bench.directory.file("elsewhere")
    try Disk.createDirectory(elsewhere)
    try makeLink(objects, to: elsewhere)
    #expect(await cache.open(versions[3]).bytes(whole) == .success(bench.bytes(versions[3])))
    #expect(try Disk.names(in: elsewhere) == [])
  }
}
