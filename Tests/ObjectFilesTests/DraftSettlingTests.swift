import Core
import ObjectFiles
import Simulation
import Support
import Testing

/// A try to publish got no clear answer, and the file is changed before the next one: what the store has by
/// then is not another's.
@Suite struct DraftSettlingTests {
  private let key = ObjectKey("dir/file")
  private static let partSize = 16 << 10

  private static var settings: Drafts.Settings {
    var settings = DraftBench.settings
    settings.partSize = partSize
    settings.parallel = 1
    return settings
  }

  private static func behaviour(keepsChecksums: Bool) -> SimulatedStore.Behaviour {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.partSizeMin = partSize
    behaviour.keepsChecksums = keepsChecksums
    behaviour.tagsAreDigests = !keepsChecksums
    return behaviour
  }

  private func bench(keepsChecksums: Bool = false, _ faults: [Fault]) throws -> DraftBench {
    try DraftBench(
      settings: Self.settings,
      behaviour: Self.behaviour(keepsChecksums: keepsChecksums),
      faults: FaultPlan(faults)
    )
  }

  private static let lostPut = Fault(.loseAnswer(.unreachable), operation: .putObject)

  /// The object is made, and neither that nor what has become of it is told.
  private static let lostCompletion = [
    Fault(.loseAnswer(.unreachable), operation: .completeMultipartUpload),
    // The first call is for what was sent while it was written.
    Fault(.fail(.unreachable), operation: .listParts, callNumber: 2),
    Fault(.fail(.unreachable), operation: .headObject),
  ]

  private func expectDoubt(_ draft: Draft) async {
    guard case .failure(let error) = await draft.publish() else {
      Issue.record("no answer came")
      return
    }
    #expect(error.code == .timedOut)
  }

  @Test(arguments: [false, true])
  func w3OurOwnNewFileIsNoConflict(keepsChecksums: Bool) async throws {
    let bench = try bench(keepsChecksums: keepsChecksums, [Self.lostPut])
    let draft = try bench.drafts.create(key)
    try draft.write("first", at: 0)
    await expectDoubt(draft)
    #expect(bench.store.bytes(at: key) == Array("first".utf8))
    // Over the bytes that were sent, and behind them.
    try draft.write("FI", at: 0)
    try draft.write(" and more", at: 5)
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("FIrst and more".utf8))
    #expect(try await draft.text() == "FIrst and more")
    #expect(bench.drafts.pending.isEmpty)
  }

  @Test func w3OurOwnEditIsNoConflict() async throws {
    let bench = try bench([Self.lostPut])
    bench.store.place(key, .text("old bytes"))
    let draft = try bench.drafts.edit(try #require(bench.store.metadata(at: key)))
    try draft.write("new", at: 0)
    await expectDoubt(draft)
    try draft.write("B", at: 4)
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("new Bytes".utf8))
  }

  @Test(arguments: [false, true])
  func w3OurOwnUploadIsNoConflict(keepsChecksums: Bool) async throws {
    let bench = try bench(keepsChecksums: keepsChecksums, Self.lostCompletion)
    var content = SimulatedContent.words(size: 4 * Self.partSize, seed: 5).allBytes
    let draft = try bench.drafts.create(key)
    try draft.write(content, at: 0)
    await expectDoubt(draft)
    #expect(bench.store.bytes(at: key) == content)
    bench.store.forgetCalls()
    try draft.write([7], at: 5)
    content[5] = 7
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == content)
    // It goes on from what is there: only the changed part is sent.
    #expect(bench.store.calls.of(.uploadPart).count == 1)
    #expect(bench.store.openUploads.isEmpty)
  }

  @Test func whatIsThereUnchangedIsNotSentAgain() async throws {
    let bench = try bench([Self.lostPut])
    let draft = try bench.drafts.create(key)
    try draft.write("once", at: 0)
    await expectDoubt(draft)
    bench.store.forgetCalls()
    _ = try await draft.publish().get()
    #expect(bench.store.calls.of(.putObject).isEmpty && !draft.isDirty)
  }

  @Test(arguments: [false, true])
  func w4TheNextMountKnowsItToo(isRestarted: Bool) async throws {
    let bench = try bench([Self.lostPut])
    let draft = try bench.drafts.create(key)
    try draft.write("first", at: 0)
    await expectDoubt(draft)
    var text = "F" + "irst"
    try draft.write("F", at: 0)
    if isRestarted {
      // So much journal that it is begun anew.
      for index in 0..<100_000 { try draft.write("\(index % 10)", at: 10 + 2 * (index % 1_000)) }
      text += String(repeating: "\0", count: 5)
      for index in 0..<1_000 { text += "\(index % 10)" + (index < 999 ? "\0" : "") }
    }
    // Killed; what was written behind the failure is in the journal, the last of it with this.
    draft.setModified(Timestamp(seconds: 12))
    let next = try bench.remounted(Self.settings)
    #expect(try await next.drafts.recover().count == 1)
    #expect(await next.drafts.finish().isEmpty)
    #expect(next.observer.failures.withLock { $0 } == [])
    #expect(bench.store.bytes(at: key) == Array(text.utf8))
  }

  @Test func w3WhatArrivesLateIsStillOurs() async throws {
    // The first try is done only while the second is under way.
    let bench = try bench(keepsChecksums: true, [Fault(.fail(.unreachable), operation: .putObject)])
    let draft = try bench.drafts.create(key)
    try draft.write("first", at: 0)
    await expectDoubt(draft)
    try draft.write("FI", at: 0)
    let isLate = Lock(true)
    bench.store.hook = { [key] call, moment in
      guard moment == .request, call.operation == .putObject else { return }
      if isLate.withLock({ $0.exchange(false) }) { bench.store.place(key, .text("first")) }
    }
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("FIrst".utf8))
  }

  @Test func w3AnothersObjectStaysAnothers() async throws {
    let bench = try bench([Fault(.fail(.unreachable), operation: .putObject)])
    let draft = try bench.drafts.create(key)
    try draft.write("mine", at: 0)
    await expectDoubt(draft)
    bench.store.place(key, .text("them"))
    try draft.write("MINE", at: 0)
    guard case .failure(let error) = await draft.publish() else {
      Issue.record("another's object was replaced")
      return
    }
    #expect(error.code == .exists)
    #expect(bench.store.bytes(at: key) == Array("them".utf8))
    #expect(bench.drafts.unsaved.map(\.key) == [key])
  }

  @Test func w3WhoWasRefusedALockFileDoesNotTakeItLater() async throws {
    let bench = try bench(keepsChecksums: true, [])
    let theirs = bench.store.place(key, .text("pid"))
    let draft = try bench.drafts.create(key)
    try draft.write("pid", at: 0)
    for _ in 0..<2 {
      guard case .failure(let error) = await draft.publish() else {
        Issue.record("both have the lock")
        return
      }
      #expect(error.code == .exists)
    }
    // Nor does the next mount.
    let next = try bench.remounted(Self.settings)
    #expect(try await next.drafts.recover().count == 1)
    #expect(await next.drafts.finish().count == 1)
    #expect(bench.store.metadata(at: key)?.version.etag == theirs.etag)
  }

  @Test func w3WhoLosesTheRaceForAnEmptyFileLeavesNothing() async throws {
    let bench = try bench([])
    bench.store.place(key, .text("theirs"))
    let draft = try bench.drafts.create(key)
    guard case .failure(let error) = await draft.publish() else {
      Issue.record("both have the lock")
      return
    }
    #expect(error.code == .exists && !draft.isDirty)
    #expect(bench.drafts.unsaved.isEmpty && bench.drafts.end(draft))
    #expect(bench.directory.names("staged") == [])
    #expect(bench.store.bytes(at: key) == Array("theirs".utf8))
  }

  @Test func aStoreThatCannotBeAskedIsNotSentAnything() async throws {
    let bench = try bench([Self.lostPut, Fault(.fail(.unreachable), operation: .headObject)])
    let draft = try bench.drafts.create(key)
    try draft.write("first", at: 0)
    await expectDoubt(draft)
    try draft.write("F", at: 0)
    await expectDoubt(draft)
    #expect(bench.store.calls.of(.putObject).count == 1)
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("First".utf8))
  }
}

extension Bool {
  fileprivate mutating func exchange(_ new: Bool) -> Bool {
    defer { self = new }
    return self
  }
}
