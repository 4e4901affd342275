import Core
import Dipper
import Simulation
import Support
import Testing

/// Pausing a transfer and giving it up.
@Suite struct TransferControlTests {
  @Test func aPausedDownloadKeepsCheckpointAndBytesAndTheTarget() async throws {
    let bench = try LibraryBench()
    try bench.directory.write(Array("old".utf8), to: "target")
    bench.hang(.getObject, from: 2)
    let (bucket, key, options) = (bench.bucket, LibraryBench.key, bench.downloadOptions)
    let download = bucket.download(key, to: bench.target, options: options)
    #expect(await reached(download) { if case .partSucceeded = $0 { true } else { false } })
    try download.control.pause()
    #expect(await failure(of: download)?.kind == .paused)
    #expect(bench.names == ["checkpoint", "target", "target.dipper-part"])
    #expect(try bench.directory.bytes(of: "target") == Array("old".utf8))
    bench.faults.clear()
    bench.store.forgetCalls()
    #expect(await failure(of: bucket.download(key, to: bench.target, options: options)) == nil)
    #expect(try bench.isWhole("target") && bench.store.calls.of(.getObject).count == 2)
  }

  @Test func anAbortedDownloadLeavesNothingAndTheNextBeginsAnew() async throws {
    let bench = try LibraryBench()
    try bench.directory.write(Array("old".utf8), to: "target")
    bench.hang(.getObject, from: 2)
    let (bucket, key, options) = (bench.bucket, LibraryBench.key, bench.downloadOptions)
    let download = bucket.download(key, to: bench.target, options: options)
    #expect(await reached(download) { if case .partSucceeded = $0 { true } else { false } })
    try download.control.abort()
    #expect(await failure(of: download)?.kind == .aborted)
    #expect(bench.names == ["target"])
    #expect(try bench.directory.bytes(of: "target") == Array("old".utf8))
    bench.faults.clear()
    bench.store.forgetCalls()
    #expect(await failure(of: bucket.download(key, to: bench.target, options: options)) == nil)
    #expect(bench.store.calls.of(.getObject).count == 3)
  }

  @Test func aPausedCopyKeepsCheckpointAndUpload() async throws {
    let bench = try LibraryBench()
    bench.hang(.uploadPartCopy, from: 2)
    let copy = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
    #expect(await reached(copy) { if case .partSucceeded = $0 { true } else { false } })
    try copy.control.pause()
    #expect(await failure(of: copy)?.kind == .paused)
    #expect(bench.names == ["checkpoint"] && bench.store.openUploads.count == 1)
    bench.faults.clear()
    bench.store.forgetCalls()
    let again = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
    #expect(await failure(of: again) == nil)
    #expect(bench.store.calls.of(.createMultipartUpload).isEmpty)
    #expect(bench.store.calls.of(.uploadPartCopy).count == 2)
  }

  @Test func anAbortedCopyLeavesNothingAndTheNextBeginsAnew() async throws {
    let bench = try LibraryBench()
    bench.hang(.uploadPartCopy, from: 2)
    let copy = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
    #expect(await reached(copy) { if case .partSucceeded = $0 { true } else { false } })
    try copy.control.abort()
    #expect(await failure(of: copy)?.kind == .aborted)
    #expect(bench.names == [] && bench.store.openUploads == [])
    bench.faults.clear()
    bench.store.forgetCalls()
    let again = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
    #expect(await failure(of: again) == nil)
    #expect(bench.store.calls.of(.uploadPartCopy).count == 3)
  }

  @Test func anAbortedUploadLeavesNothing() async throws {
    let bench = try LibraryBench()
    bench.hang(.uploadPart, from: 2)
    let upload = bench.bucket.upload(try bench.file(), to: "sent", options: bench.uploadOptions)
    #expect(await reached(upload) { if case .partSucceeded = $0 { true } else { false } })
    try upload.control.abort()
    #expect(await failure(of: upload)?.kind == .aborted)
    #expect(bench.names == ["file"] && bench.store.openUploads == [])
  }

  @Test func aPausedTransferIsGivenUpByItsArguments() async throws {
    let bench = try LibraryBench()
    bench.fail(.uploadPartCopy, from: 2)
    let (bucket, key, options) = (bench.bucket, LibraryBench.key, bench.copyOptions)
    #expect(await failure(of: bucket.copy(key, to: "copied", options: options)) != nil)
    #expect(bench.names == ["checkpoint"])
    try await bucket.abortCopy(key, to: "copied", options: options)
    #expect(bench.names == [] && bench.store.openUploads == [])
  }

  @Test func aControlIsUsedOnce() async throws {
    let bench = try LibraryBench()
    bench.hang(.uploadPartCopy, from: 1)
    let copy = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
    #expect(await eventually { bench.store.calls.of(.uploadPartCopy).count == 1 })
    try copy.control.pause()
    for use in [copy.control.pause, copy.control.abort] {
      let error = #expect(throws: DipperError.self) { try use() }
      #expect(error?.kind == .invalid && error?.description.contains("has been used") == true)
    }
    #expect(await failure(of: copy)?.kind == .paused)
    #expect(bench.store.openUploads.count == 1, "the second use changed how it ends")
  }

  @Test func aControlOfATransferThatHasEndedIsAnError() async throws {
    let bench = try LibraryBench(size: 100)
    let download = bench.bucket.download(LibraryBench.key, to: bench.target)
    #expect(await failure(of: download) == nil)
    for use in [download.control.pause, download.control.abort] {
      let error = #expect(throws: DipperError.self) { try use() }
      #expect(error?.kind == .invalid && error?.description.contains("has ended") == true)
    }
    #expect(try bench.isWhole("target"), "what had succeeded was taken back")
  }

  @Test func beingPausedGivenUpAndFailingAreThreeErrors() async throws {
    var kinds: [DipperError.Kind] = []
    for end in ["pause", "abort", "failure"] {
      let bench = try LibraryBench()
      if end == "failure" {
        bench.fail(.uploadPartCopy, from: 1)
      } else {
        bench.hang(.uploadPartCopy, from: 1)
      }
      let copy = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
      #expect(await eventually { !bench.store.calls.of(.uploadPartCopy).isEmpty })
      if end == "pause" { try copy.control.pause() }
      if end == "abort" { try copy.control.abort() }
      kinds.append(try #require(await failure(of: copy)).kind)
    }
    #expect(kinds == [.paused, .aborted, .unreachable])
  }

  @Test func cancellingWhoWaitsPausesTheTransfer() async throws {
    let bench = try LibraryBench()
    bench.hang(.uploadPartCopy, from: 2)
    let copy = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
    let waiting = Task { await failure(of: copy) }
    #expect(await eventually { bench.store.calls.of(.uploadPartCopy).count == 2 })
    waiting.cancel()
    #expect(await waiting.value?.kind == .paused)
    #expect(bench.names == ["checkpoint"])
  }
}
