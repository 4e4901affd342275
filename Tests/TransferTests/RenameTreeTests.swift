import Core
import Simulation
import Support
import Testing

@testable import Transfer

/// A tree of keys is renamed whole, whatever comes between (C3).
@Suite struct RenameTreeTests {
  @Test func c3EverythingMovesWithWhatBelongsToIt() async throws {
    let bench = try RenameBench()
    #expect(await bench.rename() == nil)
    try bench.expectWhole("", isAt: ["new/"])
    // A look, the copies, a look that they are still the same, one deletion, a look that nothing came.
    #expect(bench.store.calls.of(.listObjects).count == 3)
    #expect(bench.store.calls.of(.copyObject).count == RenameBench.rests.count)
    #expect(bench.store.calls.of(.deleteObjects).count == 1)
    // What lies in a directory goes before its marker.
    let last = RenameBench.rests.max().map { ObjectKey("old/" + $0) }
    #expect(bench.store.calls.of(.deleteObjects).first?.key == last)
    #expect(bench.store.calls.count == 4 + RenameBench.rests.count)
  }

  @Test(arguments: [false, true])
  func c3AStoreThatGoesAwayAtAnyStepLeavesItWhole(losesAnswer: Bool) async throws {
    var callNumber = 1
    while true {
      let bench = try RenameBench()
      if losesAnswer {
        bench.faults.add(Fault(.loseAnswer(.unreachable), callNumber: callNumber))
      }
      bench.faults.add(
        Fault(.fail(.unreachable), callNumber: callNumber + (losesAnswer ? 1 : 0), callCount: .max)
      )
      let error = await bench.rename()
      let wasStruck = bench.faults.strikeCount > 0
      bench.faults.clear()
      try await bench.recover()
      try bench.expectWhole("call \(callNumber)")
      #expect(wasStruck == (error != nil), "call \(callNumber)")
      guard wasStruck else { break }
      callNumber += 1
    }
    #expect(callNumber > RenameBench.rests.count)
  }

  @Test func c3AnyOneFailureLeavesItWhole() async throws {
    let kinds: [StoreError.Kind] = [.accessDenied, .serverFailure, .timedOut]
    for kind in kinds {
      var callNumber = 1
      while true {
        let bench = try RenameBench()
        bench.faults.add(Fault(.fail(kind), callNumber: callNumber))
        let error = await bench.rename()
        guard bench.faults.strikeCount > 0 else { break }
        #expect(error != nil, "\(kind) \(callNumber)")
        try await bench.recover()
        try bench.expectWhole("\(kind) \(callNumber)")
        callNumber += 1
      }
    }
  }

  /// What a killed process leaves: some copies, with or without their lines, and some deletions.
  @Test func c3AKilledRenamingIsRolledForward() async throws {
    for copiedCount in stride(from: 0, through: RenameBench.rests.count, by: 3) {
      for recordedCount in [0, copiedCount / 2, copiedCount] {
        for deletedCount in copiedCount == RenameBench.rests.count ? [0, 1, 7] : [0] {
          let bench = try RenameBench()
          let text = try await journal(
            bench,
            copied: copiedCount,
            recorded: recordedCount,
            deleted: deletedCount
          )
          // Its last line may be torn; its head is written as a whole.
          let cut = recordedCount == copiedCount ? copiedCount % 6 : 0
          try overwrite(bench.plan.journalPath, Array(text.utf8.dropLast(cut)))
          try await bench.recover()
          try bench.expectWhole(
            "\(copiedCount) \(recordedCount) \(deletedCount)",
            isAt: ["new/"]
          )
        }
      }
    }
  }

  private func overwrite(_ path: String, _ bytes: [UInt8]) throws {
    let file = try FileDescriptor.open(path, [.readWrite, .create, .truncate])
    try bytes.span.bytes.withUnsafeBytes { try file.write($0, at: 0) }
  }

  private func journal(
    _ bench: RenameBench,
    copied: Int,
    recorded: Int,
    deleted: Int
  ) async throws -> String {
    var journal = RenameJournal(
      store: "s3://simulated",
      source: RenameBench.source,
      target: RenameBench.target,
      subject: .tree
    )
    let context = RequestContext(deadline: .distantFuture)
    var text = journal.text
    for (index, rest) in RenameBench.rests.prefix(copied).enumerated() {
      let from = ObjectKey("old/" + rest)
      let state = try #require(bench.store.metadata(at: from)).version.state
      let copy = try await bench.store.copy(
        CopyRequest(
          source: CopySource(key: from),
          target: PutRequest(key: ObjectKey("new/" + rest), storageClass: "STANDARD_IA")
        ),
        context: context
      )
      text += journal.ask(Array(rest.utf8), state)
      if index < recorded {
        let line = RenameJournal.Copied(source: state, target: copy.version.state)
        text += journal.insert(Array(rest.utf8), line)
      }
      if index < deleted { bench.store.remove(from) }
    }
    return text
  }

  @Test func whoMayNotDeleteGetsItBack() async throws {
    let bench = try RenameBench()
    bench.faults.add(Fault(.fail(.accessDenied), operation: .deleteObjects))
    let error = await bench.rename()
    guard case .store(let failure) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(failure.kind == .accessDenied)
    try await bench.recover()
    try bench.expectWhole("")
  }

  @Test func cancellingTakesItBack() async throws {
    let bench = try RenameBench()
    let task = Lock<Task<TransferError?, Never>?>(nil)
    bench.store.hook = { call, moment in
      if call.operation == .copyObject, call.key == ObjectKey("new/2/file 8"), moment == .request {
        task.withLock { $0 }?.cancel()
      }
    }
    let running = Task { await bench.rename() }
    task.withLock { $0 = running }
    #expect(await running.value == .paused)
    try bench.expectWhole("", isAt: ["old/"])
  }

  /// A store may carry out what was given up, after everything has been taken back.
  @Test func whenOneCopyFailsTheOthersOnTheirWayAreWaitedFor() async throws {
    let bench = try RenameBench(["a", "b"])
    let gate = Gate()
    let store = bench.store
    bench.faults.add(Fault(.fail(.accessDenied), operation: .copyObject, key: ObjectKey("new/b")))
    store.hook = { call, moment in
      guard call.operation == .copyObject, moment == .request else { return }
      if call.key == ObjectKey("new/a") {
        await gate.wait()
      } else {
        // It fails when this returns; what becomes of the other is seen soon after.
        Task {
          for _ in 0..<1000 { await Task.yield() }
          gate.open()
        }
      }
    }
    #expect(await bench.rename() != nil)
    let outcomes = store.calls.of(.copyObject).map(\.outcome)
    #expect(outcomes.contains(.succeeded) && !outcomes.contains(.failed(.cancelled)))
    #expect(bench.keys("old/") == ["a", "b"] && bench.keys("new/").isEmpty)
  }

  @Test func whatOthersAddOrChangeMeanwhileGoesAlong() async throws {
    let bench = try RenameBench()
    let hasStruck = Lock(false)
    let (added, changed) = (
      SimulatedContent.words(size: 7, seed: 7), SimulatedContent.words(size: 9, seed: 9)
    )
    let store = bench.store
    store.hook = { call, moment in
      guard call.operation == .copyObject, moment == .answer else { return }
      let isFirst = hasStruck.withLock { hasStruck in
        defer { hasStruck = true }
        return !hasStruck
      }
      guard isFirst else { return }
      store.place(PutRequest(key: ObjectKey("old/added")), added)
      store.place(PutRequest(key: ObjectKey("old/0/file 3")), changed)
      store.remove(ObjectKey("old/1/file 1"))
    }
    #expect(await bench.rename() == nil)
    #expect(bench.keys("old/").isEmpty)
    #expect(store.bytes(at: ObjectKey("new/added")) == added.bytes(0..<7))
    #expect(store.bytes(at: ObjectKey("new/0/file 3")) == changed.bytes(0..<9))
    #expect(
      bench.keys("new/").subtracting(["1/file 1"])
        == Set(RenameBench.rests + ["added"]).subtracting(["1/file 1"])
    )
    #expect(try bench.journals.isEmpty)
  }

  @Test func takingItBackKeepsTheOnlyCopy() async throws {
    let bench = try RenameBench(["a", "b", "c"])
    let store = bench.store
    store.hook = { call, moment in
      // Others remove what was just copied; then copying fails.
      if call.operation == .copyObject, call.key == ObjectKey("new/a"), moment == .answer {
        store.remove(ObjectKey("old/a"))
      }
    }
    bench.faults.add(Fault(.fail(.accessDenied), operation: .copyObject, key: ObjectKey("new/c")))
    #expect(await bench.rename() != nil)
    #expect(bench.keys("old/") == ["b", "c"])
    #expect(bench.keys("new/") == ["a"])
  }

  @Test func largeObjectsGoInParts() async throws {
    let bench = try RenameBench()
    var plan = bench.plan
    plan.wholeSizeMax = 105
    plan.limits.sizeMin = 1
    plan.partSize = 50
    try await Rename(plan, in: bench.store, environment: bench.environment).run()
    #expect(!bench.store.calls.of(.uploadPartCopy).isEmpty)
    try bench.expectWhole("", isAt: ["new/"])
    #expect(try Disk.names(in: bench.directory.path).isEmpty)
  }

  /// A listing may tell another tag than HEAD does.
  @Test func aTagThatOnlyTheListingHasIsNoObstacle() async throws {
    let bench = try RenameBench()
    let store = bench.store
    let isFirst = Lock(true)
    // Each look but the last is followed by a change that isn't one: the same bytes under another tag.
    store.hook = { call, moment in
      guard call.operation == .listObjects, moment == .answer else { return }
      let strikes = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      guard strikes else { return }
      var put = PutRequest(key: ObjectKey("old/"), userMetadata: ["of": "0"])
      put.tags = ["team": "film"]
      put.storageClass = "STANDARD_IA"
      store.place(put, RenameBench.content(""))
    }
    #expect(await bench.rename() == nil)
    try bench.expectWhole("", isAt: ["new/"])
    #expect(store.calls.of(.headObject).count == 1)
  }

  @Test func c3LargeObjectsAmongThemLeaveItWholeWhateverFails() async throws {
    for kind in [StoreError.Kind.accessDenied, .unreachable] {
      var callNumber = 1
      while true {
        let bench = try RenameBench()
        var plan = bench.plan
        // Two of them are larger.
        plan.wholeSizeMax = 107
        plan.limits.sizeMin = 1
        plan.partSize = 60
        bench.faults.add(Fault(.fail(kind), callNumber: callNumber))
        _ = try? await Rename(plan, in: bench.store, environment: bench.environment).run()
        guard bench.faults.strikeCount > 0 else { break }
        for path in try bench.journals {
          try await Rename.resume(
            path,
            like: plan,
            in: bench.store,
            environment: bench.environment
          )
        }
        try bench.expectWhole("\(kind) \(callNumber)")
        callNumber += 1
      }
      #expect(callNumber > RenameBench.rests.count)
    }
  }

  /// A journal that can't be begun stops it; a line that can't be written is said and costs a repetition.
  @Test func c3ADiskThatFailsAtAnyStepLeavesItWhole() async throws {
    var stepNumber = 1
    while true {
      let bench = try RenameBench()
      let count = Lock(0)
      let rename = Rename(
        bench.plan,
        in: bench.store,
        environment: bench.environment,
        faults: { [stepNumber] (_) throws(DiskFailure) in
          let isStruck = count.withLock { count in
            count += 1
            return count == stepNumber
          }
          if isStruck { throw DiskFailure(errno: 28, action: "write", reason: "no space") }
        }
      )
      let outcome: TransferError?
      do throws(TransferError) {
        try await rename.run()
        outcome = nil
      } catch {
        outcome = error
      }
      #expect((outcome != nil) == (stepNumber == 1))
      try bench.expectWhole("step \(stepNumber)", isAt: [stepNumber == 1 ? "old/" : "new/"])
      guard count.withLock({ $0 }) >= stepNumber else { break }
      stepNumber += 1
    }
    // Each key has two lines.
    #expect(stepNumber > 2 * RenameBench.rests.count)
  }

  @Test func intoItselfIsRefused() async throws {
    let bench = try RenameBench()
    for target in ["old/", "old/x/", ""] {
      var plan = bench.plan
      plan.target = ObjectKey(target)
      await #expect(throws: TransferError.self) {
        try await Rename(plan, in: bench.store, environment: bench.environment).run()
      }
    }
    #expect(bench.store.calls.isEmpty)
    try bench.expectWhole("", isAt: ["old/"])
  }

  @Test func aDiskThatTakesNoJournalStopsItBeforeTheFirstStep() async throws {
    let bench = try RenameBench()
    let rename = Rename(
      bench.plan,
      in: bench.store,
      environment: bench.environment,
      faults: { (_) throws(DiskFailure) in
        throw DiskFailure(errno: 28, action: "write", reason: "no space")
      }
    )
    await #expect(throws: TransferError.self) { try await rename.run() }
    #expect(bench.store.calls.isEmpty)
    try bench.expectWhole("", isAt: ["old/"])
  }

  /// The process that resumes it has no answer from the store: it is finished by the one after.
  @Test func c3AResumedRenamingIsNotTakenBackHalfway() async throws {
    var callNumber = 1
    while true {
      let bench = try RenameBench()
      // Killed when the first keys had been deleted.
      let count = RenameBench.rests.count
      let text = try await journal(bench, copied: count, recorded: count, deleted: 7)
      try overwrite(bench.plan.journalPath, Array(text.utf8))
      bench.faults.add(Fault(.fail(.unreachable), callNumber: callNumber, callCount: .max))
      try? await bench.recover()
      let wasStruck = bench.faults.strikeCount > 0
      bench.faults.clear()
      try await bench.recover()
      try bench.expectWhole("call \(callNumber)", isAt: ["new/"])
      guard wasStruck else { break }
      callNumber += 1
    }
    #expect(callNumber > 4)
  }

  /// What others have put at the new place since the process died is not replaced.
  @Test func whatOthersHavePutAtTheNewPlaceMeanwhileStays() async throws {
    let bench = try RenameBench()
    let text = try await journal(bench, copied: 5, recorded: 5, deleted: 0)
    try overwrite(bench.plan.journalPath, Array(text.utf8))
    let others = RenameBench.rests[7]
    let content = SimulatedContent.text("theirs")
    bench.store.place(ObjectKey("new/" + others), content)
    try await bench.recover()
    #expect(bench.store.bytes(at: ObjectKey("new/" + others)) == content.allBytes)
    #expect(bench.keys("old/") == [others])
    #expect(bench.keys("new/") == Set(RenameBench.rests))
    #expect(try bench.journals.isEmpty)
  }

  /// The process ends at each step of the renaming: when a request leaves, and when its answer has come.
  @Test func c3KilledAtEveryStepItIsFinishedByTheNext() async throws {
    var step = 1
    while true {
      let bench = try RenameBench()
      let death = Death(at: step)
      bench.store.hook = { _, _ in await Death.current?.pass() }
      let running = Death.$current.withValue(death) { Task { await bench.rename() } }
      let hasDied = await death.comes(before: running)
      if hasDied { try await bench.recover() }
      try bench.expectWhole("step \(step)", isAt: ["new/"])
      running.cancel()
      death.end()
      guard hasDied else { break }
      step += 1
    }
    // Each copy, three listings and a deletion have two moments.
    #expect(step > 2 * (RenameBench.rests.count + 4))
  }

  /// Killed, and struck at any request of the recovery: the one after that finishes it.
  @Test func c3AFaultWhileItIsFinishedLeavesItWhole() async throws {
    // In the middle of the copies, behind them, between the deletion's request and its answer.
    let copyCount = RenameBench.rests.count
    for step in [5, copyCount, 2 * copyCount + 2, 2 * copyCount + 4, 2 * copyCount + 6] {
      for effect in [Fault.Effect.fail(.unreachable), .loseAnswer(.unreachable)] {
        var callNumber = 1
        while true {
          let comment: Comment = "step \(step), \(effect) \(callNumber)"
          let bench = try RenameBench()
          let death = Death(at: step)
          bench.store.hook = { _, _ in await Death.current?.pass() }
          let running = Death.$current.withValue(death) { Task { await bench.rename() } }
          #expect(await death.comes(before: running), comment)
          bench.faults.add(Fault(effect, callNumber: callNumber))
          try? await bench.recover()
          let wasStruck = bench.faults.strikeCount > 0
          try await bench.recover()
          try bench.expectWhole(comment)
          running.cancel()
          death.end()
          guard wasStruck else { break }
          callNumber += 1
        }
        #expect(callNumber > 2)
      }
    }
  }
}
