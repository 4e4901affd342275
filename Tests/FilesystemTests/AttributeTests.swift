import Core
import Filesystem
import Simulation
import Support
import Testing

@Suite struct AttributeTests {
  @Test func n3NumbersAndTimesAreTheSameAfterARemount() async throws {
    let clock = SimulatedClock()
    let store = SimulatedStore(time: clock)
    for key in ["a", "d/b", "d/e/c", "x//y"] { store.place(ObjectKey(key), .text(key)) }
    func look() async throws -> [String: FileAttributes] {
      let mount = try TestMount(clock: clock, store: store)
      var seen: [String: FileAttributes] = [:]
      for path in ["a", "d", "d/b", "d/e", "d/e/c", "x", "x/%dipper%", "x/%dipper%/y"] {
        var attributes = try await mount.attributes(try await mount.node(path))
        if attributes.kind == .directory { attributes.modified = Timestamp(seconds: 0) }
        seen[path] = attributes
      }
      return seen
    }
    let first = try await look()
    clock.advance(by: .seconds(3600))
    #expect(try await look() == first)
    #expect(Set(first.values.map(\.inodeNumber)).count == first.count)
    #expect(first.values.allSatisfy { $0.inodeNumber > 1 })
  }

  @Test func n3AHeadAndAListingAgreeOnEveryAttribute() async throws {
    let mount = try TestMount()
    mount.clock.advance(by: .milliseconds(1234))
    mount.place("f", "hello")
    let byHead = try await mount.attributes(try await mount.node("f"))
    _ = try await mount.names()
    #expect(try await mount.lookup("f").attributes == byHead)
    #expect(byHead.modified == byHead.modified.wholeSecond)
  }

  @Test func aNewVersionIsANewNodeWithTheSameNumber() async throws {
    let mount = try TestMount()
    mount.place("f", "one")
    let first = try await mount.lookup("f")
    mount.place("f", "three")
    mount.clock.advance(by: .seconds(11))
    let second = try await mount.lookup("f")
    #expect(first.node != second.node)
    #expect(first.attributes?.inodeNumber == second.attributes?.inodeNumber)
    #expect(second.attributes?.size == 5)
  }

  @Test func equalQuestionsAboutOneFileAreAskedOnce() async throws {
    let mount = try TestMount()
    mount.place("f", "one")
    let node = try await mount.node("f")
    mount.clock.advance(by: .seconds(11))
    mount.store.forgetCalls()
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let asked = (0..<5).map { _ in
      let asked = Asked<AttributesAnswer>()
      mount.bucket.getAttributes(of: node, handle: nil, reply: asked.reply())
      return asked
    }
    try await eventually("the store is asked") { !mount.store.calls.isEmpty }
    gate.open()
    for one in asked { #expect(try await one.answer().attributes.size == 3) }
    #expect(mount.store.calls.map(\.operation) == [.headObject])
  }

  @Test func attributesAreConfirmedWhenTheyAreTooOld() async throws {
    let mount = try TestMount()
    mount.place("f", "one")
    let node = try await mount.node("f")
    mount.store.forgetCalls()
    _ = try await mount.attributes(node)
    #expect(mount.store.calls.isEmpty)
    mount.clock.advance(by: .seconds(11))
    _ = try await mount.attributes(node)
    #expect(mount.store.calls.map(\.operation) == [.headObject])
    mount.clock.advance(by: .seconds(11))
    mount.place("f", "three")
    await expectFailure(.stale) { _ = try await mount.attributes(node) }
    mount.clock.advance(by: .seconds(11))
    let second = try await mount.node("f")
    mount.clock.advance(by: .seconds(11))
    mount.store.remove(ObjectKey("f"))
    await expectFailure(.stale) { _ = try await mount.attributes(second) }
  }

  @Test func r1WhatOneAnswerTellsIsNotTakenBackByAnOlderListing() async throws {
    let mount = try TestMount()
    for key in ["f", "g"] { mount.place(key, "one") }
    _ = try await mount.names()
    let node = try await mount.node("f")
    let gone = try await mount.node("g")
    mount.place("f", "three")
    // A question about the object alone; the listing is believed for some seconds yet.
    _ = try await mount.value("user.dipper.content-type", of: node)
    await expectFailure(.stale) { _ = try await mount.attributes(node) }
    #expect(try await mount.lookup("f").attributes?.size == 5)
    mount.store.remove(ObjectKey("g"))
    await expectFailure(.noAttribute) {
      _ = try await mount.value("user.dipper.content-type", of: gone)
    }
    await expectFailure(.stale) { _ = try await mount.attributes(gone) }
    #expect(try await mount.lookup("g").node == nil)
  }

  @Test func anAbsenceThatIsToldLateSupersedesNothingNewer() async throws {
    let mount = try TestMount()
    mount.place("f", "one")
    let node = try await mount.node("f")
    mount.clock.advance(by: .seconds(11))
    // At that moment it is gone; the answer comes later.
    mount.store.faults.add(Fault(.fail(.notFound), operation: .headObject))
    let gate = Gate()
    mount.store.hook = { call, moment in
      if call.operation == .headObject, moment == .request { await gate.wait() }
    }
    mount.store.forgetCalls()
    let asked = Asked<AttributesAnswer>()
    mount.bucket.getAttributes(of: node, handle: nil, reply: asked.reply())
    try await eventually("the store is asked") { mount.store.calls.count == 1 }
    mount.clock.advance(by: .seconds(1))
    mount.place("f", "three")
    #expect(try await mount.names() == ["f"])
    let new = try await mount.node("f")
    gate.open()
    #expect(try await asked.failure().code == .stale)
    #expect(try await mount.attributes(new).size == 5)
    #expect(try await mount.node("f") == new)
  }

  @Test func invalidatingHasEverythingConfirmed() async throws {
    let mount = try TestMount()
    mount.place("f", "one")
    _ = try await mount.names()
    let node = try await mount.node("f")
    #expect(try await mount.lookup("g").node == nil)
    mount.place("f", "three")
    mount.place("g")
    mount.bucket.invalidateAll()
    await expectFailure(.stale) { _ = try await mount.attributes(node) }
    #expect(try await mount.lookup("f").attributes?.size == 5)
    #expect(try await mount.lookup("g").node != nil)
  }

  @Test func withoutATimeToLiveEverythingIsAskedForEachTime() async throws {
    var options = FilesystemOptions()
    options.metadataTTL = .zero
    let mount = try TestMount(options: options)
    mount.place("f", "one")
    #expect(try await mount.names() == ["f"])
    #expect(try await mount.lookup("f").entryTimeout == .zero)
    mount.place("f", "three")
    #expect(try await mount.lookup("f").attributes?.size == 5)
    mount.place("g")
    #expect(try await mount.names() == ["f", "g"])
    #expect(try await mount.text(try await mount.node("f")) == "three")
  }

  @Test func modesAndOwnersAreThoseOfTheOptions() async throws {
    var options = FilesystemOptions()
    (options.userID, options.groupID) = (1000, 1001)
    (options.fileMode, options.directoryMode, options.umask) = (0o666, 0o777, 0o027)
    let mount = try TestMount(options: options)
    mount.place("d/f")
    let directory = try await mount.attributes(try await mount.node("d"))
    let file = try await mount.attributes(try await mount.node("d/f"))
    #expect(directory.permissions == 0o750 && file.permissions == 0o640)
    #expect(file.userID == 1000 && file.groupID == 1001)
  }

  @Test func extendedAttributesTellWhatTheStoreSays() async throws {
    let mount = try TestMount()
    let version = mount.place("d/f", "hello")
    let node = try await mount.node("d/f")
    #expect(try await mount.value("user.dipper.key", of: node) == "d/f")
    #expect(try await mount.value("user.dipper.etag", of: node) == version.etag?.value)
    #expect(try await mount.value("user.dipper.size-cached", of: node) == "0")
    _ = try await mount.text(node)
    #expect(try await mount.value("user.dipper.size-cached", of: node) == "5")
    #expect(try await mount.value("user.dipper.storage-class", of: node) == "STANDARD")
    #expect(try await mount.value("user.dipper.content-type", of: node) == "binary/octet-stream")
    await expectFailure(.noAttribute) {
      _ = try await mount.value("user.dipper.version-id", of: node)
    }
    let directory = try await mount.node("d")
    #expect(try await mount.value("user.dipper.key", of: directory) == "d/")
    await expectFailure(.noAttribute) {
      _ = try await mount.value("user.dipper.etag", of: directory)
    }
    let asked = Asked<AttributeValueAnswer>()
    mount.bucket.extendedAttributeNames(of: node, reply: asked.reply())
    // What copies attributes must not find them.
    #expect(try await asked.answer().bytes == [])
  }

  @Test func whatTheKernelAsksOfEveryFileCostsNoRequest() async throws {
    let mount = try TestMount()
    mount.place("f")
    let node = try await mount.node("f")
    mount.store.forgetCalls()
    // Whoever is told so of one file, such as `ls -l`, doesn't ask for the next.
    for name in ["security.selinux", "system.posix_acl_access", "trusted.overlay.opaque"] {
      await expectFailure(.notSupported) { _ = try await mount.value(name, of: node) }
    }
    #expect(mount.store.calls.isEmpty)
  }

  @Test func theFileSystemIsLargeAndItsNamesAreShort() async throws {
    let mount = try TestMount()
    let asked = Asked<StatisticsAnswer>()
    mount.bucket.statistics(reply: asked.reply())
    let statistics = try await asked.answer()
    #expect(statistics.nameLengthMax == 255)
    #expect(statistics.freeBlockCount > 1 << 30)
    #expect(
      !statistics.blockCount.multipliedReportingOverflow(by: UInt64(statistics.blockSize)).overflow
    )
  }
}
