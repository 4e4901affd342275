import Core
import ObjectFiles
import Simulation
import Testing

/// What publishing a draft costs.
@Suite struct DraftPlanTests {
  private let key = ObjectKey("large")

  private func bench() throws -> DraftBench {
    var settings = DraftBench.settings
    settings.partSize = 64 << 10
    var behaviour = SimulatedStore.Behaviour()
    behaviour.partSizeMin = 64 << 10
    return try DraftBench(settings: settings, behaviour: behaviour)
  }

  @Test func w2AnEditOfALargeObjectSendsOnlyTheChangedPart() async throws {
    let bench = try bench()
    var content = SimulatedContent.words(size: 1 << 20, seed: 5).allBytes
    bench.store.place(key, .bytes(content), userMetadata: ["owner": "7"])
    let object = try #require(bench.store.metadata(at: key))
    let draft = try bench.drafts.edit(object)
    try draft.write([1, 2, 3], at: 500_000)
    content.replaceSubrange(500_000..<500_003, with: [1, 2, 3])
    let published = try #require(try await draft.publish().get())
    #expect(bench.store.bytes(at: key) == content)
    #expect(bench.store.metadata(at: key)?.userMetadata == ["owner": "7"])
    #expect(published.version.etag == bench.store.metadata(at: key)?.version.etag)
    #expect(bench.store.calls.of(.uploadPart).sentByteCount == 64 << 10)
    // Only what is sent beside the three bytes is fetched.
    #expect(bench.store.calls.of(.getObject).receivedByteCount < 256 << 10)
    #expect(
      bench.store.calls.of(.uploadPartCopy).allSatisfy { $0.ifMatch == object.version.etag }
    )
    #expect(
      bench.store.calls.of(.completeMultipartUpload).map(\.condition)
        == [object.version.etag.map { .ifMatch($0) }]
    )
    #expect(bench.store.openUploads.isEmpty)
  }

  @Test func anEditFetchesNothingBeyondThePartThatItSends() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.partSizeMin = 5 << 20
    let bench = try DraftBench(behaviour: behaviour)
    bench.store.place(key, .words(size: 64 << 20, seed: 5))
    let draft = try bench.drafts.edit(try #require(bench.store.metadata(at: key)))
    try draft.write([1], at: 30_000_000)
    _ = try #require(try await draft.publish().get())
    let sent = bench.store.calls.of(.uploadPart).sentByteCount
    #expect(sent == 5 << 20)
    // A request begins and ends at a multiple of 128 KiB, and two are made.
    #expect(bench.store.calls.of(.getObject).receivedByteCount <= sent + 512 << 10)
  }

  @Test func aSecondEditCopiesFromWhatTheFirstHasMade() async throws {
    let bench = try bench()
    var content = SimulatedContent.words(size: 512 << 10, seed: 5).allBytes
    bench.store.place(key, .bytes(content))
    let draft = try bench.drafts.edit(try #require(bench.store.metadata(at: key)))
    for (index, offset) in [100_000, 400_000, 0].enumerated() {
      try draft.write([UInt8(index + 1)], at: offset)
      content[offset] = UInt8(index + 1)
      _ = try await draft.publish().get()
      #expect(bench.store.bytes(at: key) == content)
    }
    try draft.resize(to: 300_000)
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array(content[..<300_000]))
    #expect(bench.store.openUploads.isEmpty)
  }

  @Test func newFactsOfAnUnchangedObjectAreACopyAtTheStore() async throws {
    let bench = try bench()
    bench.store.place(key, .text("bytes"))
    let draft = try bench.drafts.edit(try #require(bench.store.metadata(at: key)))
    _ = try await draft.loadFacts().get()
    #expect(draft.updateFacts { $0.userMetadata["mode"] = "33216" })
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("bytes".utf8))
    #expect(bench.store.metadata(at: key)?.userMetadata == ["mode": "33216"])
    #expect(bench.store.calls.of(.copyObject).count == 1)
    #expect(bench.store.calls.of(.putObject).isEmpty)
  }

  @Test func whatIsCopiedFromAnotherObjectIsNotFetched() async throws {
    let bench = try bench()
    let content = SimulatedContent.words(size: 400 << 10, seed: 9).allBytes
    let source = bench.store.place(ObjectKey("source"), .bytes(content))
    let draft = try bench.drafts.create(key)
    try draft.write([UInt8](repeating: 7, count: 64 << 10), at: 0)
    try draft.copy(from: source, ByteRange(0, content.count), to: 64 << 10)
    #expect(
      try await draft.bytes(ByteRange(65_530, 65_546)) == [7, 7, 7, 7, 7, 7] + content[..<10]
    )
    bench.store.forgetCalls()
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == [UInt8](repeating: 7, count: 64 << 10) + content)
    #expect(bench.store.calls.of(.getObject).isEmpty)
    #expect(bench.store.calls.sentByteCount == 64 << 10)
  }

  @Test func w3AnEditOfWhatSomebodyElseHasReplacedLoses() async throws {
    let bench = try bench()
    bench.store.place(key, .words(size: 1 << 20, seed: 5))
    let draft = try bench.drafts.edit(try #require(bench.store.metadata(at: key)))
    try draft.write([1], at: 0)
    bench.store.place(key, .text("theirs"))
    guard case .failure(let error) = await draft.publish() else {
      Issue.record("published over another's object")
      return
    }
    #expect(error.code == .stale)
    #expect(bench.store.bytes(at: key) == Array("theirs".utf8))
    #expect(bench.store.openUploads.isEmpty)
    #expect(bench.drafts.unsaved.map(\.key) == [key])
    #expect(try await draft.bytes(ByteRange(0, 1)) == [1])
  }
}
