import Core
import Crypto
import Glibc
import Simulation
import Support
import Testing
import Transfer

private let mebibyte = 1 << 20

/// True if files can't be moved from one directory to the other in one step.
private func areTwoFileSystems(_ left: String, _ right: String) -> Bool {
  guard let left = try? Disk.status(of: left), let right = try? Disk.status(of: right) else {
    return false
  }
  return left.identity.first != right.identity.first
}

@Suite struct FileDownloadTests {
  @Test(arguments: [0, 1, mebibyte, 5 * mebibyte + 17])
  func theFileIsTheObjectAndNothingElseIsLeft(size: Int) async throws {
    let bench = try Workbench(size: size)
    let events = Lock<[FileDownloadEvent]>([])
    let metadata = try await bench.download(bench.request()) { event in
      events.withLock { $0.append(event) }
    }.run()
    #expect(metadata.version.isSameContent(as: bench.version))
    #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
    #expect(try bench.leftovers() == [])
    let parts = events.withLock { $0 }.compactMap { event -> ByteRange? in
      guard case .partFinished(_, let range) = event else { return nil }
      return range
    }
    #expect(parts.reduce(0) { $0 + $1.count } == size)
    #expect(
      events.withLock { $0.last }
        == .finished(path: bench.directory.file("target"), StoredObject(metadata))
    )
    let status = try #require(try Disk.status(of: bench.directory.file("target")))
    #expect(status.permissions == 0o666 & ~Disk.creationMask)
  }

  @Test func partsBeyondTenThousandGrow() async throws {
    let bench = try Workbench(size: 10_001 * 300)
    let parts = Lock(0)
    let download = bench.download(bench.request(partSize: 300)) { event in
      if case .partFinished = event { parts.withLock { $0 += 1 } }
    }
    _ = try await download.run()
    #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
    #expect(parts.withLock { $0 } == 3, "a grown part has whole MiB")
  }

  @Test func aDirectoryThatIsNotThereIsNamed() async throws {
    let bench = try Workbench(size: 1000)
    var asked = bench.request()
    asked.target = bench.directory.file("no/target")
    let directory = bench.directory.file("no")
    #expect(
      await outcome(of: bench.download(asked))
        == .invalid("the target's directory \(directory) doesn't exist; make it first")
    )
    asked = bench.request()
    asked.temporary = bench.directory.file("no/temporary")
    #expect(
      await outcome(of: bench.download(asked))
        == .invalid("the temporary file's directory \(directory) doesn't exist; make it first")
    )
    #expect(bench.store.calls.isEmpty)
    #expect(try bench.leftovers() == [])
  }

  @Test(.enabled(if: areTwoFileSystems("/tmp/", "/dev/shm/")))
  func aTemporaryFileOnAnotherFileSystemIsRefusedAtOnce() async throws {
    let bench = try Workbench(size: 1000)
    var asked = bench.request()
    asked.temporary = "/dev/shm/dipper-test-\(UInt64.random(in: .min ... .max))"
    guard case .invalid(let sentence) = await outcome(of: bench.download(asked)) else {
      Issue.record("not refused")
      return
    }
    #expect(sentence.contains("is not on the file system of the target"))
    #expect(bench.store.calls.isEmpty)
    #expect(try bench.leftovers() == [])
  }

  @Test func aPausedDownloadGoesOnWhereItStopped() async throws {
    let bench = try Workbench(size: 6 * mebibyte, chunkSize: 256 << 10)
    bench.store.hook = { call, moment in
      if call.range?.lowerBound ?? 0 >= 3 * mebibyte, moment == .request { await Gate().wait() }
    }
    let paused = bench.download(bench.request())
    let task = Task { await outcome(of: paused) }
    #expect(
      await eventually { bench.store.calls.of(.getObject).count { $0.outcome == .succeeded } == 3 }
    )
    task.cancel()
    #expect(await task.value == .paused)
    #expect(try bench.leftovers().count == 2, "the checkpoint and the gathered bytes")
    bench.store.hook = nil
    bench.store.forgetCalls()
    _ = try await bench.download(bench.request()).run()
    #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
    #expect(bench.store.calls.receivedByteCount == 3 * mebibyte)
    #expect(try bench.leftovers() == [])
  }

  @Test func anExistingTargetSurvivesEveryFailure() async throws {
    let struck = try await exhaustFaults(
      [.fail(.accessDenied), .fail(.unreachable, afterByteCount: 100_000)]
    ) { plan in
      let bench = try Workbench(size: 3 * mebibyte, faults: plan)
      try bench.directory.write([1, 2, 3], to: "target")
      let failure = await outcome(of: bench.download(bench.request()))
      if failure != nil {
        #expect(try bench.directory.bytes(of: "target") == [1, 2, 3])
        _ = try await bench.download(bench.request()).run()
      }
      #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
      #expect(try bench.leftovers() == [])
    }
    #expect(struck >= 8)
  }

  @Test func aChangedSourceIsNeverMixed() async throws {
    let bench = try Workbench(size: 4 * mebibyte)
    bench.faults.add(Fault(.fail(.accessDenied), operation: .getObject, callNumber: 3))
    #expect(await outcome(of: bench.download(bench.request())) != nil)
    let new = bench.store.place(bench.version.key, .words(size: 4 * mebibyte, seed: 99))
    guard
      case .sourceChanged(let was, let isNow) = await outcome(of: bench.download(bench.request()))
    else {
      Issue.record("the change was not noticed")
      return
    }
    #expect(was.etag == bench.version.etag && isNow?.etag == new.etag)
    var again = bench.request()
    again.forcesRestart = true
    _ = try await bench.download(again).run()
    #expect(
      try bench.directory.bytes(of: "target")
        == SimulatedContent.words(size: 4 * mebibyte, seed: 99).allBytes
    )
  }

  @Test func aSourceThatChangesMeanwhileIsNeverMixed() async throws {
    let bench = try Workbench(size: 4 * mebibyte)
    bench.faults.add(
      Fault(
        .replaceObject(
          .words(size: 4 * mebibyte, seed: 99),
          afterByteCount: 1000,
          breaksOff: true
        ),
        operation: .getObject,
        callNumber: 2
      )
    )
    guard case .sourceChanged = await outcome(of: bench.download(bench.request())) else {
      Issue.record("the change was not noticed")
      return
    }
    #expect(try bench.directory.bytes(of: "target") == nil)
  }

  @Test(arguments: ["cut", "overwritten"])
  func whatAnotherProgramDidToTheTemporaryFileIsNoticed(damage: String) async throws {
    let bench = try Workbench(size: 4 * mebibyte)
    let path = bench.directory.file("target.dipper-part")
    let damaged = bench.download(bench.request()) { event in
      guard case .progressed(byteCount: 4 * mebibyte, _) = event,
        let file = try? FileDescriptor.open(path, .readWrite)
      else { return }
      if damage == "cut" { return (try? file.truncate(to: mebibyte + 5)) ?? () }
      [UInt8](repeating: 0xAA, count: 100).withUnsafeBytes { (bytes) in
        try? file.write(bytes, at: 2 * mebibyte)
      }
    }
    guard case .invalid(let sentence) = await outcome(of: damaged) else {
      Issue.record("the damage was not noticed")
      return
    }
    #expect(sentence.contains(path))
    #expect(try bench.directory.bytes(of: "target") == nil)
    _ = try await bench.download(bench.request()).run()
    #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
  }

  @Test func anotherTasksCheckpointIsNotTouched() async throws {
    let bench = try Workbench(size: 2 * mebibyte)
    bench.faults.add(Fault(.fail(.accessDenied), operation: .getObject, callNumber: 2))
    var first = bench.request()
    first.checkpoint = bench.directory.file("saved")
    #expect(await outcome(of: bench.download(first)) != nil)
    let text = try bench.directory.bytes(of: "saved")
    var other = first
    other.partSize = 2 * mebibyte
    #expect(
      await outcome(of: bench.download(other))
        == .differs(field: "part-size", checkpoint: "1048576", request: "2097152")
    )
    other = first
    other.target = bench.directory.file("elsewhere")
    guard case .differs(field: "target", _, _) = await outcome(of: bench.download(other)) else {
      Issue.record("another target was not noticed")
      return
    }
    other = first
    other.key = ObjectKey("other")
    guard case .differs(field: "key", _, _) = await outcome(of: bench.download(other)) else {
      Issue.record("another key was not noticed")
      return
    }
    #expect(try bench.directory.bytes(of: "saved") == text)
  }

  @Test func aSecondProcessIsToldWhoDownloads() async throws {
    let bench = try Workbench(size: mebibyte)
    let gate = Gate()
    bench.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let first = bench.download(bench.request())
    let task = Task { await outcome(of: first) }
    #expect(await eventually { !bench.store.calls.isEmpty })
    #expect(
      await outcome(of: bench.download(bench.request()))
        == .held(
          path: first.checkpointPath,
          by: "pid \(Disk.processID): a download to \(bench.directory.file("target"))"
        )
    )
    gate.open()
    #expect(await task.value == nil)
  }

  @Test(arguments: ["gone", "short", "tampered"])
  func temporaryBytesThatAreNotRightAreFetchedAgain(damage: String) async throws {
    let bench = try Workbench(size: 4 * mebibyte)
    bench.faults.add(Fault(.fail(.accessDenied), operation: .getObject, callNumber: 4))
    #expect(await outcome(of: bench.download(bench.request())) != nil)
    let name = "target.dipper-part"
    var bytes = try #require(try bench.directory.bytes(of: name))
    switch damage {
    case "gone": try Disk.removeFile(bench.directory.file(name))
    case "short": try bench.directory.write(Array(bytes[..<(mebibyte / 2)]), to: name)
    default:
      bytes[mebibyte / 3] ^= 1
      try bench.directory.write(bytes, to: name)
    }
    _ = try await bench.download(bench.request()).run()
    #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
  }

  @Test func aUsersFileIsNotTakenForTheTemporaryOne() async throws {
    let bench = try Workbench(size: 1000)
    try bench.directory.write([9], to: "mine")
    var request = bench.request()
    request.temporary = bench.directory.file("mine")
    guard case .invalid = await outcome(of: bench.download(request)) else {
      Issue.record("a user's file was taken")
      return
    }
    #expect(try bench.directory.bytes(of: "mine") == [9])
  }

  @Test(arguments: ["run", "restart", "abort"])
  func aUsersFileIsNotTakenForAnEarlierTrys(how: String) async throws {
    for named in ["checkpoint", "temporary"] {
      let bench = try Workbench(size: 1000)
      try bench.directory.write(Array("my own words".utf8), to: "mine")
      var request = bench.request()
      if named == "checkpoint" {
        request.checkpoint = bench.directory.file("mine")
      } else {
        request.temporary = bench.directory.file("mine")
      }
      request.forcesRestart = how == "restart"
      let download = bench.download(request)
      let error = how == "abort" ? await abortOutcome(of: download) : await outcome(of: download)
      guard case .invalid = error else {
        Issue.record("the \(named) was taken: \(String(describing: error))")
        continue
      }
      #expect(try bench.directory.bytes(of: "mine") == Array("my own words".utf8))
    }
  }

  @Test func onePathForTwoPurposesIsRefused() async throws {
    let bench = try Workbench(size: 1000)
    for (checkpoint, temporary) in [("target", nil), ("same", "same"), (nil, "target")] {
      var request = bench.request()
      request.checkpoint = checkpoint.map(bench.directory.file)
      request.temporary = temporary.map(bench.directory.file)
      guard case .invalid = await outcome(of: bench.download(request)) else {
        Issue.record("\(checkpoint ?? "-") and \(temporary ?? "-") were taken")
        continue
      }
    }
  }

  @Test func aLinkIsNotReplaced() async throws {
    let bench = try Workbench(size: 1000)
    try bench.directory.write([9], to: "real")
    try #require(symlink(bench.directory.file("real"), bench.directory.file("target")) == 0)
    guard case .invalid = await outcome(of: bench.download(bench.request())) else {
      Issue.record("the link was replaced")
      return
    }
    #expect(try Disk.status(of: bench.directory.file("target"))?.kind == .symbolicLink)
  }

  @Test func oneTargetIsNotFilledTwiceAtATimeWhateverTheCheckpoint() async throws {
    let bench = try Workbench(size: 1000)
    let lock = try LockFile.acquire(
      bench.directory.file("target") + ".dipper-checkpoint.lock",
      holder: "another download"
    )
    var request = bench.request()
    request.checkpoint = bench.directory.file("elsewhere")
    guard case .held(_, let holder) = await outcome(of: bench.download(request)) else {
      Issue.record("two downloads fill one target")
      return
    }
    #expect(holder.contains("another download"))
    try lock.removeFile()
  }

  /// Bytes of which HEAD says nothing would be missed by nobody.
  @Test func anObjectThatIsSaidToBeEmptyIsAskedForItsFirstByte() async throws {
    let empty = try Workbench(size: 0)
    #expect(await outcome(of: empty.download(empty.request())) == nil)
    #expect(empty.store.calls.of(.getObject).count == 1)
    let full = try Workbench(size: 3)
    func lie(_ etag: ETag?) -> ObjectMetadata {
      ObjectMetadata(
        version: ObjectVersion(
          key: full.version.key,
          etag: etag,
          size: 0,
          lastModified: full.version.lastModified
        )
      )
    }
    let context = RequestContext(deadline: .distantFuture)
    for (etag, kind) in [
      (full.version.etag, StoreError.Kind.invalidAnswer),
      (ETag("another"), .preconditionFailed),
    ] {
      await #expect {
        try await full.store.checkEmpty(lie(etag), context: context)
      } throws: { error in
        (error as? StoreError)?.kind == kind
      }
    }
  }

  @Test func abortingLeavesNothing() async throws {
    let bench = try Workbench(size: 2 * mebibyte)
    bench.faults.add(Fault(.fail(.accessDenied), operation: .getObject, callNumber: 2))
    #expect(await outcome(of: bench.download(bench.request())) != nil)
    #expect(try await bench.download(bench.request()).abort())
    #expect(try bench.leftovers() == [])
    // A second time there is nothing.
    #expect(try await !bench.download(bench.request()).abort())
  }

  @Test func aCheckpointDirectoryGetsAGeneratedName() async throws {
    let bench = try Workbench(size: 2 * mebibyte)
    bench.faults.add(Fault(.fail(.accessDenied), operation: .getObject, callNumber: 2))
    try Disk.createDirectory(bench.directory.file("saved"))
    var request = bench.request()
    request.checkpoint = bench.directory.file("saved")
    #expect(await outcome(of: bench.download(request)) != nil)
    let names = try Disk.names(in: bench.directory.file("saved"))
    #expect(names.count { $0.hasSuffix(".checkpoint") } == 1)
    _ = try await bench.download(request).run()
    #expect(try Disk.names(in: bench.directory.file("saved")) == [])
  }

  @Test func withoutACheckpointAFailureLeavesNothing() async throws {
    let bench = try Workbench(size: 2 * mebibyte)
    bench.faults.add(Fault(.fail(.accessDenied), operation: .getObject, callNumber: 2))
    var request = bench.request()
    request.keepsCheckpoint = false
    #expect(await outcome(of: bench.download(request)) != nil)
    #expect(
      try bench.leftovers() == [],
      "neither bytes nor a checkpoint"
    )
    _ = try await bench.download(request).run()
    #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
  }
}
