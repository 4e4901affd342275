import Core
import ObjectFiles
import Simulation
import Support
import Testing

/// Large files that are uploaded while they are being written.
@Suite struct EarlyUploadTests {
  private let key = ObjectKey("large")
  private static let partSize = 64 << 10

  private func bench(faults: FaultPlan = FaultPlan()) throws -> DraftBench {
    var settings = DraftBench.settings
    settings.partSize = Self.partSize
    var behaviour = SimulatedStore.Behaviour()
    behaviour.partSizeMin = Self.partSize
    behaviour.keepsChecksums = true
    return try DraftBench(settings: settings, behaviour: behaviour, faults: faults)
  }

  private func write(_ content: [UInt8], to draft: Draft) throws {
    for offset in stride(from: 0, to: content.count, by: 8 << 10) {
      try draft.write(Array(content[offset..<min(content.count, offset + 8 << 10)]), at: offset)
    }
  }

  private func content(partCount: Double) -> [UInt8] {
    SimulatedContent.words(size: Int(Double(Self.partSize) * partCount), seed: 6).allBytes
  }

  @Test func whatIsCompleteIsSentBeforeTheFileIsClosed() async throws {
    let bench = try bench()
    let content = content(partCount: 5.5)
    let draft = try bench.drafts.create(key)
    try write(content, to: draft)
    #expect(await eventually { bench.store.openPartCount == 5 })
    #expect(bench.store.keys == [])
    bench.store.forgetCalls()
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == content)
    #expect(bench.store.calls.of(.uploadPart).map(\.partNumber) == [6])
    #expect(bench.store.calls.of(.completeMultipartUpload).map(\.condition) == [.ifAbsent])
    #expect(bench.store.openUploads.isEmpty)
  }

  @Test func aLaterWriteMakesItsPartBeSentAgain() async throws {
    let bench = try bench()
    var content = content(partCount: 4.25)
    let draft = try bench.drafts.create(key)
    try write(content, to: draft)
    #expect(await eventually { bench.store.openPartCount == 4 })
    bench.store.forgetCalls()
    try draft.write([1, 2], at: 2 * Self.partSize - 1)
    content.replaceSubrange(2 * Self.partSize - 1..<2 * Self.partSize + 1, with: [1, 2])
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == content)
    #expect(bench.store.calls.of(.uploadPart).compactMap(\.partNumber).sorted() == [2, 3, 5])
  }

  @Test func aWriteIntoAPartOnItsWayMakesItBeSentAgain() async throws {
    let bench = try bench()
    var content = content(partCount: 2.5)
    let isHeld = Gate()
    let hasArrived = Gate()
    bench.store.hook = { call, moment in
      guard call.operation == .uploadPart, call.partNumber == 1, moment == .answer else { return }
      hasArrived.open()
      await isHeld.wait()
    }
    let draft = try bench.drafts.create(key)
    try write(content, to: draft)
    await hasArrived.wait()
    try draft.write([7], at: 3)
    content[3] = 7
    isHeld.open()
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == content)
    #expect(bench.store.calls.of(.uploadPart).count { $0.partNumber == 1 } == 2)
  }

  @Test func whatIsCutOffAndWrittenAnewIsSentAgain() async throws {
    let bench = try bench()
    let content = content(partCount: 3.5)
    let draft = try bench.drafts.create(key)
    try write(content, to: draft)
    #expect(await eventually { bench.store.openPartCount == 3 })
    try draft.resize(to: Self.partSize + 10)
    try draft.resize(to: content.count)
    _ = try await draft.publish().get()
    let kept = Self.partSize + 10
    #expect(
      bench.store.bytes(at: key)
        == Array(content[..<kept]) + [UInt8](repeating: 0, count: content.count - kept)
    )
    #expect(bench.store.openUploads.isEmpty)
  }

  @Test func factsThatCameTooLateAreReplacedAfterwards() async throws {
    let bench = try bench()
    let content = content(partCount: 2.5)
    let draft = try bench.drafts.create(key, facts: ObjectFacts(userMetadata: ["mode": "1"]))
    try write(content, to: draft)
    #expect(await eventually { bench.store.openPartCount == 2 })
    draft.updateFacts { $0.userMetadata["mode"] = "2" }
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == content)
    #expect(bench.store.metadata(at: key)?.userMetadata == ["mode": "2"])
    #expect(!draft.isDirty)
  }

  @Test func whatBecomesSmallAgainLeavesNoUpload() async throws {
    let bench = try bench()
    let draft = try bench.drafts.create(key)
    try write(content(partCount: 3), to: draft)
    #expect(await eventually { bench.store.openPartCount == 3 })
    try draft.resize(to: 0)
    try draft.write("small", at: 0)
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("small".utf8))
    #expect(bench.store.openUploads.isEmpty)
  }

  @Test func whatIsDiscardedLeavesNoUpload() async throws {
    let bench = try bench()
    let draft = try bench.drafts.create(key)
    try write(content(partCount: 3), to: draft)
    await draft.discard()
    #expect(bench.drafts.end(draft))
    #expect(bench.store.openUploads.isEmpty)
    #expect(bench.store.keys == [])
    #expect(bench.directory.names("staged") == [])
  }

  @Test func anUploadOfAFileThatWasBeingWrittenIsGivenUpAfterACrash() async throws {
    let bench = try bench()
    let content = content(partCount: 3.5)
    let draft = try bench.drafts.create(key)
    try write(content, to: draft)
    #expect(await eventually { bench.store.openPartCount == 3 })
    let old = bench.store.openUploads
    var settings = DraftBench.settings
    settings.partSize = Self.partSize
    let next = try bench.remounted(settings)
    let recovered = try await next.drafts.recover()
    // The last line is written with the next change; what it tells of was promised to nobody.
    let size = try #require(recovered.first?.size)
    #expect(await next.drafts.finish().isEmpty)
    #expect(next.store.bytes(at: key) == Array(content[..<size]))
    #expect(old.count == 1 && next.store.openUploads.isEmpty)
  }
}
