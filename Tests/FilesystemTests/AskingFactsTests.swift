import Core
import Filesystem
import Simulation
import Testing

/// `--metadata-from head` (docs/semantics.md, N3).
@Suite struct AskingFactsTests {
  private func mount(_ source: MetadataSource = .head) throws -> TestMount {
    var options = FilesystemOptions()
    options.metadataSource = source
    return try TestMount(options: options)
  }

  private static let metadata = ["mode": "33152", "uid": "7", "gid": "8", "mtime": "1234.5"]

  private func headCount(_ mount: TestMount) -> Int {
    mount.store.calls.filter { $0.operation == .headObject }.count
  }

  @Test func n3WhatIsShownIsAskedForOnceInParallel() async throws {
    let mount = try mount()
    for index in 0..<300 {
      mount.store.place(ObjectKey("f\(index)"), .text("x"), userMetadata: Self.metadata)
    }
    mount.store.place(ObjectKey("d/"), .text(""), userMetadata: ["mode": "16832", "uid": "9"])
    mount.store.place(ObjectKey("i/x"), .text("x"))
    let found = try await mount.attributesByName()
    #expect(found.count == 302)
    let file = try #require(found["f299"])
    #expect(file.permissions == 0o600 && file.userID == 7 && file.groupID == 8)
    #expect(file.modified == Timestamp(nanoseconds: 1_234_500_000_000))
    #expect(found["d"]?.permissions == 0o700 && found["d"]?.userID == 9)
    #expect(found["i"]?.permissions == 0o755)
    #expect(headCount(mount) == 302)
    // It is believed for as long as a listing is.
    _ = try await mount.attributesByName()
    _ = try await mount.attributes(try await mount.node("f7"))
    #expect(headCount(mount) == 302)
    mount.clock.advance(by: .seconds(60))
    _ = try await mount.attributes(try await mount.node("f7"))
    #expect(headCount(mount) == 303)
  }

  @Test func n3ALookupAsksToo() async throws {
    let mount = try mount()
    mount.store.place(ObjectKey("f"), .text("x"), userMetadata: Self.metadata)
    #expect(try await mount.names() == ["f"])
    #expect(headCount(mount) == 0)
    #expect(try await mount.attributes(try await mount.node("f")).permissions == 0o600)
    #expect(headCount(mount) == 1)
  }

  @Test func n3AnAnswerThatTellsOfAnotherVersionIsBelieved() async throws {
    let mount = try mount()
    mount.place("f", "old")
    #expect(try await mount.names() == ["f"])
    mount.place("f", "newer")
    #expect(try await mount.attributes(try await mount.node("f")).size == 5)
  }

  @Test func n3WithoutItNothingIsAskedFor() async throws {
    let mount = try mount(.listing)
    mount.store.place(ObjectKey("f"), .text("x"), userMetadata: Self.metadata)
    #expect(try await mount.attributesByName()["f"]?.permissions == 0o644)
    #expect(headCount(mount) == 0)
    // What comes along with bytes is used.
    mount.bucket.learnFacts(
      try await mount.store.head(
        ObjectKey("f"),
        versionID: nil,
        ifMatch: nil,
        context: RequestContext(deadline: .distantFuture)
      ),
      askedAt: mount.clock.now
    )
    #expect(try await mount.attributes(try await mount.node("f")).permissions == 0o600)
  }

  @Test func aRefusedAnswerIsAFailure() async throws {
    let mount = try mount()
    mount.place("f")
    #expect(try await mount.names() == ["f"])
    mount.store.faults.add(Fault(.fail(.accessDenied), operation: .headObject, callCount: 99))
    await expectFailure(.accessDenied) { _ = try await mount.lookup("f") }
  }
}
