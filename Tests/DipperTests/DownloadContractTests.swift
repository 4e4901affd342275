import Core
import Dipper
import Simulation
import Support
import Testing

/// What a download does to its target, and what it tells meanwhile.
@Suite struct DownloadContractTests {
  private let old = Array("old".utf8)

  @Test func theTargetIsReplacedInOneStepWhenEveryPartIsThere() async throws {
    let bench = try LibraryBench()
    try bench.directory.write(old, to: "target")
    let targets = Lock<[Bool]>([])
    let directory = bench.directory
    let old = old
    bench.store.hook = { call, _ in
      guard call.operation == .getObject else { return }
      let isOld = (try? directory.bytes(of: "target")) == old
      let gathers = directory.exists("target.dipper-part")
      targets.withLock { $0.append(isOld && gathers) }
    }
    let download = bench.bucket.download(
      LibraryBench.key,
      to: bench.target,
      options: bench.downloadOptions
    )
    #expect(await failure(of: download) == nil)
    #expect(targets.withLock { $0.count > 3 && $0.allSatisfy(\.self) })
    #expect(try bench.isWhole("target") && bench.names == ["target"])
  }

  @Test(arguments: [StoreError.Kind.unreachable, .accessDenied, .notFound, .preconditionFailed])
  func aFailureLeavesAnExistingTargetUntouched(kind: StoreError.Kind) async throws {
    for operation in [StoreOperation.headObject, .getObject] {
      let bench = try LibraryBench()
      try bench.directory.write(old, to: "target")
      bench.fail(operation, from: operation == .getObject ? 2 : 1, kind)
      let (key, options) = (LibraryBench.key, bench.downloadOptions)
      let download = bench.bucket.download(key, to: bench.target, options: options)
      #expect(await failure(of: download) != nil)
      #expect(try bench.directory.bytes(of: "target") == old)
    }
  }

  @Test func theCallerMayNameTheTemporaryFile() async throws {
    let bench = try LibraryBench()
    var options = bench.downloadOptions
    options.temporaryPath = bench.target + ".temp"
    bench.fail(.getObject, from: 2)
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    #expect(await failure(of: bucket.download(key, to: bench.target, options: options)) != nil)
    #expect(bench.names == ["checkpoint", "target.temp"])
    bench.faults.clear()
    #expect(await failure(of: bucket.download(key, to: bench.target, options: options)) == nil)
    #expect(bench.names == ["target"])
  }

  @Test func progressGrowsToTheTotal() async throws {
    let bench = try LibraryBench()
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    let download = bucket.download(key, to: bench.target, options: bench.downloadOptions)
    var counts: [Int] = []
    var totals = Set<Int>()
    for await event in download.events {
      guard case .progressed(let count, let size) = event else { continue }
      counts.append(count)
      totals.insert(size)
    }
    #expect(counts == counts.sorted() && counts.last == bench.content.size)
    #expect(totals == [bench.content.size])
  }

  @Test func progressOfAnEmptyObjectIsZeroOfZero() async throws {
    let bench = try LibraryBench(size: 0)
    let download = bench.bucket.download(LibraryBench.key, to: bench.target)
    var seen: [DownloadEvent] = []
    for await event in download.events {
      if case .progressed = event { seen.append(event) }
    }
    #expect(!seen.isEmpty && seen.allSatisfy { $0 == .progressed(byteCount: 0, size: 0) })
    #expect(try bench.directory.bytes(of: "target") == [])
  }

  @Test func eventsTellEachStepInOrder() async throws {
    let bench = try LibraryBench()
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    let download = bucket.download(key, to: bench.target, options: bench.downloadOptions)
    var steps: [String] = []
    for await event in download.events {
      switch event {
      case .started(let size, let parts, let present):
        steps.append("started \(size) in \(parts), \(present)")
      case .temporaryFileCreated(let path):
        steps.append("temporary \(path == bench.target + ".dipper-part")")
      case .partSucceeded(let part): steps.append("part \(part.number) \(part.offset) \(part.size)")
      case .renamed(let path, let object):
        steps.append("renamed \(path == bench.target) \(object.size)")
      case .progressed: break
      default: steps.append("\(event)")
      }
    }
    let part = LibraryBench.partSize
    #expect(
      steps == [
        "temporary true", "started \(2 * part + 17) in 3, 0", "part 1 0 \(part)",
        "part 2 \(part) \(part)", "part 3 \(2 * part) 17", "renamed true \(2 * part + 17)",
      ]
    )
  }

  @Test func eventsTellWhichPartsFailedAndWhichWereGivenUp() async throws {
    let bench = try LibraryBench()
    bench.hang(.getObject, from: 2)
    bench.faults.add(Fault(.fail(.accessDenied), operation: .getObject, callNumber: 1))
    var options = bench.downloadOptions
    options.parts.parallel = 3
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    let download = bucket.download(key, to: bench.target, options: options)
    var (failed, aborted) = (0, 0)
    for await event in download.events {
      if case .partFailed(_, let error) = event {
        failed += 1
        #expect(error.kind == .denied)
      }
      if case .partAborted = event { aborted += 1 }
    }
    #expect(failed == 1 && aborted == 2)
    #expect(await failure(of: download)?.kind == .denied)
  }

  @Test func aTemporaryFileThatCannotBeMadeIsToldAsSuch() async throws {
    let bench = try LibraryBench(size: 100)
    var options = DownloadOptions()
    try bench.directory.makeDirectory("taken")
    options.temporaryPath = bench.directory.file("taken")
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    let download = bucket.download(key, to: bench.target, options: options)
    let error = await failure(of: download)
    #expect(error != nil && error?.description.contains(bench.directory.file("taken")) == true)
    #expect(bench.names == ["taken"])
  }
}
