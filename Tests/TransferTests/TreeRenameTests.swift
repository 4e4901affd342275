import Core
import Simulation
import Support
import Testing

@testable import Transfer

/// A bucket with a tree of keys to rename, and a directory for journals.
private struct RenameBench {
  static let rests = (0..<20).map { "\($0 % 3)/file \($0)" } + [""]
  static let source = ObjectKey("old/")
  static let target = ObjectKey("new/")
  let directory: TestDirectory
  let store: SimulatedStore
  let faults = FaultPlan()
  let environment: TransferEnvironment
  let time = SimulatedClock()

  init(_ rests: [String] = rests) throws {
    directory = try TestDirectory()
    var behaviour = SimulatedStore.Behaviour()
    behaviour.partSizeMin = 1
    store = SimulatedStore(time: time, faults: faults, behaviour: behaviour)
    environment = TransferEnvironment(
      scheduler: FetchScheduler(parallel: 4, budget: MemoryBudget(limit: 1 << 20)),
      time: time,
      log: Log(level: .error)
    )
    for rest in rests {
      var put = PutRequest(key: ObjectKey("old/" + rest), userMetadata: ["of": "\(rest.count)"])
      put.tags = ["team": "film"]
      put.storageClass = "STANDARD_IA"
      store.place(put, Self.content(rest))
    }
    store.place(PutRequest(key: ObjectKey("older/x")), .words(size: 10, seed: 1))
    store.forgetCalls()
  }

  static func content(_ rest: String) -> SimulatedContent {
    .words(
      size: 100 + rest.utf8.count,
      seed: UInt64(rest.utf8.reduce(0) { $0 * 31 % 997 + Int($1) })
    )
  }

  var request: TreeRenameRequest {
    TreeRenameRequest(
      from: Self.source,
      to: Self.target,
      of: "s3://simulated",
      journalDirectory: directory.path
    )
  }

  func rename() async -> TransferError? {
    do throws(TransferError) {
      try await TreeRename(request, in: store, environment: environment).run()
      return nil
    } catch {
      return error
    }
  }

  var journals: [String] { get throws { try TreeRename.unfinished(in: directory.path) } }

  /// What the next mount does.
  func recover() async throws {
    for path in try journals {
      _ = try await TreeRename.resume(path, like: request, in: store, environment: environment)
    }
  }

  func keys(_ prefix: String) -> Set<String> {
    Set(
      store.keys.map(\.description).filter { $0.hasPrefix(prefix) }
        .map { String($0.dropFirst(prefix.count)) }
    )
  }

  /// All of it is at one place and nothing at the other.
  func expectWhole(_ comment: Comment, isAt prefixes: [String] = ["old/", "new/"]) throws {
    let (old, new) = (keys("old/"), keys("new/"))
    let place = old.isEmpty ? "new/" : "old/"
    #expect(old.isEmpty || new.isEmpty, comment)
    #expect(old.union(new) == Set(Self.rests), comment)
    #expect(prefixes.contains(place), comment)
    for rest in Self.rests {
      let key = ObjectKey(place + rest)
      #expect(
        store.bytes(at: key) == Self.content(rest).bytes(0..<(100 + rest.utf8.count)),
        comment
      )
      #expect(store.metadata(at: key)?.userMetadata == ["of": "\(rest.count)"], comment)
      #expect(store.metadata(at: key)?.storageClass == "STANDARD_IA", comment)
      #expect(store.tags(at: key) == ["team": "film"], comment)
    }
    #expect(store.metadata(at: ObjectKey("older/x")) != nil)
    #expect(try journals.isEmpty, comment)
  }
}

/// A tree of keys is renamed whole, whatever comes between (C3).
@Suite struct TreeRenameTests {
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
          let cut = recordedCount == 0 ? 0 : copiedCount % 6
          try overwrite(bench.request.journalPath, Array(text.utf8.dropLast(cut)))
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
      target: RenameBench.target
    )
    let context = RequestContext(deadline: .distantFuture)
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
      if index < recorded {
        let line = RenameJournal.Copied(source: state, target: copy.version.state)
        _ = journal.insert(Array(rest.utf8), line)
      }
      if index < deleted { bench.store.remove(from) }
    }
    return journal.text
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
    var request = bench.request
    request.wholeSizeMax = 105
    request.limits.sizeMin = 1
    request.partSize = 50
    try await TreeRename(request, in: bench.store, environment: bench.environment).run()
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

  @Test func intoItselfIsRefused() async throws {
    let bench = try RenameBench()
    for target in ["old/", "old/x/", ""] {
      var request = bench.request
      request.target = ObjectKey(target)
      await #expect(throws: TransferError.self) {
        try await TreeRename(request, in: bench.store, environment: bench.environment).run()
      }
    }
    #expect(bench.store.calls.isEmpty)
    try bench.expectWhole("", isAt: ["old/"])
  }

  @Test func aDiskThatTakesNoJournalStopsItBeforeTheFirstStep() async throws {
    let bench = try RenameBench()
    let rename = TreeRename(
      bench.request,
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
}

@Suite struct RenameJournalTests {
  private var journal: RenameJournal {
    var journal = RenameJournal(
      store: "s3://b at http://x",
      source: ObjectKey([0xff, 0x20, 0x2f]),
      target: ObjectKey("n\n/")
    )
    _ = journal.insert([], RenameJournal.Copied(source: "e-1", target: ""))
    _ = journal.insert([0, 0x25, 0x20], RenameJournal.Copied(source: "5@-3", target: "a b"))
    return journal
  }

  @Test func whatIsWrittenIsReadAgain() throws {
    var journal = journal
    #expect(try RenameJournal(parsing: Array(journal.text.utf8)) == journal)
    _ = journal.undo()
    #expect(try RenameJournal(parsing: Array(journal.text.utf8)) == journal)
  }

  @Test func aTornTextLosesItsLastLineOnly() throws {
    let text = Array(journal.text.utf8)
    let headSize = Array(
      RenameJournal(store: journal.store, source: journal.source, target: journal.target).text.utf8
    ).count
    for count in headSize..<text.count {
      let read = try RenameJournal(parsing: Array(text[..<count]))
      #expect(read.source == journal.source)
      #expect(read.isTorn == (text[count - 1] != UInt8(ascii: "\n")))
    }
    for count in 0..<headSize {
      #expect(throws: Checkpoint.ParseError.self) {
        _ = try RenameJournal(parsing: Array(text[..<count]))
      }
    }
  }

  @Test func anotherVersionIsLeftAlone() {
    #expect(throws: Checkpoint.ParseError.unknownVersion("2")) {
      _ = try RenameJournal(parsing: Array("dipper rename 2\n".utf8))
    }
  }
}
