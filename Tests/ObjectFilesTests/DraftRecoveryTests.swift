import Core
import ObjectFiles
import Simulation
import Support
import Testing

/// What is left of drafts when a mount ends in whatever way.
@Suite struct DraftRecoveryTests {
  private let key = ObjectKey("dir/file")

  private var writeBack: Drafts.Settings {
    var settings = DraftBench.settings
    settings.writeBackDelay = .seconds(3600)
    return settings
  }

  @Test func w4WhatCouldNotBeStoredIsKeptAndStoredByTheNextMount() async throws {
    let faults = FaultPlan([Fault(.fail(.unreachable), operation: .putObject)])
    let bench = try DraftBench(faults: faults)
    let draft = try bench.drafts.create(key, facts: ObjectFacts(userMetadata: ["mode": "33188"]))
    try draft.write("kept", at: 0)
    draft.setModified(Timestamp(seconds: 12))
    guard case .failure(let error) = await draft.flush() else {
      Issue.record("stored although the store is out of reach")
      return
    }
    #expect(error.code == .timedOut)
    #expect(bench.drafts.unsaved.map(\.key) == [key])
    #expect(bench.drafts.dirtyByteCount == 4)

    // The process is killed, and there is a next one.
    let next = try bench.remounted()
    let recovered = try await next.drafts.recover()
    #expect(recovered.map(\.key) == [key])
    #expect(try await recovered.first?.text() == "kept")
    #expect(recovered.first?.modified == Timestamp(seconds: 12))
    #expect(await eventually { !next.observer.published.withLock { $0 }.isEmpty })
    #expect(next.store.bytes(at: key) == Array("kept".utf8))
    #expect(next.store.metadata(at: key)?.userMetadata == ["mode": "33188"])
    #expect(next.drafts.pending.isEmpty)
    for draft in recovered { #expect(next.drafts.end(draft)) }
    #expect(next.directory.names("staged") == [])
  }

  @Test func w1WriteBackAnswersWhenItIsOnTheDiskAndFsyncWhenItIsStored() async throws {
    let bench = try DraftBench(settings: writeBack)
    let draft = try bench.drafts.create(key)
    try draft.write("closed", at: 0)
    _ = try await draft.flush().get()
    #expect(bench.store.keys == [])
    #expect(bench.drafts.pending.map(\.key) == [key])
    #expect(bench.drafts.unsaved.isEmpty)
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("closed".utf8))
  }

  @Test func writeBackIsStoredAfterItsDelay() async throws {
    var settings = writeBack
    settings.writeBackDelay = .milliseconds(20)
    let bench = try DraftBench(settings: settings)
    let draft = try bench.drafts.create(key)
    try draft.write("soon", at: 0)
    _ = try await draft.flush().get()
    #expect(await eventually { bench.store.bytes(at: key) == Array("soon".utf8) })
    #expect(await eventually { !draft.isDirty })
  }

  @Test func aCleanEndStoresEverythingAndLeavesNothing() async throws {
    let bench = try DraftBench(settings: writeBack)
    for index in 0..<9 {
      let draft = try bench.drafts.create(ObjectKey("file-\(index)"))
      try draft.write("\(index)", at: 0)
      _ = try await draft.flush().get()
    }
    #expect(await bench.drafts.finish().isEmpty)
    #expect(bench.store.keys.count == 9)
    #expect(bench.directory.names("staged") == [])
  }

  @Test func w4WhateverStepTheProcessDiesAtWhatWasPromisedIsThere() async throws {
    var stepCount = 0
    for lastStep in 0..<200 {
      let disk = DyingDisk(after: lastStep)
      let directory = try TestDirectory()
      let store = SimulatedStore(time: SystemClock())
      store.place(ObjectKey("edited"), .text("old bytes"))
      let bench = try DraftBench(writeBack, store, directory, diskFaults: disk.faults)
      // What each file must have when all that was promised is kept.
      var promised: [String: String] = [:]
      let edited = try? bench.drafts.edit(try #require(store.metadata(at: ObjectKey("edited"))))
      let created = try? bench.drafts.create(key)
      do throws(FileError) {
        if let created {
          try created.write("hello", at: 0)
          try created.write("world", at: 6)
          if case .success = await created.flush() { promised["dir/file"] = "hello\0world" }
          try created.resize(to: 3)
          if case .success = await created.flush() { promised["dir/file"] = "hel" }
        }
        if let edited {
          try edited.write("new", at: 0)
          if case .success = await edited.flush() { promised["edited"] = "new bytes" }
        }
      } catch {
        #expect(error.code == .noSpace)
      }
      // What could not be kept on the disk was stored at once. Then the disk knows an older state of it, and
      // that must not take its place.
      func stored(_ name: String) -> String? {
        store.bytes(at: ObjectKey(name)).map { String(decoding: $0, as: UTF8.self) }
      }
      let storedEarly = promised.filter { stored($0.key) == $0.value }
      let next = try bench.remounted()
      let recovered = try await next.drafts.recover()
      for draft in recovered where storedEarly["\(draft.key)"] == nil {
        guard let promise = promised["\(draft.key)"] else { continue }
        let text = try await draft.text()
        // A change after the promise may be there or not.
        #expect(text == promise || text == "hel", "died after step \(lastStep): \(text)")
      }
      let left = await next.drafts.finish()
      for draft in left {
        #expect(storedEarly["\(draft.key)"] != nil, "died after step \(lastStep): \(draft.key)")
        #expect(draft.failure?.code == .exists || draft.failure?.code == .stale)
      }
      for (name, text) in promised {
        let found = stored(name)
        let isThere = found == text || (name == "dir/file" && found == "hel")
        #expect(isThere, "died after step \(lastStep): \(name) is \(found ?? "not there")")
      }
      #expect(next.drafts.unreadable.isEmpty, "died after step \(lastStep)")
      #expect(directory.names("staged").count == left.count, "died after step \(lastStep)")
      stepCount = lastStep
      if !disk.isDead { break }
    }
    #expect(stepCount > 15 && stepCount < 199, "\(stepCount) steps")
  }

  @Test func w4AJournalThatIsCutAnywhereLeadsToWhatItsLinesSay() async throws {
    let bench = try DraftBench(settings: writeBack)
    let draft = try bench.drafts.create(key)
    // What the file is after each line of the journal; writes that don't overlap, so that bytes which are
    // there before their line change nothing.
    var states = ["", ""]
    func step(_ text: String, _ change: () throws -> Void) async throws {
      try change()
      _ = try await draft.journaled().get()
      states.append(text)
    }
    try await step("aaa") { try draft.write("aaa", at: 0) }
    try await step("aaa\0\0bb") { try draft.write("bb", at: 5) }
    try await step("a\0a\0\0bb") { try draft.punch(ByteRange(1, 2)) }
    try await step("a\0") { try draft.resize(to: 2) }
    try await step("a\0\0\0") { try draft.resize(to: 4) }
    try await step("a\0\0\0\0\0\0\0c") { try draft.write("c", at: 8) }
    let directory = try #require(bench.directory.names("staged").first)
    let text = try #require(try bench.directory.bytes(of: "staged/\(directory)/journal"))
    #expect(text.count { $0 == 10 } == states.count + 1)
    for count in 0...text.count {
      let cut = Array(text[..<count])
      try bench.directory.write(cut, to: "staged/\(directory)/journal")
      let store = SimulatedStore(time: SystemClock())
      let next = try DraftBench(writeBack, store, bench.directory)
      let recovered = try await next.drafts.recover()
      let lineCount = cut.count { $0 == 10 }
      guard lineCount >= 2 else {
        // Kept for whoever wants to look.
        #expect(recovered.isEmpty && next.drafts.unreadable.count == 1, "cut at \(count)")
        let aside = try #require(bench.directory.names("staged").first)
        try Disk.rename(
          bench.directory.file("staged/\(aside)"),
          to: bench.directory.file("staged/\(directory)")
        )
        continue
      }
      let found = try #require(recovered.first, "cut at \(count)")
      #expect(try await found.text() == states[lineCount - 2], "cut at \(count)")
      _ = try await found.publish().get()
      #expect(
        store.bytes(at: key) == Array(states[lineCount - 2].utf8),
        "cut at \(count)"
      )
    }
  }

  @Test func aJournalOfAnotherVersionIsLeftAlone() async throws {
    let bench = try DraftBench()
    try bench.directory.makeDirectory("staged/0123456789abcdef")
    let journal = Array("dipper draft 2\nbegan otherwise\n".utf8)
    try bench.directory.write(journal, to: "staged/0123456789abcdef/journal")
    try bench.directory.write([1, 2, 3], to: "staged/0123456789abcdef/data.1")
    #expect(try await bench.drafts.recover().isEmpty)
    #expect(bench.drafts.unreadable.count == 1)
    #expect(try bench.directory.bytes(of: "staged/0123456789abcdef/journal") == journal)
    #expect(try bench.directory.bytes(of: "staged/0123456789abcdef/data.1") == [1, 2, 3])
  }

  @Test func bytesThatDidNotReachTheDiskAreNotMadeUp() async throws {
    let bench = try DraftBench(settings: writeBack)
    let draft = try bench.drafts.create(key)
    try draft.write("written", at: 0)
    _ = try await draft.flush().get()
    let directory = try #require(bench.directory.names("staged").first)
    // As a power failure can leave it.
    try bench.directory.write(Array("wri".utf8), to: "staged/\(directory)/data.1")
    let next = try bench.remounted()
    #expect(try await next.drafts.recover().isEmpty)
    #expect(next.drafts.unreadable.map { $0.hasSuffix(".damaged") } == [true])
    #expect(next.store.keys == [])
    // The one after that tells of it, too.
    let third = try bench.remounted()
    #expect(try await third.drafts.recover().isEmpty)
    #expect(third.drafts.unreadable == next.drafts.unreadable)
  }

  @Test func aPublishedDraftThatIsFoundIsNotPublishedAgain() async throws {
    let bench = try DraftBench()
    let draft = try bench.drafts.create(key)
    try draft.write("stored", at: 0)
    _ = try await draft.publish().get()
    // Killed before the draft ended; then somebody else writes.
    bench.store.place(key, .text("newer"))
    bench.store.forgetCalls()
    let next = try bench.remounted()
    #expect(try await next.drafts.recover().isEmpty)
    #expect(await eventually { next.directory.names("staged") == [] })
    #expect(next.store.bytes(at: key) == Array("newer".utf8))
    #expect(next.store.calls.of(.putObject).isEmpty)
  }

  @Test func whatWasStoredJustBeforeTheCrashIsRecognized() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.keepsChecksums = true
    let faults = FaultPlan([Fault(.loseAnswer(.unreachable), operation: .putObject)])
    let bench = try DraftBench(behaviour: behaviour, faults: faults)
    let draft = try bench.drafts.create(key)
    try draft.write("once", at: 0)
    guard case .failure = await draft.publish() else {
      Issue.record("no answer came")
      return
    }
    let next = try bench.remounted()
    let recovered = try await next.drafts.recover()
    #expect(recovered.count == 1)
    #expect(await next.drafts.finish().isEmpty)
    #expect(next.observer.failures.withLock { $0 } == [])
    #expect(next.store.bytes(at: key) == Array("once".utf8))
  }

  @Test func aDiscardedDraftIsNeverStored() async throws {
    let bench = try DraftBench(settings: writeBack)
    let draft = try bench.drafts.create(key)
    try draft.write("gone", at: 0)
    _ = try await draft.flush().get()
    await draft.discard()
    #expect(try await draft.text() == "gone")
    #expect(try await draft.publish().get() == nil)
    let next = try bench.remounted()
    #expect(try await next.drafts.recover().isEmpty)
    #expect(await eventually { next.directory.names("staged") == [] })
    #expect(bench.store.keys == [])
  }

  @Test func anInterruptedUploadIsGoneOnWith() async throws {
    var settings = DraftBench.settings
    settings.partSize = 64 << 10
    settings.parallel = 1
    var behaviour = SimulatedStore.Behaviour()
    behaviour.partSizeMin = 64 << 10
    let faults = FaultPlan([Fault(.fail(.unreachable), operation: .uploadPart, callNumber: 3)])
    let bench = try DraftBench(settings: settings, behaviour: behaviour, faults: faults)
    let content = SimulatedContent.words(size: 320 << 10, seed: 8).allBytes
    let draft = try bench.drafts.create(key)
    try draft.write(content, at: 0)
    guard case .failure = await draft.publish() else {
      Issue.record("a part failed")
      return
    }
    #expect(bench.store.openUploads.count == 1)
    bench.store.forgetCalls()
    let next = try bench.remounted(settings)
    #expect(try await next.drafts.recover().count == 1)
    #expect(await next.drafts.finish().isEmpty)
    #expect(bench.store.bytes(at: key) == content)
    #expect(bench.store.calls.of(.createMultipartUpload).isEmpty)
    #expect(bench.store.calls.of(.uploadPart).count == 3)
    #expect(bench.store.openUploads.isEmpty)
    #expect(bench.directory.names("staged") == [])
  }

  @Test func anUploadOfWhatHasChangedSinceIsGivenUp() async throws {
    var settings = DraftBench.settings
    settings.partSize = 64 << 10
    var behaviour = SimulatedStore.Behaviour()
    behaviour.partSizeMin = 64 << 10
    let faults = FaultPlan([
      Fault(.fail(.unreachable), operation: .completeMultipartUpload, callCount: 3)
    ])
    let bench = try DraftBench(settings: settings, behaviour: behaviour, faults: faults)
    var content = SimulatedContent.words(size: 320 << 10, seed: 8).allBytes
    let draft = try bench.drafts.create(key)
    try draft.write(content, at: 0)
    guard case .failure = await draft.publish() else {
      Issue.record("completing failed")
      return
    }
    let first = bench.store.openUploads
    try draft.write([9], at: 70_000)
    content[70_000] = 9
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == content)
    #expect(first.count == 1 && bench.store.openUploads.isEmpty)
  }

  @Test func aFullDiskLosesNothingThatWasAccepted() async throws {
    let directory = try TestDirectory()
    let store = SimulatedStore(time: SystemClock())
    let isFull = Lock(false)
    let bench = try DraftBench(DraftBench.settings, store, directory) {
      (step) throws(DiskFailure) in
      if isFull.withLock({ $0 }) {
        throw DiskFailure(errno: 28, action: "\(step)", reason: "No space left on device")
      }
    }
    let draft = try bench.drafts.create(key)
    try draft.write("accepted", at: 0)
    isFull.withLock { $0 = true }
    let error = #expect(throws: FileError.self) { try draft.write("refused", at: 8) }
    #expect(error?.code == .noSpace)
    #expect(throws: FileError.self) { try bench.drafts.create(ObjectKey("other")) }
    #expect(try await draft.text() == "accepted")
    _ = try await draft.publish().get()
    #expect(store.bytes(at: key) == Array("accepted".utf8))
  }
}
