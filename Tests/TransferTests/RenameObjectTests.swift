import Core
import Simulation
import Support
import Testing

@testable import Transfer

/// One object is renamed by a copy and a removal, and is at one name in the end (C1, C5).
@Suite struct RenameObjectTests {
  private static let source = ObjectKey("a")
  private static let target = ObjectKey("d/b")
  private static let content = SimulatedContent.words(size: 200, seed: 3)

  /// A bucket with one object to rename.
  private struct Bench {
    let base: RenameBench
    let version: ObjectVersion

    init(
      _ content: SimulatedContent = content,
      keepsChecksums: Bool = true
    ) throws {
      var behaviour = SimulatedStore.Behaviour()
      behaviour.keepsChecksums = keepsChecksums
      base = try RenameBench([], behaviour: behaviour)
      version = base.store.place(source, content)
    }

    var store: SimulatedStore { base.store }

    func plan(
      mayReplace: Bool = true,
      replacing: ObjectVersion? = nil,
      facts: ObjectFacts? = nil
    ) -> RenamePlan {
      let object = RenamedObject(
        version,
        replacing: replacing,
        mayReplace: mayReplace,
        facts: facts
      )
      var plan = RenamePlan(
        .object(object),
        from: source,
        to: target,
        of: "s3://simulated",
        journalDirectory: base.directory.path
      )
      plan.limits.sizeMin = 1
      plan.partSize = 20
      plan.parallel = 1
      return plan
    }

    /// In parts of 20 bytes, one after the other.
    var largePlan: RenamePlan {
      var plan = plan()
      plan.wholeSizeMax = 50
      return plan
    }

    func rename(_ plan: RenamePlan) async -> Result<ObjectMetadata?, TransferError> {
      do throws(TransferError) {
        return .success(
          try await Rename(plan, in: store, environment: base.environment).run().object
        )
      } catch {
        return .failure(error)
      }
    }

    func recover() async throws {
      for path in try base.journals {
        let like = largePlan
        try await Rename.resume(path, like: like, in: store, environment: base.environment)
      }
    }

    /// The object is at one name only, whole, and nothing is left behind.
    func expectAt(_ key: ObjectKey?, _ comment: Comment) throws {
      let keys = store.keys.filter { $0 != ObjectKey("older/x") }
      #expect(keys.count == 1, comment)
      if let key { #expect(keys == [key], comment) }
      let bytes = keys.first.flatMap { store.bytes(at: $0) }
      #expect(bytes == content.allBytes, comment)
      #expect(try Disk.names(in: base.directory.path) == [], comment)
    }
  }

  @Test func c1ASmallFileCostsACopyAndADeletion() async throws {
    let bench = try Bench()
    let made = try #require(try await bench.rename(bench.plan()).get())
    #expect(bench.store.calls.map(\.operation) == [.copyObject, .deleteObject])
    #expect(bench.store.calls.map(\.ifMatch) == [bench.version.etag, bench.version.etag])
    #expect(made.version.etag == bench.store.metadata(at: Self.target)?.version.etag)
    try bench.expectAt(Self.target, "")
  }

  @Test(arguments: [StoreError.Kind.accessDenied, .unreachable, .timedOut, .tooLarge])
  func c1AnyOneFailureLeavesItAtOneName(_ kind: StoreError.Kind) async throws {
    for isLarge in [false, true] {
      for effect in [Fault.Effect.fail(kind), .loseAnswer(kind)] {
        var callNumber = 1
        while true {
          let comment: Comment = "\(effect) \(callNumber) \(isLarge)"
          let bench = try Bench()
          bench.base.faults.add(Fault(effect, callNumber: callNumber))
          let outcome = await bench.rename(isLarge ? bench.largePlan : bench.plan())
          guard bench.base.faults.strikeCount > 0 else { break }
          try await bench.recover()
          // What a refusal says wasn't done; that it was is a store that lies.
          if case .loseAnswer = effect, kind == .accessDenied || kind == .tooLarge {
            #expect(bench.store.bytes(at: Self.source) != nil || (try? outcome.get()) != nil)
          } else {
            try bench.expectAt((try? outcome.get()) == nil ? nil : Self.target, comment)
          }
          // An upload whose beginning got no answer is known to nobody.
          let isUnknown = if case .loseAnswer = effect { callNumber == 2 } else { false }
          #expect(bench.store.openUploads.isEmpty || isUnknown, comment)
          callNumber += 1
        }
        #expect(callNumber > 2)
      }
    }
  }

  @Test(arguments: [false, true])
  func c1AStoreThatGoesAwayAtAnyStepLeavesItAtOneName(losesAnswer: Bool) async throws {
    for isLarge in [false, true] {
      var callNumber = 1
      while true {
        let bench = try Bench()
        if losesAnswer {
          bench.base.faults.add(Fault(.loseAnswer(.unreachable), callNumber: callNumber))
        }
        bench.base.faults.add(
          Fault(
            .fail(.unreachable),
            callNumber: callNumber + (losesAnswer ? 1 : 0),
            callCount: .max
          )
        )
        _ = await bench.rename(isLarge ? bench.largePlan : bench.plan())
        let wasStruck = bench.base.faults.strikeCount > 0
        bench.base.faults.clear()
        try await bench.recover()
        try bench.expectAt(nil, "call \(callNumber)")
        if !losesAnswer || callNumber != 2 {
          #expect(bench.store.openUploads.isEmpty, "call \(callNumber)")
        }
        guard wasStruck else { break }
        callNumber += 1
      }
      #expect(callNumber > (isLarge ? 12 : 2))
    }
  }

  @Test func c1KilledAtEveryStepItIsFinishedByTheNext() async throws {
    var step = 1
    while true {
      let bench = try Bench()
      let death = Death(at: step)
      bench.store.hook = { _, _ in await Death.current?.pass() }
      let running = Death.$current.withValue(death) { Task { await bench.rename(bench.plan()) } }
      let hasDied = await death.comes(before: running)
      if hasDied { try await bench.recover() }
      try bench.expectAt(Self.target, "step \(step)")
      running.cancel()
      death.end()
      guard hasDied else { break }
      step += 1
    }
    #expect(step == 5)
  }

  @Test func c5TheSameRenamingGoesOnWithThePartsThatAreThere() async throws {
    let bench = try Bench()
    bench.base.faults.add(
      Fault(.fail(.unreachable), operation: .uploadPartCopy, callNumber: 5, callCount: .max)
    )
    guard case .failure(.store) = await bench.rename(bench.largePlan) else {
      Issue.record("it didn't fail")
      return
    }
    bench.base.faults.clear()
    #expect(bench.store.keys.contains(Self.source) && !bench.store.keys.contains(Self.target))
    bench.store.forgetCalls()
    _ = try await bench.rename(bench.largePlan).get()
    #expect(bench.store.calls.of(.uploadPartCopy).count == 6)
    try bench.expectAt(Self.target, "")
  }

  @Test func c5AKilledRenamingOfALargeFileGoesOnWithThePartsThatAreThere() async throws {
    let bench = try Bench()
    bench.base.faults.add(
      Fault(.fail(.unreachable), operation: .uploadPartCopy, callNumber: 8, callCount: .max)
    )
    _ = await bench.rename(bench.largePlan)
    bench.base.faults.clear()
    // A killed process has not written that it failed.
    let path = bench.largePlan.journalPath
    var text = String(decoding: try #require(try CheckpointFile.text(at: path)), as: UTF8.self)
    #expect(text.hasSuffix("undoing\n"))
    text.removeLast("undoing\n".count)
    _ = try CheckpointFile.replace(path, with: text)
    bench.store.forgetCalls()
    try await bench.recover()
    #expect(bench.store.calls.of(.uploadPartCopy).count == 3)
    try bench.expectAt(Self.target, "")
  }

  @Test func aFailedRenamingOfALargeFileIsGivenUpByTheNextMount() async throws {
    let bench = try Bench()
    bench.base.faults.add(Fault(.fail(.unreachable), operation: .uploadPartCopy, callNumber: 4))
    _ = await bench.rename(bench.largePlan)
    #expect(bench.store.openUploads.count == 1)
    try await bench.recover()
    #expect(bench.store.openUploads.isEmpty)
    try bench.expectAt(Self.source, "")
  }

  @Test func whoMayNotDeleteHasItUnderItsOldName() async throws {
    let bench = try Bench(keepsChecksums: false)
    bench.base.faults.add(Fault(.fail(.accessDenied), operation: .deleteObject, key: Self.source))
    guard case .failure(.store(let error)) = await bench.rename(bench.plan()) else {
      Issue.record("it didn't fail")
      return
    }
    #expect(error.kind == .accessDenied && error.key == Self.source)
    try bench.expectAt(Self.source, "")
  }

  @Test func whatWasReplacedStaysReplacedWhereNothingCanBeDeleted() async throws {
    let bench = try Bench(keepsChecksums: false)
    let replaced = bench.store.place(Self.target, .text("other"))
    bench.base.faults.add(Fault(.fail(.accessDenied), operation: .deleteObject, key: Self.source))
    _ = await bench.rename(bench.plan(replacing: replaced))
    for key in [Self.source, Self.target] {
      #expect(bench.store.bytes(at: key) == Self.content.allBytes)
    }
    #expect(try Disk.names(in: bench.base.directory.path) == [])
  }

  @Test func aSourceThatIsReplacedBeforeTheCopyFailsIt() async throws {
    let bench = try Bench()
    bench.store.place(Self.source, .text("new"))
    let outcome = await bench.rename(bench.plan())
    #expect(outcome == .failure(.sourceChanged(was: bench.version, isNow: nil)))
    #expect(bench.store.bytes(at: Self.source) == Array("new".utf8))
    #expect(bench.store.metadata(at: Self.target) == nil)
    #expect(try Disk.names(in: bench.base.directory.path) == [])
  }

  @Test func aSourceThatIsReplacedAfterTheCopyStays() async throws {
    let bench = try Bench()
    let store = bench.store
    store.hook = { call, moment in
      guard call.operation == .deleteObject, moment == .request else { return }
      store.place(Self.source, .text("new"))
    }
    _ = try await bench.rename(bench.plan()).get()
    #expect(store.bytes(at: Self.source) == Array("new".utf8))
    #expect(store.bytes(at: Self.target) == Self.content.allBytes)
  }

  @Test func whatMustNotBeReplacedStays() async throws {
    let bench = try Bench()
    bench.store.place(Self.target, .text("other"))
    guard case .failure(.targetChanged) = await bench.rename(bench.plan(mayReplace: false)) else {
      Issue.record("it was replaced")
      return
    }
    #expect(bench.store.bytes(at: Self.target) == Array("other".utf8))
    #expect(bench.store.bytes(at: Self.source) == Self.content.allBytes)
  }

  /// Between the death of a process and the next mount others may have done as they like.
  @Test func whatOthersHaveMadeOfTheNewNameMeanwhileStays() async throws {
    for isCopied in [false, true] {
      let bench = try Bench()
      var journal = bench.plan().journal
      if isCopied {
        _ = journal.insert([], RenameJournal.Copied(source: bench.version.state, target: "mine"))
      }
      _ = try CheckpointFile.replace(bench.plan().journalPath, with: journal.text)
      bench.store.place(Self.target, .text("other"))
      try await bench.recover()
      #expect(bench.store.bytes(at: Self.target) == Array("other".utf8))
      #expect(bench.store.bytes(at: Self.source) == Self.content.allBytes)
      #expect(try bench.base.journals.isEmpty)
    }
  }

  @Test func aCopyThatOthersHaveRemovedMeanwhileIsNotMissed() async throws {
    let bench = try Bench()
    var journal = bench.plan().journal
    _ = journal.insert([], RenameJournal.Copied(source: bench.version.state, target: "mine"))
    _ = try CheckpointFile.replace(bench.plan().journalPath, with: journal.text)
    try await bench.recover()
    try bench.expectAt(Self.source, "")
  }

  private static let facts = ObjectFacts(
    headers: ContentHeaders(contentType: "text/x-new"),
    userMetadata: ["mode": "33152"],
    tags: ["team": "sound"]
  )

  /// Killed before the copy or behind it, or not at all, in one request or in parts.
  @Test func n4TheCopyIsGivenWhatItIsToHave() async throws {
    for isLarge in [false, true] {
      // Who is dead holds the lock of its parts here.
      for step in isLarge ? [Int.max] : [1, 2, 3, 4, .max] {
        let bench = try Bench()
        bench.store.place(
          PutRequest(key: Self.source, userMetadata: ["color": "blue"]),
          Self.content
        )
        let version = try #require(bench.store.metadata(at: Self.source)).version
        var plan = bench.plan(facts: Self.facts)
        plan.subject = .object(RenamedObject(version, facts: Self.facts))
        if isLarge { plan.wholeSizeMax = 50 }
        let death = Death(at: step)
        bench.store.hook = { _, _ in await Death.current?.pass() }
        let running = Death.$current.withValue(death) { [plan] in Task { await bench.rename(plan) }
        }
        if await death.comes(before: running) { try await bench.recover() }
        let comment: Comment = "step \(step) \(isLarge)"
        try bench.expectAt(Self.target, comment)
        let made = try #require(bench.store.metadata(at: Self.target))
        #expect(made.userMetadata == Self.facts.userMetadata, comment)
        #expect(made.headers == Self.facts.headers, comment)
        #expect(bench.store.tags(at: Self.target) == Self.facts.tags, comment)
        running.cancel()
        death.end()
      }
    }
  }

  /// What was at the new name before can't be taken for the copy because its bytes are the same.
  @Test func c1WhereTheSameBytesWereBeforeTheCopyIsMadeAllTheSame() async throws {
    let bench = try Bench()
    let version = bench.store.place(
      PutRequest(key: Self.source, userMetadata: ["color": "blue"]),
      Self.content
    )
    let replaced = bench.store.place(
      PutRequest(key: Self.target, userMetadata: ["color": "red"]),
      Self.content
    )
    var plan = bench.plan()
    plan.subject = .object(RenamedObject(version, replacing: replaced))
    _ = try CheckpointFile.replace(plan.journalPath, with: plan.journal.text)
    try await bench.recover()
    try bench.expectAt(Self.target, "")
    #expect(bench.store.metadata(at: Self.target)?.userMetadata == ["color": "blue"])
  }

  /// Killed at any step, and struck at any request of the recovery: the one after that finishes it.
  @Test func c1AFaultWhileItIsFinishedLeavesItAtOneName() async throws {
    for step in 1...4 {
      for effect in [Fault.Effect.fail(.unreachable), .loseAnswer(.unreachable)] {
        var callNumber = 1
        while true {
          let comment: Comment = "step \(step), \(effect) \(callNumber)"
          let bench = try Bench()
          let death = Death(at: step)
          bench.store.hook = { _, _ in await Death.current?.pass() }
          let running = Death.$current.withValue(death) {
            Task { await bench.rename(bench.plan()) }
          }
          #expect(await death.comes(before: running), comment)
          bench.base.faults.add(Fault(effect, callNumber: callNumber))
          try? await bench.recover()
          let wasStruck = bench.base.faults.strikeCount > 0
          try await bench.recover()
          try bench.expectAt(nil, comment)
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
