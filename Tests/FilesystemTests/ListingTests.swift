import Core
import Filesystem
import Simulation
import Support
import Testing

@Suite struct ListingTests {
  @Test func dotsComeFirstAndPositionsAreStable() async throws {
    let mount = try TestMount()
    for number in 0..<30 { mount.place("f\(number)") }
    let handle = try await mount.openDirectory(.root)
    let all = try await mount.entries(handle)
    #expect(all.map(\.name.description).prefix(2) == [".", ".."])
    #expect(all.count == 32)
    #expect(Set(all.map(\.nextOffset)).count == 32)
    for entry in all {
      #expect(
        try await mount.entries(handle, from: entry.nextOffset)
          == Array(all.drop { $0 != entry }.dropFirst())
      )
    }
    // Rewound it is the same, whatever happens at the store meanwhile.
    mount.store.remove(ObjectKey("f3"))
    mount.place("new")
    mount.clock.advance(by: .seconds(60))
    #expect(try await mount.entries(handle) == all)
    let names = try await mount.names()
    #expect(names.contains("new") && !names.contains("f3"))
  }

  @Test func n5OneListingAnswersAllLookupsOfADirectory() async throws {
    let mount = try TestMount()
    for number in 0..<50 { mount.place("d/f\(number)", String(repeating: "x", count: number)) }
    let directory = try await mount.node("d")
    _ = try await mount.names(directory)
    mount.store.forgetCalls()
    for number in 0..<50 {
      let asked = mount.startLookup("f\(number)", in: directory)
      #expect(try #require(asked.outcome).get().attributes?.size == number, "at once")
    }
    #expect(try await mount.lookup("nothing", in: directory).node == nil)
    #expect(mount.store.calls.isEmpty)
  }

  @Test func n5AShortListingThatIsTooOldIsAskedForAgainAsAWhole() async throws {
    let mount = try TestMount()
    for number in 0..<50 { mount.place("f\(number)") }
    _ = try await mount.names()
    mount.clock.advance(by: .seconds(11))
    mount.store.forgetCalls()
    for number in 0..<50 { #expect(try await mount.lookup("f\(number)").node != nil) }
    #expect(mount.store.calls.map(\.operation) == [.listObjects])
  }

  @Test func n5LookupsOfManyNamesAtOnceShareTheListingThatTheyNeed() async throws {
    let mount = try TestMount()
    for number in 0..<20 { mount.place("f\(number)") }
    _ = try await mount.names()
    mount.clock.advance(by: .seconds(11))
    mount.store.forgetCalls()
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let asked = (0..<20).map { mount.startLookup("f\($0)") }
    let absent = mount.startLookup("nothing")
    try await eventually("the listing is under way") { !mount.store.calls.isEmpty }
    gate.open()
    for one in asked { #expect(try await one.answer().node != nil) }
    #expect(try await absent.answer().node == nil)
    #expect(mount.store.calls.map(\.operation) == [.listObjects])
  }

  @Test func n5AListingIsStreamedWhileItIsStillGoingOn() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = 10
    let mount = try TestMount(behaviour: behaviour)
    for number in 100..<130 { mount.place("f\(number)") }
    let (first, second) = (Gate(), Gate())
    let count = Lock(0)
    mount.store.hook = { _, moment in
      guard moment == .request else { return }
      let page = count.withLock { count in
        count += 1
        return count
      }
      if page == 1 { await first.wait() }
      if page == 2 { await second.wait() }
    }
    let handle = try await mount.openDirectory(.root)
    let start = mount.startReadDirectory(handle)
    #expect(start.outcome == nil, "nothing has arrived")
    first.open()
    var source = try await start.answer().source
    var names: [String] = []
    var offset = 0
    while let entry = source.peek() {
      _ = source.take(withAttributes: false)
      names.append(entry.name.description)
      offset = entry.nextOffset
    }
    // The last is held back, for the directory `f109/` could still follow and take the name.
    #expect(names == [".", ".."] + (100..<109).map { "f\($0)" })
    let next = mount.startReadDirectory(handle, offset: offset)
    #expect(next.outcome == nil, "only for the next page it waits")
    second.open()
    #expect(try await next.answer().source.peek()?.name == FileName("f109"))
    #expect(try await mount.entries(handle).count == 32)
  }

  @Test func allWhoWantADirectoryShareOneListing() async throws {
    let mount = try TestMount()
    mount.place("f")
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    var asked: [Asked<DirectoryAnswer>] = []
    for _ in 0..<5 {
      asked.append(mount.startReadDirectory(try await mount.openDirectory(.root)))
    }
    gate.open()
    for one in asked { _ = try await one.answer() }
    #expect(mount.store.calls.map(\.operation) == [.listObjects])
  }

  @Test func readdirWithAttributesCountsLookups() async throws {
    let mount = try TestMount()
    mount.place("f", "hello")
    mount.place("d/x")
    let handle = try await mount.openDirectory(.root)
    var source = try await mount.startReadDirectory(handle, withAttributes: true).answer().source
    var answers: [String: EntryAnswer] = [:]
    while let entry = source.peek() {
      if let answer = source.take(withAttributes: true) {
        #expect(answer.attributes?.inodeNumber == entry.inodeNumber)
        answers[entry.name.description] = answer
      }
    }
    #expect(answers.keys.sorted() == ["d", "f"])
    let node = try #require(answers["f"]?.node)
    #expect(try await mount.lookup("f").node == node)
    mount.bucket.forget(node, count: 1)
    #expect(try await mount.attributes(node).size == 5)
    mount.bucket.forget(node, count: 1)
    await expectFailure(.stale) { _ = try await mount.attributes(node) }
  }

  @Test func aListingThatBreaksOffIsNeverSilentlyShort() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = 10
    let mount = try TestMount(behaviour: behaviour)
    for number in 100..<130 { mount.place("f\(number)") }
    mount.store.faults.add(Fault(.fail(.serverFailure), operation: .listObjects, callNumber: 2))
    let handle = try await mount.openDirectory(.root)
    var source = try await mount.startReadDirectory(handle).answer().source
    var offset = 0
    var count = 0
    while let entry = source.peek() {
      _ = source.take(withAttributes: false)
      offset = entry.nextOffset
      count += 1
    }
    #expect(count == 11, "what arrived is shown, but for the last, whose name isn't settled")
    #expect(
      try await mount.startReadDirectory(handle, offset: offset).failure().code == .inputOutput
    )
    #expect(mount.errors.all.map(\.operation) == ["readdir"])
    #expect(try await mount.names().count == 30, "the next listing starts over")
  }

  @Test func aDirectoryThatMayNotBeListedSaysSo() async throws {
    let mount = try TestMount()
    mount.store.faults.add(Fault(.fail(.accessDenied), operation: .listObjects))
    await expectFailure(.accessDenied) { _ = try await mount.names() }
  }

  @Test func whatWasListedIsShownWhileTheStoreIsOutOfReach() async throws {
    let mount = try TestMount()
    mount.place("f", "hello")
    _ = try await mount.names()
    mount.clock.advance(by: .seconds(60))
    mount.store.faults.add(Fault(.fail(.unreachable), callCount: .max))
    #expect(try await mount.names() == ["f"])
    #expect(try await mount.lookup("f").attributes?.size == 5)
    #expect(try await mount.lookup("g").node == nil)
    // A refusal is news, not an outage.
    mount.store.faults.clear()
    mount.clock.advance(by: .seconds(60))
    mount.store.faults.add(Fault(.fail(.accessDenied), callCount: .max))
    await expectFailure(.accessDenied) { _ = try await mount.names() }
  }

  /// The C library takes ENOENT of `readdir` for the end of the directory.
  @Test func aDirectoryThatTheStoreDoesNotFindIsNotShownAsEmpty() async throws {
    var behaviour = SimulatedStore.Behaviour()
    (behaviour.hasDirectories, behaviour.tellsKeyStatus) = (true, true)
    let mount = try TestMount(behaviour: behaviour)
    mount.place("d/f")
    let directory = try await mount.node("d")
    mount.store.faults.add(Fault(.fail(.notFound), operation: .listObjects))
    await expectFailure(.stale) { _ = try await mount.names(directory) }
    #expect(try await mount.names(directory) == ["f"])
  }

  @Test(arguments: [StoreError.Kind.serverFailure, .throttled])
  func r6AStoreThatAnswersIsNotOutOfReach(kind: StoreError.Kind) async throws {
    let mount = try TestMount()
    mount.place("d/f")
    let (directory, node) = (try await mount.node("d"), try await mount.node("d/f"))
    _ = try await mount.names(directory)
    mount.clock.advance(by: .seconds(60))
    mount.store.faults.add(Fault(.fail(kind), callCount: .max))
    let code: FileError.Code = kind == .throttled ? .timedOut : .inputOutput
    await expectFailure(code) { _ = try await mount.names(directory) }
    await expectFailure(code) { _ = try await mount.lookup("f", in: directory) }
    await expectFailure(code) { _ = try await mount.attributes(node) }
  }

  @Test func r6WhatWasKnownADayAgoIsNotUsed() async throws {
    let mount = try TestMount()
    mount.place("d/f", "text")
    let directory = try await mount.node("d")
    _ = try await mount.names(directory)
    let node = try await mount.node("d/f")
    mount.clock.advance(by: .seconds(24 * 3600 - 1))
    mount.place("e/g")
    let known = try await mount.node("e/g")
    mount.store.faults.add(Fault(.fail(.unreachable), callCount: .max))
    #expect(try await mount.names(directory) == ["f"], "a second less")
    mount.clock.advance(by: .seconds(60))
    // That the store is out of reach is known from another name, and what was just known is used.
    #expect(try await mount.attributes(known).size == 1)
    #expect(try await mount.lookup("e").node != nil)
    await expectFailure(.timedOut) { _ = try await mount.names(directory) }
    await expectFailure(.timedOut) { _ = try await mount.lookup("f", in: directory) }
    await expectFailure(.timedOut) { _ = try await mount.lookup("h", in: directory) }
    await expectFailure(.timedOut) { _ = try await mount.attributes(node) }
  }

  @Test func aListingThatNobodyWantsAnyMoreIsCancelled() async throws {
    let mount = try TestMount()
    mount.place("f")
    mount.store.hook = { _, moment in if moment == .request { await Gate().wait() } }
    let handle = try await mount.openDirectory(.root)
    let asked = mount.startReadDirectory(handle)
    asked.interrupt()
    #expect(try await asked.failure().code == .interrupted)
    #expect(mount.store.calls.last?.outcome == nil, "the handle still wants it")
    mount.bucket.releaseDirectory(handle, reply: Asked<EmptyAnswer>().reply())
    try await eventually("it is cancelled") {
      mount.store.calls.last?.outcome == .failed(.cancelled)
    }
    mount.store.hook = nil
    #expect(try await mount.names() == ["f"])
  }

  @Test func aLateDirectoryTakesTheNameAcrossPages() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = 2
    for isTreeOrder in [false, true] {
      behaviour.listsInTreeOrder = isTreeOrder
      let mount = try TestMount(behaviour: behaviour)
      for key in ["a", "a-1", "a-2", "a-3", "a.x", "a/b", "b"] { mount.place(key, key) }
      let names = try await mount.names()
      #expect(names == ["%dipper-object%a", "a", "a-1", "a-2", "a-3", "a.x", "b"])
      #expect(try await mount.text(try await mount.node("%dipper-object%a")) == "a")
    }
  }

  @Test func hostilePagesAreSurvived() async throws {
    func object(_ key: String, size: Int = 1) -> ObjectMetadata {
      ObjectMetadata(
        version: ObjectVersion(
          key: ObjectKey(key),
          etag: ETag("e"),
          size: size,
          lastModified: Timestamp(seconds: 1)
        )
      )
    }
    let page = ListPage(
      objects: [
        object("good"), object("good"), object("elsewhere/../x"), object("deep/er/key"), object(""),
        object("huge", size: .max), object("negative", size: -1), object("esc\u{1B}[2J"),
        object(String(repeating: "k", count: 1024)),
      ],
      commonPrefixes: [ObjectKey(""), ObjectKey("/"), ObjectKey("dir/"), ObjectKey("dir/")],
      nextToken: nil
    )
    let empty = ListPage(objects: [], commonPrefixes: [], nextToken: "more")
    let mount = try TestMount(front: ScriptedListings([empty, page]))
    #expect(
      try await mount.names()
        == [
          "%dipper%", "%dipper%esc%1B[2J", longName(String(repeating: "k", count: 1024)),
          "deep", "dir", "elsewhere", "good",
        ]
    )
  }

  @Test func aListingThatGoesRoundInCirclesFails() async throws {
    let page = ListPage(objects: [], commonPrefixes: [ObjectKey("d/")], nextToken: "again")
    let mount = try TestMount(front: ScriptedListings([page], repeatsLast: true))
    await expectFailure(.inputOutput) { _ = try await mount.names() }
  }

  @Test func aHundredThousandNamesTakeLessThan300BytesEach() async throws {
    let count = 100_000
    let pages = stride(from: 0, to: count, by: 1000).map { start in
      ListPage(
        objects: (start..<start + 1000).map { number in
          ObjectMetadata(
            version: ObjectVersion(
              key: ObjectKey("part-\(number.padded(8))-of-a-table.parquet"),
              etag: ETag("d41d8cd98f00b204e980\((number &* 1_234_567).padded(12))"),
              size: number,
              lastModified: Timestamp(seconds: 1_700_000_000 + number)
            )
          )
        },
        commonPrefixes: [],
        nextToken: start + 1000 < count ? "\(start)" : nil
      )
    }
    let mount = try TestMount(front: ScriptedListings(pages))
    let directory = NodeID.root
    let before = mount.bucket.snapshot
    let handle = try await mount.openDirectory(directory)
    var offset = 0
    var entryCount = 0
    while true {
      var source = try await mount.startReadDirectory(handle, offset: offset, withAttributes: true)
        .answer().source
      guard let first = source.peek() else { break }
      offset = first.nextOffset
      while let entry = source.peek() {
        _ = source.take(withAttributes: true)
        offset = entry.nextOffset
        entryCount += 1
      }
    }
    #expect(entryCount == count + 2)
    let after = mount.bucket.snapshot
    #expect(after.nodeCount - before.nodeCount == count)
    let byteCount = (after.metadataByteCount - before.metadataByteCount) / count
    #expect(byteCount < 300, "\(byteCount) bytes a name, listed and known to the kernel")
    #expect(byteCount > 60, "\(byteCount) bytes can't be all")
  }
}
