import Core
import ObjectFiles
import Simulation
import Support
import Testing

@Suite struct DraftJournalSizeTests {
  @Test func aJournalThatGrowsIsBegunAnewAndSaysTheSame() async throws {
    var settings = DraftBench.settings
    settings.writeBackDelay = .seconds(3600)
    let bench = try DraftBench(settings: settings)
    let old = SimulatedContent.words(size: 64 << 10, seed: 2).allBytes
    bench.store.place(ObjectKey("file"), .bytes(old), userMetadata: ["owner": "7"])
    let object = try #require(bench.store.metadata(at: ObjectKey("file")))
    let draft = try bench.drafts.edit(object)
    _ = try await draft.loadFacts().get()
    draft.updateFacts { $0.userMetadata["mode"] = "1" }
    var random = Seeded(1)
    var content = old
    // Some 60 bytes of journal each, so that 4 MiB are reached; not in order, or they would be one.
    for _ in 0..<90_000 {
      let offset = 2 * Int.random(in: 0..<20_000, using: &random)
      let byte = UInt8.random(in: 0...255, using: &random)
      try draft.write([byte], at: offset)
      content[offset] = byte
    }
    try draft.resize(to: 70 << 10)
    content += [UInt8](repeating: 0, count: 6 << 10)
    draft.setModified(Timestamp(seconds: 77))
    _ = try await draft.journaled().get()
    let name = try #require(bench.directory.names("staged").first)
    let size = try #require(try bench.directory.bytes(of: "staged/\(name)/journal")).count
    #expect(size < 4 << 20)

    let next = try bench.remounted(settings)
    let found = try #require(try await next.drafts.recover().first)
    #expect(found.modified == Timestamp(seconds: 77))
    #expect(found.facts?.userMetadata == ["owner": "7", "mode": "1"])
    #expect(await next.drafts.finish().isEmpty)
    #expect(bench.store.bytes(at: ObjectKey("file")) == content)
    #expect(bench.store.metadata(at: ObjectKey("file"))?.userMetadata?["mode"] == "1")
  }
}
