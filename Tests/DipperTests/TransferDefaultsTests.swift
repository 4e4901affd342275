import Core
import Dipper
import Simulation
import Support
import Testing

/// What transfers do when nothing is said, and which values they take.
@Suite struct TransferDefaultsTests {
  private static let mebibyte = 1 << 20

  /// Lengths of the ranges that a store was asked for, each once, the longest first.
  private func partSizes(_ calls: [Call]) -> [Int] {
    Set(calls.compactMap(\.range?.count)).sorted(by: >)
  }

  @Test func aPartSizeOfZeroMeansTwentyMebibytes() async throws {
    let size = 41 * Self.mebibyte
    let bench = try LibraryBench(size: size, isVirtual: true)
    var options = CopyOptions()
    options.wholeSizeMax = 0
    #expect(options.parts.size == 0)
    let copy = bench.bucket.copy(LibraryBench.key, to: LibraryBench.targetKey, options: options)
    #expect(await failure(of: copy) == nil)
    let copied = bench.store.calls.of(.uploadPartCopy)
    #expect(partSizes(copied) == [20 * Self.mebibyte, Self.mebibyte] && copied.count == 3)
  }

  @Test(arguments: [5 << 20, 5 << 30]) func thePartSizesAtBothEndsAreTaken(size: Int) async throws {
    let bench = try LibraryBench(size: 100)
    let parts = PartOptions(size: size)
    var (download, copy, upload) = (DownloadOptions(), CopyOptions(), UploadOptions())
    (download.parts, copy.parts, upload.parts) = (parts, parts, parts)
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    #expect(await failure(of: bucket.download(key, to: bench.target, options: download)) == nil)
    #expect(await failure(of: bucket.copy(key, to: "copied", options: copy)) == nil)
    let file = try bench.file()
    #expect(await failure(of: bucket.upload(file, to: "sent", options: upload)) == nil)
    #expect(bench.store.keys.count == 3)
  }

  @Test(arguments: [-1, 1, (5 << 20) - 1, (5 << 30) + 1])
  func aPartSizeOutOfRangeIsAnErrorBeforeAnythingIsRead(size: Int) async throws {
    let bench = try LibraryBench(size: 100)
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    let file = try bench.file()
    var download = bench.downloadOptions
    var copy = bench.copyOptions
    var upload = bench.uploadOptions
    download.parts.size = size
    copy.parts.size = size
    upload.parts.size = size
    for error in [
      await failure(of: bucket.download(key, to: bench.target, options: download)),
      await failure(of: bucket.copy(key, to: "copied", options: copy)),
      await failure(of: bucket.upload(file, to: "sent", options: upload)),
    ] {
      #expect(error?.kind == .invalid && error?.description.contains("\(size)") == true)
    }
    #expect(bench.store.calls.isEmpty && bench.names == ["file"])
  }

  @Test(arguments: [(-3, 1), (0, 1), (1, 1), (7, 7), (1000, 1000), (5000, 1000)])
  func partsInFlightAreBroughtIntoOneToAThousand(asked: Int, inFlight: Int) async throws {
    let partCount = inFlight + 20
    let bench = try LibraryBench(size: partCount * LibraryBench.partSize, isVirtual: true)
    let flights = Lock((now: 0, most: 0))
    let gate = Gate()
    bench.store.hook = { call, moment in
      guard call.operation == .uploadPartCopy else { return }
      guard moment == .request else {
        flights.withLock { $0.now -= 1 }
        return
      }
      flights.withLock { flights in
        flights.now += 1
        flights.most = max(flights.most, flights.now)
      }
      await gate.wait()
    }
    var options = bench.copyOptions
    options.checkpoint = .off
    options.parts.parallel = asked
    let copy = bench.bucket.copy(LibraryBench.key, to: LibraryBench.targetKey, options: options)
    #expect(await eventually { flights.withLock { $0.now } == inFlight })
    gate.open()
    #expect(await failure(of: copy) == nil)
    #expect(flights.withLock { $0.most } == inFlight)
  }

  @Test(arguments: [nil, 0, 7])
  func retriesCountForTheFirstRequestAndForEachPart(count: Int?) async throws {
    let bench = try LibraryBench()
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    var download = bench.downloadOptions
    var copy = bench.copyOptions
    var upload = bench.uploadOptions
    if let count {
      download.parts.retryCountMax = count
      copy.parts.retryCountMax = count
      upload.parts.retryCountMax = count
    }
    let file = try bench.file()
    #expect(await failure(of: bucket.download(key, to: bench.target, options: download)) == nil)
    #expect(await failure(of: bucket.copy(key, to: "copied", options: copy)) == nil)
    #expect(await failure(of: bucket.upload(file, to: "sent", options: upload)) == nil)
    let calls = bench.store.calls
    let operations = Set(calls.map(\.operation))
    #expect(
      operations.isSuperset(of: [
        .headObject, .getObject, .createMultipartUpload, .uploadPart, .uploadPartCopy,
        .completeMultipartUpload,
      ])
    )
    for call in calls { #expect(call.retryCountMax == count ?? 3, "\(call.operation)") }
  }

  @Test func checkpointsAreOptIn() async throws {
    #expect(DownloadOptions().checkpoint == .off)
    #expect(CopyOptions().checkpoint == .off)
    #expect(UploadOptions().checkpoint == .off)
    let bench = try LibraryBench()
    bench.fail(.getObject, from: 2)
    var options = bench.downloadOptions
    options.checkpoint = .off
    let download = bench.bucket.download(LibraryBench.key, to: bench.target, options: options)
    #expect(await failure(of: download)?.kind == .unreachable)
    #expect(bench.names == [], "nothing that could be gone on with is kept")
  }

  @Test func aCheckpointMayBeAFileOrADirectory() async throws {
    for isDirectory in [false, true] {
      let bench = try LibraryBench()
      if isDirectory { try bench.directory.makeDirectory("checkpoint") }
      bench.fail(.uploadPartCopy, from: 3)
      let copy = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
      #expect(await failure(of: copy)?.kind == .unreachable)
      let kept = isDirectory ? bench.directory.names("checkpoint") : bench.names
      #expect(kept.count == 1 && (isDirectory ? kept[0].hasSuffix(".checkpoint") : true))
      bench.faults.clear()
      bench.store.forgetCalls()
      let again = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
      #expect(await failure(of: again) == nil)
      #expect(bench.store.calls.of(.uploadPartCopy).map(\.partNumber) == [3])
      #expect(bench.names == (isDirectory ? ["checkpoint"] : []))
      if isDirectory { #expect(bench.directory.names("checkpoint") == []) }
    }
  }

  @Test func aDirectoryThatIsNotThereIsNamed() async throws {
    let bench = try LibraryBench(size: 100)
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    let nowhere = bench.directory.file("none")
    let file = try bench.file()
    var download = bench.downloadOptions
    download.checkpoint = .at(path: nowhere + "/checkpoint")
    var copy = bench.copyOptions
    copy.checkpoint = download.checkpoint
    var upload = bench.uploadOptions
    upload.checkpoint = download.checkpoint
    for error in [
      await failure(of: bucket.download(key, to: nowhere + "/target")),
      await failure(of: bucket.download(key, to: bench.target, options: download)),
      await failure(of: bucket.copy(key, to: "copied", options: copy)),
      await failure(of: bucket.upload(file, to: "sent", options: upload)),
    ] {
      #expect(error?.description.contains(nowhere) == true, "\(error?.description ?? "no error")")
    }
    #expect(bench.names == ["file"] && bench.store.keys.count == 1)
  }
}
