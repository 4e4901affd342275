import Core
import Simulation
import Support
import Testing
import Transfer

private let part = CopyBench.partSize

/// An interrupted copy goes on, and never with what isn't there.
@Suite struct CopyResumingTests {
  @Test func c5FinishedPartsAreNotCopiedAgain() async throws {
    let bench = try CopyBench(size: 8 * part)
    bench.fail(.uploadPartCopy, from: 6)
    guard case .store(let error) = await bench.outcome() else {
      Issue.record("it did not fail")
      return
    }
    #expect(error.kind == .unreachable)
    let finished = bench.target.calls.of(.uploadPartCopy).filter { $0.outcome == .succeeded }
    #expect(finished.count == 5)
    bench.faults.clear()
    bench.target.forgetCalls()
    let events = Events()
    #expect(await bench.outcome(report: events.report) == nil)
    #expect(bench.copiedParts.count == 3)
    #expect(Set(bench.copiedParts).isDisjoint(with: finished.compactMap(\.partNumber)))
    #expect(bench.isCopied && bench.leftovers == [] && bench.target.openUploads == [])
    #expect(
      events.all.contains(
        .started(size: 8 * part, partCount: 8, presentByteCount: 5 * part)
      )
    )
  }

  @Test func aPausedCopyKeepsItsCheckpointAndItsUpload() async throws {
    let bench = try CopyBench(size: 8 * part)
    bench.target.hook = { call, moment in
      if (call.partNumber ?? 0) > 5, moment == .request { await Gate().wait() }
    }
    let events = Events()
    let task = Task { await bench.outcome(report: events.report) }
    #expect(
      await eventually {
        bench.target.calls.of(.uploadPartCopy).count { $0.outcome == .succeeded } == 5
          && bench.copiedParts.count == 8
      }
    )
    task.cancel()
    #expect(await task.value == .paused)
    #expect(
      events.count {
        if case .partAborted = $0 { true } else { false }
      } == 3
    )
    #expect(bench.leftovers == ["checkpoint"] && bench.target.openUploads.count == 1)
    bench.target.hook = nil
    bench.target.forgetCalls()
    #expect(await bench.outcome() == nil)
    #expect(bench.copiedParts == [6, 7, 8] && bench.isCopied)
  }

  @Test func abortingClearsCheckpointAndUpload() async throws {
    let bench = try CopyBench(size: 8 * part)
    bench.fail(.uploadPartCopy, from: 6)
    #expect(await bench.outcome() != nil)
    bench.faults.clear()
    #expect(await bench.abortOutcome() == nil)
    #expect(bench.leftovers == [] && bench.target.openUploads == [])
    // There is nothing to give up now, and that is no error.
    #expect(await bench.abortOutcome() == nil)
    bench.target.forgetCalls()
    #expect(await bench.outcome() == nil)
    #expect(bench.copiedParts == Array(1...8))
  }

  @Test func anUploadThatCannotBeAbortedStaysRecorded() async throws {
    let bench = try CopyBench(size: 8 * part)
    bench.fail(.uploadPartCopy, from: 6)
    #expect(await bench.outcome() != nil)
    bench.fail(.abortMultipartUpload, from: 1)
    guard case .store = await bench.abortOutcome() else {
      Issue.record("it was forgotten")
      return
    }
    #expect(bench.leftovers == ["checkpoint"])
    bench.faults.clear()
    #expect(await bench.abortOutcome() == nil)
    #expect(bench.leftovers == [] && bench.target.openUploads == [])
  }

  @Test func whatTheStoreLostIsCopiedAgain() async throws {
    let bench = try CopyBench(size: 8 * part)
    bench.fail(.uploadPartCopy, from: 6)
    #expect(await bench.outcome() != nil)
    bench.faults.clear()
    // The store forgets the upload altogether.
    let reference = try #require(bench.target.openUploads.first)
    try await bench.target.abortMultipartUpload(
      reference,
      context: RequestContext(deadline: .distantFuture)
    )
    bench.target.forgetCalls()
    let events = Events()
    #expect(await bench.outcome(report: events.report) == nil)
    #expect(bench.copiedParts == Array(1...8) && bench.isCopied)
    #expect(
      events.count {
        if case .startedOver = $0 { true } else { false }
      } == 1
    )
  }

  @Test func aPartThatIsAnotherOneAtTheStoreIsCopiedAgain() async throws {
    let bench = try CopyBench(size: 4 * part)
    bench.fail(.uploadPartCopy, from: 4)
    #expect(await bench.outcome() != nil)
    bench.faults.clear()
    // Somebody wrote another part over one of ours.
    let reference = try #require(bench.target.openUploads.first)
    let done = bench.target.calls.of(.uploadPartCopy).filter { $0.outcome == .succeeded }
    let number = try #require(done.first?.partNumber)
    _ = try await bench.target.uploadPart(
      reference,
      partNumber: number,
      body: .bytes([UInt8](repeating: 0, count: part)),
      context: RequestContext(deadline: .distantFuture)
    )
    bench.target.forgetCalls()
    #expect(await bench.outcome() == nil)
    #expect(bench.copiedParts.contains(number) && bench.copiedParts.count == 2)
    #expect(bench.isCopied)
  }

  @Test(arguments: [
    "part-size", "version-id", "if-match", "if-unmodified-since", "metadata", "storage-class",
    "target-condition", "source-key", "source-bucket", "target-key", "target-bucket",
  ])
  func anotherTasksCheckpointIsNotTouched(field: String) async throws {
    let bench = try CopyBench(size: 4 * part)
    bench.fail(.uploadPartCopy, from: 3)
    #expect(await bench.outcome() != nil)
    bench.faults.clear()
    let text = try bench.directory.bytes(of: "checkpoint")
    var other = bench.request
    switch field {
    case "part-size": other.partSize = 2 * part
    case "version-id": other.versionID = "v"
    case "if-match": other.conditions.ifMatch = bench.version.etag
    case "if-unmodified-since":
      other.conditions.ifUnmodifiedSince = Timestamp(seconds: 2_000_000_000)
    case "metadata": other.facts = .replaced(ContentHeaders(), userMetadata: [:])
    case "storage-class": other.storageClass = "GLACIER"
    case "target-condition": other.condition = .ifAbsent
    case "source-key": other.sourceKey = ObjectKey("other")
    case "source-bucket": other.sourceStoreName = "s3://other"
    case "target-key": other.targetKey = ObjectKey("other")
    default: other.targetStoreName = "s3://other"
    }
    guard case .differs(let named, let was, let now) = await bench.outcome(other) else {
      Issue.record("\(field) was not noticed")
      return
    }
    #expect(named == field && was != now)
    #expect(try bench.directory.bytes(of: "checkpoint") == text)
    #expect(bench.target.openUploads.count == 1)
    #expect(await bench.outcome() == nil)
  }

  @Test func aSecondProcessIsToldWhoCopies() async throws {
    let bench = try CopyBench(size: 3 * part)
    let gate = Gate()
    bench.source.hook = { _, moment in if moment == .request { await gate.wait() } }
    let task = Task { await bench.outcome() }
    #expect(await eventually { !bench.source.calls.isEmpty })
    guard case .held(let path, let holder) = await bench.outcome() else {
      Issue.record("two tasks on one checkpoint")
      return
    }
    #expect(path == bench.checkpointPath)
    #expect(holder == "pid \(Disk.processID): a copy of films/a b.mp4 to copies/c")
    gate.open()
    #expect(await task.value == nil)
    #expect(bench.leftovers == [], "no lock is left")
  }

  @Test func aCheckpointOfAnotherVersionOfTheFormatIsLeftAlone() async throws {
    let bench = try CopyBench(size: 3 * part)
    let text = Array("dipper checkpoint 7\nwhatever\n".utf8)
    try bench.directory.write(text, to: "checkpoint")
    #expect(await bench.outcome() == .unknownFormat(path: bench.checkpointPath, version: "7"))
    #expect(try bench.directory.bytes(of: "checkpoint") == text)
    #expect(bench.target.calls.isEmpty && bench.leftovers == ["checkpoint"])
  }

  @Test func aCheckpointCutAnywhereCostsPartsAndNothingElse() async throws {
    let bench = try CopyBench(size: 4 * part)
    bench.fail(.uploadPartCopy, from: 4)
    #expect(await bench.outcome() != nil)
    bench.faults.clear()
    let text = try #require(try bench.directory.bytes(of: "checkpoint"))
    let firstWords = "dipper checkpoint ".utf8.count
    for length in 0...text.count {
      try bench.directory.write(Array(text[..<length]), to: "checkpoint")
      bench.target.remove(CopyBench.targetKey)
      if (1..<firstWords).contains(length) {
        // Nothing says that it is one.
        guard case .invalid = await bench.outcome() else {
          Issue.record("cut at \(length)")
          continue
        }
        #expect(try bench.directory.bytes(of: "checkpoint")?.count == length)
        continue
      }
      #expect(await bench.outcome() == nil, "cut at \(length)")
      #expect(bench.isCopied, "cut at \(length)")
      #expect(bench.leftovers == [])
    }
  }

  @Test func aFileThatIsNoCheckpointIsNotWrittenOver() async throws {
    let bench = try CopyBench(size: 3 * part)
    try bench.directory.write(Array("my own words".utf8), to: "checkpoint")
    for restarts in [false, true] {
      var request = bench.request
      request.forcesRestart = restarts
      guard case .invalid = await bench.outcome(request) else {
        Issue.record("taken")
        continue
      }
    }
    guard case .invalid = await bench.abortOutcome() else {
      Issue.record("removed")
      return
    }
    #expect(try bench.directory.bytes(of: "checkpoint") == Array("my own words".utf8))
    #expect(bench.leftovers == ["checkpoint"])
  }

  @Test func theCheckpointOfADownloadIsNotWrittenOver() async throws {
    let bench = try CopyBench(size: 3 * part)
    let identity = CheckpointIdentity(store: "s3://x", version: bench.version)
    try bench.directory.write(Array(Checkpoint(identity: identity).text.utf8), to: "checkpoint")
    guard case .differs("kind", "download", _) = await bench.outcome() else {
      Issue.record("taken")
      return
    }
    // Nor is that of a copy by a download.
    let other = try CopyBench(size: 3 * part)
    other.fail(.uploadPartCopy, from: 2)
    #expect(await other.outcome() != nil)
    var request = FileDownloadRequest(
      storeName: other.source.name,
      key: CopyBench.sourceKey,
      target: other.directory.file("target")
    )
    request.checkpoint = other.checkpointPath
    for restarts in [false, true] {
      request.forcesRestart = restarts
      let download = FileDownload(request, from: other.source, in: other.environment)
      await #expect(
        throws: TransferError.differs(field: "kind", checkpoint: "copy", request: "download")
      ) { _ = try await download.run() }
    }
    #expect(other.leftovers == ["checkpoint"])
  }

  @Test func withoutACheckpointAFailureLeavesNoUpload() async throws {
    let bench = try CopyBench(size: 4 * part)
    bench.fail(.uploadPartCopy, from: 3)
    var request = bench.request
    request.checkpoint = nil
    #expect(await bench.outcome(request) != nil)
    #expect(bench.target.openUploads == [] && bench.leftovers == [])
    bench.faults.clear()
    #expect(await bench.outcome(request) == nil)
    #expect(bench.isCopied)
  }

  @Test func aCheckpointDirectoryGetsAGeneratedName() async throws {
    let bench = try CopyBench(size: 4 * part)
    bench.fail(.uploadPartCopy, from: 3)
    try bench.directory.makeDirectory("saved")
    var request = bench.request
    request.checkpoint = bench.directory.file("saved")
    #expect(await bench.outcome(request) != nil)
    let names = try Disk.names(in: bench.directory.file("saved"))
    #expect(names.count == 1 && names[0].hasSuffix(".checkpoint"))
    let status = try #require(try Disk.status(of: bench.directory.file("saved/" + names[0])))
    #expect(status.permissions == 0o600)
    // Another task has another name.
    var other = request
    other.targetKey = ObjectKey("other")
    #expect(await bench.outcome(other) != nil)
    #expect(try Disk.names(in: bench.directory.file("saved")).count == 2)
    bench.faults.clear()
    #expect(await bench.outcome(request) == nil)
    #expect(await bench.outcome(other) == nil)
    #expect(try Disk.names(in: bench.directory.file("saved")) == [])
  }

  @Test func aDirectoryThatIsNotThereIsNamed() async throws {
    let bench = try CopyBench(size: 4 * part)
    var request = bench.request
    request.checkpoint = bench.directory.file("no/checkpoint")
    let directory = bench.directory.file("no")
    #expect(
      await bench.outcome(request)
        == .invalid("the checkpoint's directory \(directory) doesn't exist; make it first")
    )
    #expect(bench.source.calls.isEmpty)
  }
}
