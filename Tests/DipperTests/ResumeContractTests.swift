import Core
import Dipper
import Simulation
import Support
import Testing

/// What a transfer that is begun again keeps to, whichever kind it is.
@Suite struct ResumeContractTests {
  /// The kinds of transfer.
  enum Kind: CaseIterable {
    case download
    case copy
    case upload

    /// The operation that moves a part.
    var operation: StoreOperation {
      switch self {
      case .download: .getObject
      case .copy: .uploadPartCopy
      case .upload: .uploadPart
      }
    }
  }

  /// Begins the same transfer each time: from `one`'s object, or the file of its bytes.
  private func begin(_ kind: Kind, _ bench: LibraryBench) -> TransferControlled {
    switch kind {
    case .download:
      TransferControlled(
        bench.bucket.download(LibraryBench.key, to: bench.target, options: bench.downloadOptions)
      )
    case .copy:
      TransferControlled(
        bench.bucket.copy(LibraryBench.key, to: LibraryBench.targetKey, options: bench.copyOptions)
      )
    case .upload:
      TransferControlled(
        bench.bucket.upload(
          bench.directory.file("file"),
          to: LibraryBench.targetKey,
          options: bench.uploadOptions
        )
      )
    }
  }

  private func isDone(_ kind: Kind, _ bench: LibraryBench) throws -> Bool {
    kind == .download
      ? try bench.isWhole("target") : bench.isWhole(LibraryBench.targetKey, in: bench.store)
  }

  /// What is left beside the results.
  private func leftovers(_ bench: LibraryBench) -> [String] {
    bench.names.filter { $0 != "file" && $0 != "target" }
  }

  @Test(arguments: Kind.allCases)
  func theSameRequestGoesOnAndFinishedPartsAreNotSentAgain(kind: Kind) async throws {
    let bench = try LibraryBench()
    _ = try bench.file()
    bench.fail(kind.operation, from: 3)
    #expect(await begin(kind, bench).failure()?.kind == .unreachable)
    bench.faults.clear()
    bench.store.forgetCalls()
    #expect(await begin(kind, bench).failure() == nil)
    #expect(try isDone(kind, bench))
    let parts = bench.store.calls.of(kind.operation)
    #expect(parts.count == 1, "only the part that failed is sent again")
  }

  @Test(arguments: Kind.allCases)
  func theCheckpointIsRemovedAfterSuccess(kind: Kind) async throws {
    let bench = try LibraryBench()
    _ = try bench.file()
    let gate = Gate()
    bench.store.hook = { call, moment in
      if call.operation == kind.operation, moment == .request { await gate.wait() }
    }
    let transfer = begin(kind, bench)
    #expect(await eventually { bench.names.contains("checkpoint") })
    gate.open()
    #expect(await transfer.failure() == nil)
    #expect(leftovers(bench) == [] && bench.store.openUploads == [])
  }

  @Test(arguments: Kind.allCases)
  func aCheckpointIsForOneTaskAtATime(kind: Kind) async throws {
    let bench = try LibraryBench()
    _ = try bench.file()
    bench.hang(kind.operation, from: 2)
    let first = begin(kind, bench)
    #expect(await eventually { bench.store.calls.of(kind.operation).count == 2 })
    let second = await begin(kind, bench).failure()
    #expect(second?.kind == .held && second?.description.contains("pid ") == true)
    #expect(bench.store.calls.of(kind.operation).count == 2, "the second asked for something")
    try first.control.pause()
    #expect(await first.failure()?.kind == .paused)
  }

  @Test(arguments: Kind.allCases)
  func itIsResumedWhenTheOriginalHasEndedAndNotBefore(kind: Kind) async throws {
    let bench = try LibraryBench()
    _ = try bench.file()
    bench.hang(kind.operation, from: 2)
    let first = begin(kind, bench)
    #expect(await eventually { bench.store.calls.of(kind.operation).count == 2 })
    #expect(await begin(kind, bench).failure()?.kind == .held)
    try first.control.pause()
    #expect(await first.failure()?.kind == .paused)
    bench.faults.clear()
    bench.store.forgetCalls()
    #expect(await begin(kind, bench).failure() == nil)
    #expect(try isDone(kind, bench))
    #expect(bench.store.calls.of(kind.operation).count == 2)
  }

  /// What a download's request may not change, and how messages call it.
  @Test(arguments: [
    "key", "target", "part size", "version id", "if match", "if none match", "if modified since",
    "if unmodified since", "temporary",
  ])
  func aDownloadThatDiffersIsToldWhereAndNothingIsMixed(field: String) async throws {
    let bench = try LibraryBench()
    bench.store.place(ObjectKey("other"), bench.content)
    bench.fail(.getObject, from: 2)
    var options = bench.downloadOptions
    let (bucket, key) = (bench.bucket, LibraryBench.key)
    #expect(await failure(of: bucket.download(key, to: bench.target, options: options)) != nil)
    bench.faults.clear()
    bench.store.forgetCalls()
    var (otherKey, target) = (key, bench.target)
    switch field {
    case "key": otherKey = "other"
    case "target": target = bench.directory.file("elsewhere")
    case "part size": options.parts.size = 6 << 20
    case "version id": options.versionID = "v7"
    case "if match": options.conditions.ifMatch = "tag"
    case "if none match": options.conditions.ifNoneMatch = "tag"
    case "if modified since": options.conditions.ifModifiedSince = 1
    case "if unmodified since": options.conditions.ifUnmodifiedSince = 4_000_000_000
    default: options.temporaryPath = bench.directory.file("target.temp")
    }
    let before = bench.names
    let error = await failure(of: bucket.download(otherKey, to: target, options: options))
    // A target of its own has a temporary file of its own.
    let option = "--" + field.split(separator: " ").joined(separator: "-")
    let names = field == "target" ? ["target", "temporary"] : [field, option]
    let sentence = error?.description ?? "no error"
    #expect(error?.kind == .invalid && names.contains { sentence.contains("another \($0)") })
    #expect(bench.store.calls.isEmpty && bench.names == before, "something was begun")
  }

  @Test func aDownloadFromAnotherBucketIsNotMixed() async throws {
    let bench = try LibraryBench()
    bench.fail(.getObject, from: 2)
    let (key, target, options) = (LibraryBench.key, bench.target, bench.downloadOptions)
    #expect(await failure(of: bench.bucket.download(key, to: target, options: options)) != nil)
    bench.faults.clear()
    bench.otherStore.place(key.objectKey, bench.content)
    let error = await failure(of: bench.other.download(key, to: target, options: options))
    #expect(error?.kind == .invalid && error?.description.contains("another bucket") == true)
    #expect(bench.otherStore.calls.isEmpty)
  }

  @Test(arguments: Kind.allCases)
  func whatAnotherProgramKeptAsItsCheckpointIsLeftAlone(kind: Kind) async throws {
    let bench = try LibraryBench()
    _ = try bench.file()
    // As the vendor's SDKs for other languages keep theirs.
    let foreign = #"{"bucket": "one", "key": "big", "part_size": 5242880, "parts_info": []}"#
    try bench.directory.write(Array(foreign.utf8), to: "checkpoint")
    let error = await begin(kind, bench).failure()
    #expect(error?.kind == .invalid && error?.description.contains("is not a checkpoint") == true)
    #expect(try bench.directory.bytes(of: "checkpoint") == Array(foreign.utf8))
    #expect(bench.store.calls.isEmpty)
  }

  @Test(arguments: Kind.allCases)
  func theSourceMayNotChangeMeanwhile(kind: Kind) async throws {
    let bench = try LibraryBench()
    _ = try bench.file()
    try bench.directory.write(Array("as it was".utf8), to: "target")
    bench.store.place(LibraryBench.targetKey.objectKey, .text("as it was"))
    bench.fail(kind.operation, from: 3)
    #expect(await begin(kind, bench).failure()?.kind == .unreachable)
    bench.faults.clear()
    bench.store.place(LibraryBench.key.objectKey, .text("other"))
    try bench.directory.write(Array("other".utf8), to: "file")
    let error = await begin(kind, bench).failure()
    #expect(error?.kind == .changed, "\(error?.description ?? "no error")")
    #expect(try bench.directory.bytes(of: "target") == Array("as it was".utf8))
    #expect(bench.store.bytes(at: LibraryBench.targetKey.objectKey) == Array("as it was".utf8))
  }
}

/// A transfer of any kind: its control and how it ends.
struct TransferControlled: Sendable {
  let control: TransferControl
  let failure: @Sendable () async -> DipperError?

  init<Event: Sendable, Success: Sendable>(_ task: TransferTask<Event, Success>) {
    control = task.control
    failure = {
      do throws(DipperError) {
        _ = try await task.value
        return nil
      } catch {
        return error
      }
    }
  }
}
