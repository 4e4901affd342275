import Core
import Filesystem
import ObjectFiles
import Simulation
import Support
import Testing

@Suite struct ReadingTests {
  private let kibi = 1 << 10
  private let mebi = 1 << 20

  @Test func r1AReadNeverMixesTwoVersions() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("f"), .words(size: 4 * mebi, seed: 1))
    let old = try await mount.node("f")
    let handle = try await mount.open(old)
    let first = try await mount.read(handle, ByteRange(0, 4 * kibi))
    #expect(first == mount.store.content(at: ObjectKey("f"))?.bytes(0..<4 * kibi))
    mount.store.place(ObjectKey("f"), .words(size: 4 * mebi, seed: 2))
    await expectFailure(.stale) {
      _ = try await mount.read(handle, ByteRange(offset: 2 * mebi, count: 4 * kibi))
    }
    // What was cached of the old version isn't served any more either.
    await expectFailure(.stale) { _ = try await mount.read(handle, ByteRange(0, 4 * kibi)) }
    await expectFailure(.stale) { _ = try await mount.attributes(old) }
    await expectFailure(.stale) { _ = try await mount.open(old) }
    // The next open sees the new version, under a new node and the same number for programs.
    let new = try await mount.node("f")
    #expect(new != old)
    let bytes = try await mount.read(try await mount.open(new), ByteRange(0, 4 * kibi))
    #expect(bytes == mount.store.content(at: ObjectKey("f"))?.bytes(0..<4 * kibi))
    #expect(mount.store.calls.of(.getObject).allSatisfy { $0.ifMatch != nil })
  }

  @Test func r1AReplacementSeenByAListingSupersedesTheOldVersion() async throws {
    let mount = try TestMount()
    mount.place("f", "one")
    mount.place("g", "gone")
    let (replaced, removed) = (try await mount.node("f"), try await mount.node("g"))
    let handle = try await mount.open(replaced)
    #expect(try await mount.read(handle, ByteRange(0, 100)) == Array("one".utf8))
    mount.place("f", "three")
    mount.store.remove(ObjectKey("g"))
    mount.clock.advance(by: .seconds(11))
    _ = try await mount.names()
    await expectFailure(.stale) { _ = try await mount.read(handle, ByteRange(0, 100)) }
    await expectFailure(.stale) { _ = try await mount.attributes(removed) }
    #expect(try await mount.text(try await mount.node("f")) == "three")
    #expect(try await mount.lookup("g").node == nil)
  }

  @Test func r2ARandomReadCostsOneRequestOfAtMost128KiB() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("big"), .words(size: 64 * mebi))
    let handle = try await mount.open(try await mount.node("big"))
    mount.store.forgetCalls()
    for offset in [37 * mebi + 4096, 5 * mebi, 60 * mebi - 4096, 11 * mebi + 100] {
      let bytes = try await mount.read(handle, ByteRange(offset: offset, count: 4 * kibi))
      #expect(bytes == mount.store.content(at: ObjectKey("big"))?.bytes(offset..<offset + 4 * kibi))
    }
    let requests = mount.store.calls.of(.getObject)
    #expect(requests.count == 4)
    #expect(requests.allSatisfy { ($0.range?.count ?? .max) <= 128 * kibi })
  }

  @Test func r2AFirstByteOfAListedFileCostsOneRequest() async throws {
    let mount = try TestMount()
    mount.place("f", "hello")
    _ = try await mount.names()
    mount.store.forgetCalls()
    #expect(try await mount.text(try await mount.node("f")) == "hello")
    #expect(mount.store.calls.map(\.operation) == [.getObject])
  }

  @Test func readsThatHitMoveThePrefetchOnLikeOthers() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("big"), .words(size: 64 * mebi))
    let handle = try await mount.open(try await mount.node("big"))
    mount.store.forgetCalls()
    for offset in stride(from: 0, to: 64 * mebi, by: 512 * kibi) {
      _ = try await mount.read(handle, ByteRange(offset: offset, count: 512 * kibi))
    }
    let requests = mount.store.calls.of(.getObject)
    #expect(requests.count < 20, "one for each part, and a few small ones at the start")
    #expect(requests.contains { $0.range?.count == 8 * mebi })
  }

  @Test func r2ClosingAbandonsWhatWasFetchedAhead() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("big"), .words(size: 64 * mebi))
    let handle = try await mount.open(try await mount.node("big"))
    for step in 0..<4 {
      _ = try await mount.read(handle, ByteRange(offset: step * mebi, count: mebi))
    }
    try await mount.release(handle)
    #expect(!mount.cache.abandoned.withLock { $0 }.isEmpty)
  }

  @Test func r2ASecondStrayReadAbandonsWhatWasFetchedAhead() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("big"), .words(size: 64 * mebi))
    let handle = try await mount.open(try await mount.node("big"))
    for step in 0..<4 {
      _ = try await mount.read(handle, ByteRange(offset: step * mebi, count: mebi))
    }
    for (offset, isAbandoned) in [(50 * mebi, false), (30 * mebi, true)] {
      _ = try await mount.read(handle, ByteRange(offset: offset, count: 4 * kibi))
      let abandoned = mount.cache.abandoned.withLock { $0 }
      #expect(!abandoned.isEmpty == isAbandoned)
      #expect(abandoned.allSatisfy { $0.lowerBound >= 4 * mebi })
    }
  }

  @Test func r2HandlesOfOneFileShareWhatIsFetchedAhead() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("big"), .words(size: 64 * mebi))
    let node = try await mount.node("big")
    let handles = [try await mount.open(node), try await mount.open(node)]
    for step in 0..<8 {
      let range = ByteRange(offset: step * mebi, count: mebi)
      _ = try await mount.read(handles[step % 2], range)
    }
    try await mount.release(handles[0])
    #expect(mount.cache.abandoned.withLock { $0 }.isEmpty, "the other handle reads on")
    try await mount.release(handles[1])
    #expect(!mount.cache.abandoned.withLock { $0 }.isEmpty)
  }

  @Test func r2SmallFilesThatAreOpenedInOrderAreFetchedAhead() async throws {
    let mount = try TestMount()
    for index in 0..<100 { mount.place("d/f\(100 + index)", "file \(index)") }
    let directory = try await mount.node("d")
    _ = try await mount.names(directory)
    mount.store.forgetCalls()
    for index in 0..<20 {
      let node = try await mount.node("d/f\(100 + index)")
      #expect(try await mount.text(node) == "file \(index)")
    }
    try await eventually("files to be fetched ahead") {
      mount.store.calls.of(.getObject).count >= 60
    }
    let calls = mount.store.calls
    #expect(Set(calls.map(\.operation)) == [.getObject])
    #expect(calls.allSatisfy { $0.ifMatch != nil })
    #expect(Set(calls.map(\.key)).count == calls.count, "each once")
  }

  @Test func r2SmallFilesThatAreOpenedAnyhowAreNot() async throws {
    let mount = try TestMount()
    for index in 0..<100 { mount.place("d/f\(100 + index)", "file \(index)") }
    let directory = try await mount.node("d")
    _ = try await mount.names(directory)
    mount.store.forgetCalls()
    for index in [50, 3, 71, 22, 90, 14, 66] {
      _ = try await mount.text(try await mount.node("d/f\(100 + index)"))
    }
    #expect(mount.store.calls.of(.getObject).count == 7)
  }

  @Test func readsAreClampedToTheObject() async throws {
    let mount = try TestMount()
    mount.place("f", "hello")
    mount.place("empty", "")
    let handle = try await mount.open(try await mount.node("f"))
    #expect(try await mount.read(handle, ByteRange(3, 4096)) == Array("lo".utf8))
    #expect(try await mount.read(handle, ByteRange(5, 10)) == [])
    #expect(try await mount.read(handle, ByteRange(1 << 40, 1 << 41)) == [])
    mount.store.forgetCalls()
    let empty = try await mount.open(try await mount.node("empty"))
    mount.store.forgetCalls()
    #expect(try await mount.read(empty, ByteRange(0, 4096)) == [])
    #expect(mount.store.calls.isEmpty, "an empty object needs neither cache nor store")
  }

  @Test func r5AnInterruptEndsAWaitAtOnce() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("f"), .words(size: mebi))
    let handle = try await mount.open(try await mount.node("f"))
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let interrupted = mount.startRead(handle, ByteRange(0, 4 * kibi))
    let other = mount.startRead(handle, ByteRange(0, 4 * kibi))
    #expect(interrupted.outcome == nil)
    interrupted.interrupt()
    #expect(try await interrupted.failure().code == .interrupted)
    #expect(mount.cache.waitCount == 1, "the other still waits")
    gate.open()
    guard case .bytes(let bytes) = try await other.answer() else {
      Issue.record("no bytes")
      return
    }
    #expect(bytes.count == 4 * kibi)
    #expect(mount.errors.all.isEmpty, "an interrupt is the caller's own doing")
  }

  @Test func r5AnInterruptThatCameFirstIsObeyedToo() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("f"), .words(size: mebi))
    let handle = try await mount.open(try await mount.node("f"))
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let asked = Asked<DataAnswer>()
    asked.interrupt()
    mount.bucket.read(handle, range: ByteRange(0, 4096), reply: asked.reply())
    #expect(try await asked.failure().code == .interrupted)
    try await eventually("nobody waits") { mount.cache.waitCount == 0 }
    gate.open()
  }

  @Test func r5EveryOperationEndsByItsDeadline() async throws {
    var options = FilesystemOptions()
    options.deadline = .seconds(1)
    let mount = try TestMount(options: options)
    mount.place("f", "text")
    mount.place("known", "text")
    // A listing first: with it all that is to work is answered at once, however busy the machine is.
    _ = try await mount.names()
    let node = try await mount.node("known")
    let handle = try await mount.open(node)
    // The simulated clock stands still, so the store itself would wait for ever.
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    mount.clock.advance(by: .seconds(11))
    let attributes = Asked<AttributesAnswer>()
    mount.bucket.getAttributes(of: node, handle: nil, reply: attributes.reply())
    let open = Asked<OpenAnswer>()
    mount.bucket.open(node, mode: .reading, reply: open.reply())
    let value = Asked<AttributeValueAnswer>()
    mount.bucket.extendedAttribute(
      "user.dipper.content-type",
      of: node,
      reply: value.reply()
    )
    let lookup = mount.startLookup("f")
    let read = mount.startRead(handle, ByteRange(0, 4))
    await expectFailure(.timedOut) { _ = try await mount.names() }
    #expect(try await lookup.failure().code == .timedOut)
    #expect(try await read.failure().code == .timedOut)
    #expect(try await attributes.failure().code == .timedOut)
    #expect(try await open.failure().code == .timedOut)
    #expect(try await value.failure().code == .timedOut)
    gate.open()
    #expect(
      Set(mount.errors.all.map(\.operation))
        == ["lookup", "read", "readdir", "getattr", "open", "getxattr"]
    )
    #expect(mount.errors.all.count == 6, "each failure is told once")
  }

  @Test func r6WhatIsCachedIsReadWhileTheStoreIsOutOfReach() async throws {
    let mount = try TestMount()
    mount.place("f", "hello")
    let node = try await mount.node("f")
    #expect(try await mount.text(node) == "hello")
    mount.store.faults.add(Fault(.fail(.unreachable), callCount: .max))
    #expect(try await mount.text(node) == "hello", "its metadata is still believed")
    mount.clock.advance(by: .seconds(60))
    #expect(try await mount.text(node) == "hello", "and known when it isn't any more")
    #expect(try await mount.lookup("f").node == node)
    mount.clock.advance(by: .seconds(25 * 3600))
    await expectFailure(.timedOut) { _ = try await mount.open(node) }
  }

  @Test func r6OfflineAsksNothingAboutWhatIsKnown() async throws {
    var options = FilesystemOptions()
    options.isOffline = true
    let mount = try TestMount(options: options)
    mount.place("f", "hello")
    _ = try await mount.names()
    #expect(try await mount.text(try await mount.node("f")) == "hello")
    mount.clock.advance(by: .seconds(100 * 3600))
    mount.store.forgetCalls()
    #expect(try await mount.text(try await mount.node("f")) == "hello")
    #expect(try await mount.names() == ["f"])
    #expect(mount.store.calls.isEmpty)
  }

  @Test func o4AFailedReadSaysWhatWhyAndWhichKey() async throws {
    let mount = try TestMount()
    mount.place("dir/f", "hello")
    let node = try await mount.node("dir/f")
    let handle = try await mount.open(node)
    #expect(try await mount.value("user.dipper.last-error", of: node) == "")
    mount.store.faults.add(Fault(.fail(.accessDenied), operation: .getObject))
    await expectFailure(.accessDenied) { _ = try await mount.read(handle, ByteRange(0, 5)) }
    let record = try #require(mount.errors.all.last)
    #expect(record.operation == "read")
    #expect(record.path == "dir/f")
    #expect(record.error.message.contains("GetObject") && record.error.message.contains("dir/f"))
    let words = try await mount.value("user.dipper.last-error", of: node)
    #expect(words.contains("EACCES") && words.contains("dir/f"))
    // A failure is not remembered by the file itself.
    #expect(try await mount.read(handle, ByteRange(0, 5)) == Array("hello".utf8))
  }

  @Test func aCacheThatCannotBeOpenedFailsTheReadWithItsReason() async throws {
    let mount = try TestMount()
    mount.place("f", "hello")
    let handle = try await mount.open(try await mount.node("f"))
    mount.cache.openFailure.withLock {
      $0 = DiskFailure(errno: 5, action: "open /cache/f", reason: "Input/output error")
    }
    let error = try await mount.startRead(handle, ByteRange(0, 5)).failure()
    #expect(error.code == .inputOutput)
    #expect(error.message.contains("/cache/f"))
    mount.cache.openFailure.withLock { $0 = nil }
    #expect(try await mount.read(handle, ByteRange(0, 5)) == Array("hello".utf8))
  }

  @Test func openingForWritingIsRefused() async throws {
    let mount = try TestMount()
    mount.place("f")
    let node = try await mount.node("f")
    let asked = Asked<OpenAnswer>()
    mount.bucket.open(node, mode: .writing(), reply: asked.reply())
    #expect(try await asked.failure().code == .readOnly)
  }

  @Test func whatIsNotOpenCannotBeRead() async throws {
    let mount = try TestMount()
    await expectFailure(.badHandle) { _ = try await mount.read(HandleID(77), ByteRange(0, 1)) }
    await expectFailure(.isDirectory) { _ = try await mount.open(.root) }
    mount.place("f")
    let node = try await mount.node("f")
    await expectFailure(.notDirectory) { _ = try await mount.openDirectory(node) }
  }
}
