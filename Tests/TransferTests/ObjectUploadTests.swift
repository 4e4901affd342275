import Core
import Crypto
import Simulation
import Support
import Testing
import Transfer

private let part = UploadBench.partSize

@Suite struct ObjectUploadTests {
  @Test(arguments: [0, 1, part, part + 1, 5 * part, 5 * part + 17])
  func theObjectIsTheFileAndNothingElseIsLeft(size: Int) async throws {
    let bench = try UploadBench(size: size)
    let stored = try await bench.upload(bench.request).run()
    #expect(bench.isUploaded && bench.leftovers == [] && bench.store.openUploads == [])
    #expect(stored.key == UploadBench.key && stored.size == size)
    #expect(stored.etag == bench.store.metadata(at: UploadBench.key)?.version.etag)
    #expect(bench.sentParts.count == (size <= part ? 0 : (size - 1) / part + 1))
    #expect(bench.store.calls.sentByteCount == size, "each byte goes once")
    let metadata = try #require(bench.store.metadata(at: UploadBench.key))
    #expect(metadata.headers.contentType == "video/mp4" && metadata.storageClass == "STANDARD_IA")
    #expect(metadata.userMetadata == ["project": "blue"])
    #expect(bench.store.tags(at: UploadBench.key) == ["team": "film"])
  }

  @Test func finishedPartsAreNotSentAgain() async throws {
    let bench = try UploadBench(size: 8 * part)
    bench.fail(.uploadPart, from: 6)
    #expect(await bench.outcome() != nil)
    #expect(bench.leftovers == ["checkpoint"] && bench.store.openUploads.count == 1)
    bench.faults.clear()
    bench.store.forgetCalls()
    #expect(await bench.outcome() == nil)
    #expect(bench.sentParts.count == 3 && bench.store.calls.sentByteCount == 3 * part)
    #expect(bench.isUploaded && bench.leftovers == [])
  }

  @Test func aPausedUploadKeepsItsStateAndAnAbortedOneClearsIt() async throws {
    let bench = try UploadBench(size: 8 * part)
    bench.store.hook = { call, moment in
      if (call.partNumber ?? 0) > 5, moment == .request { await Gate().wait() }
    }
    let task = Task { await bench.outcome() }
    #expect(await eventually { bench.sentParts.count == 8 })
    #expect(
      await eventually {
        bench.store.calls.of(.uploadPart).count { $0.outcome == .succeeded } == 5
      }
    )
    task.cancel()
    #expect(await task.value == .paused)
    #expect(bench.leftovers == ["checkpoint"] && bench.store.openUploads.count == 1)
    #expect(await bench.abortOutcome() == nil)
    #expect(bench.leftovers == [] && bench.store.openUploads == [])
  }

  @Test(arguments: [true, false])
  func anUploadThatIsPausedWhileItBeginsIsKnown(keepsCheckpoint: Bool) async throws {
    let bench = try UploadBench(size: 3 * part)
    let answer = Gate()
    bench.holdBeginning(behind: answer)
    var request = bench.request
    if !keepsCheckpoint { request.checkpoint = nil }
    let task = Task { [request] in await bench.outcome(request) }
    #expect(await eventually { bench.store.openUploads.count == 1 })
    task.cancel()
    answer.open()
    #expect(await task.value == .paused)
    #expect(bench.sentParts == [])
    #expect(bench.store.openUploads.count == (keepsCheckpoint ? 1 : 0))
    #expect(bench.leftovers == (keepsCheckpoint ? ["checkpoint"] : []))
    #expect(await bench.outcome() == nil)
    #expect(bench.isUploaded && bench.leftovers == [] && bench.store.openUploads == [])
  }

  /// Of the kernel's own files only reading tells how many bytes there are: one says that it has none,
  /// the other that it has a whole page.
  @Test(arguments: ["/proc/version", "/sys/kernel/uevent_seqnum"])
  func aFileWhoseSizeIsNotThatOfItsBytesIsRefused(path: String) async throws {
    let bench = try UploadBench(size: 0)
    var request = bench.request
    request.partSize = 1 << 20
    request.checkpoint = nil
    let upload = ObjectUpload(of: path, request, to: bench.store, in: bench.environment)
    let error = await #expect(throws: TransferError.self) { _ = try await upload.run() }
    guard case .disk(let failure) = error else {
      Issue.record("it did not fail so")
      return
    }
    #expect(failure.description.contains("is not that of what it holds"))
    #expect(bench.store.keys == [] && bench.store.openUploads == [])
  }

  @Test func aPauseBeforeAnUploadBeginsBeginsNone() async throws {
    let bench = try UploadBench(size: 3 * part)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await bench.outcome()
    }
    task.cancel()
    #expect(await task.value == .paused)
    #expect(bench.store.openUploads == [] && bench.leftovers == [])
  }

  @Test(arguments: ["content", "size", "replaced", "gone"])
  func aFileThatChangesMeanwhileIsNeverMixed(change: String) async throws {
    let bench = try UploadBench(size: 6 * part)
    bench.store.place(UploadBench.key, .text("as it was"))
    let isDone = Lock(false)
    bench.store.hook = { call, moment in
      guard call.partNumber == 4, moment == .request,
        !isDone.withLock({ was in
          defer { was = true }
          return was
        })
      else { return }
      // A clock tick of the kernel later, so that the time tells.
      try? await Task.sleep(for: .milliseconds(20))
      switch change {
      case "content": _ = try? bench.directory.write(bench.bytes.reversed(), to: "file")
      case "size": _ = try? bench.directory.write(bench.bytes + [1], to: "file")
      case "replaced":
        _ = try? bench.directory.write(bench.bytes, to: "new")
        try? Disk.rename(bench.directory.file("new"), to: bench.directory.file("file"))
      default: try? Disk.removeFile(bench.directory.file("file"))
      }
    }
    guard case .sourceChanged = await bench.outcome() else {
      Issue.record("\(change) was not noticed")
      return
    }
    #expect(bench.store.bytes(at: UploadBench.key) == Array("as it was".utf8))
    #expect(bench.store.openUploads.count == 1 && bench.leftovers == ["checkpoint"])
  }

  @Test func aFileThatChangedSinceTheCheckpointIsNeverMixed() async throws {
    let bench = try UploadBench(size: 6 * part)
    bench.fail(.uploadPart, from: 4)
    #expect(await bench.outcome() != nil)
    bench.faults.clear()
    bench.store.forgetCalls()
    try await Task.sleep(for: .milliseconds(20))
    try bench.directory.write(bench.bytes.reversed(), to: "file")
    guard case .sourceChanged = await bench.outcome() else {
      Issue.record("mixed")
      return
    }
    #expect(bench.store.calls.isEmpty)
    var again = bench.request
    again.forcesRestart = true
    #expect(await bench.outcome(again) == nil)
    #expect(bench.store.bytes(at: UploadBench.key) == bench.bytes.reversed())
    #expect(bench.store.openUploads == [] && bench.leftovers == [])
  }

  @Test func aSmallFileThatChangesIsNeverMixedEither() async throws {
    let bench = try UploadBench(size: part)
    var request = bench.request
    request.checkpoint = nil
    // What is sent was read before, in one look at the file.
    bench.store.hook = { call, moment in
      guard call.operation == .putObject, moment == .request else { return }
      _ = try? bench.directory.write([9], to: "file")
    }
    #expect(await bench.outcome(request) == nil)
    #expect(bench.isUploaded)
  }

  @Test(arguments: [
    "part-size", "metadata", "storage-class", "if-match", "if-absent", "file", "target-key",
    "target-bucket",
  ])
  func anotherTasksCheckpointIsNotTouched(field: String) async throws {
    let bench = try UploadBench(size: 4 * part)
    bench.fail(.uploadPart, from: 3)
    #expect(await bench.outcome() != nil)
    bench.faults.clear()
    let text = try bench.directory.bytes(of: "checkpoint")
    var other = bench.request
    var path = bench.directory.file("file")
    switch field {
    case "part-size": other.partSize = 2 * part
    case "metadata": other.target.userMetadata = [:]
    case "storage-class": other.target.storageClass = nil
    case "if-match": other.target.condition = .ifMatch(ETag("x"))
    case "if-absent": other.target.condition = .ifAbsent
    case "file":
      path = bench.directory.file("other")
      try bench.directory.write(bench.bytes, to: "other")
    case "target-key": other.target.key = ObjectKey("other")
    default: other.storeName = "s3://other"
    }
    let upload = ObjectUpload(of: path, other, to: bench.store, in: bench.environment)
    guard case .failure(.differs(let named, let was, let now)) = await result(of: upload) else {
      Issue.record("\(field) was not noticed")
      return
    }
    #expect(named == field && was != now)
    #expect(try bench.directory.bytes(of: "checkpoint") == text)
    #expect(await bench.outcome() == nil)
  }

  @Test func whatIsNoRegularFileIsRefused() async throws {
    let bench = try UploadBench(size: 1)
    for (name, words) in [
      ("no", "No such file"), ("directory", "is a directory"), ("pipe", "'-' uploads"),
    ] {
      if name == "directory" { try bench.directory.makeDirectory(name) }
      if name == "pipe" { try bench.directory.makePipe(name) }
      let upload = ObjectUpload(
        of: bench.directory.file(name),
        bench.request,
        to: bench.store,
        in: bench.environment
      )
      guard case .failure(.disk(let failure)) = await result(of: upload) else {
        Issue.record("\(name) was taken")
        continue
      }
      #expect(failure.description.contains(words))
    }
    #expect(bench.store.calls.isEmpty)
    #expect(bench.leftovers.sorted() == ["directory", "pipe"])
  }

  @Test func whatMayNotBeReplacedIsNotReplaced() async throws {
    for size in [part, 4 * part] {
      for condition in [WriteCondition.ifAbsent, .ifMatch(ETag("another"))] {
        let bench = try UploadBench(size: size)
        bench.store.place(UploadBench.key, .text("as it was"))
        var request = bench.request
        request.target.condition = condition
        guard case .targetChanged = await bench.outcome(request) else {
          Issue.record("replaced: \(size), \(condition)")
          continue
        }
        #expect(bench.store.bytes(at: UploadBench.key) == Array("as it was".utf8))
      }
      let bench = try UploadBench(size: size)
      let old = bench.store.place(UploadBench.key, .text("as it was"))
      var request = bench.request
      request.target.condition = .ifMatch(try #require(old.etag))
      #expect(await bench.outcome(request) == nil)
      #expect(bench.isUploaded)
    }
  }

  @Test func aConditionThatTheStoreDoesNotLookAtIsRefusedBeforeAnythingIsSent() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.obeysWriteConditions = false
    let bench = try UploadBench(size: 4 * part, behaviour: behaviour)
    let old = bench.store.place(UploadBench.key, .text("as it was"))
    var request = bench.request
    request.target.condition = .ifMatch(try #require(old.etag))
    guard case .invalid = await bench.outcome(request) else {
      Issue.record("it was sent")
      return
    }
    #expect(bench.store.calls.isEmpty && bench.leftovers == [])
  }

  @Test func partsBeyondTenThousandGrow() async throws {
    let bench = try UploadBench(size: 10_001 * 300)
    var request = bench.request
    request.partSize = 300
    #expect(await bench.outcome(request) == nil)
    #expect(bench.isUploaded && bench.sentParts == [1, 2, 3], "a grown part has whole MiB")
  }

  @Test(arguments: [true, false])
  func bytesThatTheStoreGotWrongAreSentAgain(byChecksum: Bool) async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.keepsChecksums = byChecksum
    behaviour.tagsAreDigests = !byChecksum
    let bench = try UploadBench(size: 6 * part, behaviour: behaviour)
    bench.store.damage = { call in call.partNumber == 4 && call.isFirstOfItsPart(bench.store.calls)
    }
    let events = Events()
    var request = bench.request
    request.parallel = 1
    #expect(await bench.outcome(request, report: events.report) == nil)
    #expect(bench.isUploaded)
    #expect(bench.sentParts == [1, 2, 3, 4, 4, 5, 6])
    let stored = bench.store.metadata(at: UploadBench.key)
    #expect(stored?.crc64 == (byChecksum ? CRC64.checksum(of: bench.bytes) : nil))
  }

  @Test func bytesThatTheStoreGetsWrongAgainAndAgainFail() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.keepsChecksums = true
    let bench = try UploadBench(size: 4 * part, behaviour: behaviour)
    bench.store.damage = { $0.partNumber == 2 }
    var request = bench.request
    request.retryCountMax = 2
    guard case .store(let error) = await bench.outcome(request) else {
      Issue.record("wrong bytes were taken")
      return
    }
    #expect(error.kind == .invalidAnswer && error.message.contains("part 2"))
    #expect(bench.sentParts.count { $0 == 2 } == 3)
    #expect(bench.store.keys == [])
  }

  @Test func everyCallFailsOnceInEveryWay() async throws {
    for effect in CopyFaultTests.effects {
      for size in [500, 5000] {
        let struck = try await exhaustFaults([effect]) { plan in
          let bench = try UploadBench(size: size, faults: plan)
          bench.store.place(UploadBench.key, .text("as it was"))
          let failure = await bench.outcome()
          let hasLostUpload = bench.store.calls.of(.createMultipartUpload).contains {
            $0.outcome != .succeeded
          }
          if failure == nil {
            #expect(bench.isUploaded)
          } else {
            let bytes = bench.store.bytes(at: UploadBench.key)
            #expect(bytes == Array("as it was".utf8) || bench.isUploaded)
            let text = try bench.directory.bytes(of: "checkpoint") ?? []
            let known = (try? UploadCheckpoint(parsing: text))?.upload.reference
            let unknown = bench.store.openUploads.filter { $0 != known }
            #expect(unknown.count <= (hasLostUpload ? 1 : 0), "\(effect)")
            #expect(await bench.outcome() == nil)
            #expect(bench.isUploaded)
          }
          #expect(bench.leftovers == [])
          #expect(bench.store.openUploads.count <= (hasLostUpload ? 1 : 0))
          #expect(bench.store.openPartCount == 0)
        }
        #expect(struck >= (size == 500 ? 1 : 7), "\(effect)")
      }
    }
  }
}

/// What came of an upload.
private func result(of upload: ObjectUpload) async -> Result<StoredObject, TransferError> {
  do throws(TransferError) {
    return .success(try await upload.run())
  } catch {
    return .failure(error)
  }
}

extension Call {
  /// True if no earlier call sent the same part.
  fileprivate func isFirstOfItsPart(_ calls: [Call]) -> Bool {
    !calls.contains { $0.operation == operation && $0.partNumber == partNumber }
  }
}
