import Core
import ObjectFiles
import Simulation
import Support
import Testing

/// Every call to the store fails once, in every way.
@Suite struct DraftFaultTests {
  private let key = ObjectKey("file")
  private static let partSize = 16 << 10

  private static var settings: Drafts.Settings {
    var settings = DraftBench.settings
    settings.partSize = partSize
    settings.parallel = 1
    return settings
  }

  private static var behaviour: SimulatedStore.Behaviour {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.partSizeMin = partSize
    behaviour.keepsChecksums = true
    behaviour.tagsAreDigests = true
    return behaviour
  }

  private struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  /// Runs one program with each of its calls struck: whatever the first close says, what was written is in the
  /// store or kept, and the second close, or the next mount, stores it.
  ///
  /// With `isChanged` it is written to once more in between: what a try without a clear answer has made is
  /// ours all the same.
  private func exhaust(
    byRemounting: Bool,
    isChanged: Bool = false,
    _ program: @escaping @Sendable (DraftBench) async throws -> (Draft, [UInt8])
  ) async throws -> Int {
    try await exhaustFaults { plan in
      let bench = try DraftBench(
        settings: Self.settings,
        behaviour: Self.behaviour,
        faults: plan
      )
      var (draft, content) = try await program(bench)
      let outcome = await draft.publish()
      if case .success = outcome, bench.store.bytes(at: key) != content {
        throw Wrong(description: "said to be stored, and is not")
      }
      if case .failure = outcome, !draft.isDirty {
        throw Wrong(description: "not stored and not dirty")
      }
      if isChanged {
        try draft.write([8], at: 2)
        content[2] = 8
        // What was written last is in the journal only then.
        draft.setModified(Timestamp(seconds: 12))
      }
      var last = bench
      if byRemounting {
        last = try bench.remounted(Self.settings)
        _ = try await last.drafts.recover()
        // The fault may have struck none of the calls so far; then it strikes here.
        if !(await last.drafts.finish().isEmpty) {
          last = try last.remounted(Self.settings)
          _ = try await last.drafts.recover()
        }
      } else if draft.isDirty {
        // The fault may have struck none of the calls so far.
        if case .failure = await draft.publish(), isChanged { _ = try await draft.publish().get() }
        if draft.isDirty { throw Wrong(description: "not stored by another try") }
      }
      let left = await last.drafts.finish()
      guard left.isEmpty else {
        throw Wrong(description: "left: \(left.compactMap(\.failure)), first: \(outcome)")
      }
      guard bench.store.bytes(at: key) == content else {
        throw Wrong(description: "other bytes are stored")
      }
      // Of an upload whose id never arrived nobody can know that it is there.
      let unknownCount = bench.store.calls.of(.createMultipartUpload)
        .count { $0.outcome != .succeeded }
      if !(await eventually { bench.store.openUploads.count <= unknownCount }) {
        throw Wrong(description: "uploads are left: \(bench.store.openUploads)")
      }
      if !(await eventually { bench.directory.names("staged").isEmpty }) {
        throw Wrong(description: "drafts are left: \(bench.directory.names("staged"))")
      }
    }
  }

  private static let small: @Sendable (DraftBench) async throws -> (Draft, [UInt8]) = { bench in
    let draft = try bench.drafts.create(ObjectKey("file"))
    try draft.write("small", at: 0)
    return (draft, Array("small".utf8))
  }

  private static let large: @Sendable (DraftBench) async throws -> (Draft, [UInt8]) = { bench in
    let content = SimulatedContent.words(size: 5 * partSize / 2, seed: 4).allBytes
    let draft = try bench.drafts.create(ObjectKey("file"))
    try draft.write(content, at: 0)
    return (draft, content)
  }

  private static let edited: @Sendable (DraftBench) async throws -> (Draft, [UInt8]) = { bench in
    var content = SimulatedContent.words(size: 6 * partSize, seed: 4).allBytes
    bench.store.place(ObjectKey("file"), .bytes(content))
    let draft = try bench.drafts.edit(try #require(bench.store.metadata(at: ObjectKey("file"))))
    try draft.write([1, 2, 3], at: 3 * partSize)
    content.replaceSubrange(3 * partSize..<3 * partSize + 3, with: [1, 2, 3])
    return (draft, content)
  }

  @Test(arguments: [false, true])
  func w4ASmallFileSurvivesEveryFault(byRemounting: Bool) async throws {
    #expect(try await exhaust(byRemounting: byRemounting, Self.small) >= 2)
  }

  @Test(arguments: [false, true])
  func w4ALargeFileSurvivesEveryFault(byRemounting: Bool) async throws {
    #expect(try await exhaust(byRemounting: byRemounting, Self.large) >= 10)
  }

  @Test(arguments: [false, true])
  func w4AnEditSurvivesEveryFault(byRemounting: Bool) async throws {
    #expect(try await exhaust(byRemounting: byRemounting, Self.edited) >= 10)
  }

  @Test(arguments: [false, true])
  func w4AChangeAfterTheFailureSurvivesEveryFault(byRemounting: Bool) async throws {
    for program in [Self.small, Self.large, Self.edited] {
      #expect(try await exhaust(byRemounting: byRemounting, isChanged: true, program) >= 2)
    }
  }

  @Test func w3OfTwoWhoCreateOneNameOneLoses() async throws {
    let bench = try DraftBench()
    let one = try bench.drafts.create(key)
    let other = try bench.remounted().drafts.create(key)
    try one.write("one", at: 0)
    try other.write("other", at: 0)
    async let first = one.publish()
    async let second = other.publish()
    let outcomes = [await first, await second]
    let failures = outcomes.compactMap { outcome in
      if case .failure(let error) = outcome { error.code } else { nil }
    }
    #expect(failures == [.exists])
    let winner = one.isDirty ? "other" : "one"
    #expect(bench.store.bytes(at: key) == Array(winner.utf8))
    #expect(try await one.text() == "one")
    #expect(try await other.text() == "other")
  }

  @Test func w3OfTwoWhoCreateOneLockFileOneLosesAlthoughBothAreEmpty() async throws {
    let bench = try DraftBench(behaviour: Self.behaviour)
    let one = try bench.drafts.create(key)
    let other = try bench.remounted().drafts.create(key)
    _ = try await one.publish().get()
    guard case .failure(let error) = await other.publish() else {
      Issue.record("both have the lock")
      return
    }
    #expect(error.code == .exists)
  }

  @Test func whereTheStoreLooksAtNoConditionsTheTargetIsLookedAtBefore() async throws {
    var behaviour = Self.behaviour
    behaviour.obeysWriteConditions = false
    let bench = try DraftBench(behaviour: behaviour)
    let draft = try bench.drafts.create(key)
    try draft.write("mine", at: 0)
    bench.store.place(key, .text("theirs"))
    guard case .failure(let error) = await draft.publish() else {
      Issue.record("published over another's object")
      return
    }
    #expect(error.code == .exists)
    #expect(bench.store.bytes(at: key) == Array("theirs".utf8))
    bench.store.remove(key)
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("mine".utf8))
    #expect(bench.store.calls.of(.putObject).map(\.condition) == [WriteCondition.none])
  }

  @Test func w5WhoReadsMeanwhileSeesTheOldObject() async throws {
    let bench = try DraftBench(settings: Self.settings, behaviour: Self.behaviour)
    let seen = Lock([[UInt8]?]())
    let (draft, content) = try await Self.edited(bench)
    let old = bench.store.bytes(at: key)
    bench.store.hook = { [key] call, moment in
      guard moment == .request else { return }
      seen.withLock { $0.append(bench.store.bytes(at: key)) }
      _ = call
    }
    _ = try await draft.publish().get()
    #expect(seen.withLock { $0 }.allSatisfy { $0 == old || $0 == content })
    #expect(seen.withLock { $0.count } >= 5)
  }

  @Test func theSameIsPublishedOnceForAllWhoAsk() async throws {
    let bench = try DraftBench()
    let draft = try bench.drafts.create(key)
    try draft.write("once", at: 0)
    async let first = draft.publish()
    async let second = draft.flush()
    async let third = draft.publish()
    _ = try await first.get()
    _ = try await second.get()
    _ = try await third.get()
    #expect(bench.store.calls.of(.putObject).count == 1)
  }
}
