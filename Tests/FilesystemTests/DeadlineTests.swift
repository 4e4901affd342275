import Core
import Filesystem
import Simulation
import Support
import Testing

/// What a dead network costs a system call, which is several operations to the kernel.
@Suite struct DeadlineTests {
  /// A mount on which `d/f` is known, whose store falls silent `age` later.
  private func silentMount(after age: Duration) async throws -> (TestMount, NodeID) {
    let mount = try TestMount()
    mount.place("d/f", "text")
    let directory = try await mount.node("d")
    _ = try await mount.node("d/f")
    mount.clock.advance(by: age)
    mount.store.faults.add(Fault(.hang(), callCount: .max))
    mount.store.forgetCalls()
    return (mount, directory)
  }

  /// Moves the clock once the store is being asked.
  private func advance(_ mount: TestMount, by duration: Duration) async throws {
    try await eventually("the store is asked") { mount.clock.alarmCount > 0 }
    mount.clock.advance(by: duration)
  }

  @Test func r5AFailedLookupThatIsAskedAgainIsNotWaitedForTwice() async throws {
    // Older than a day: what is known may not be used any more.
    let (mount, directory) = try await silentMount(after: .seconds(25 * 3600))
    let first = mount.startLookup("f", in: directory)
    try await eventually("both are asked") { mount.clock.alarmCount == 2 }
    mount.clock.advance(by: .seconds(57))
    let error = try await first.failure()
    #expect(error.code == .timedOut)
    let callCount = mount.store.calls.count
    // The kernel takes the failure for an entry that is no longer valid, and looks it up.
    let second = mount.startLookup("f", in: directory)
    guard case .failure(let again) = try #require(second.outcome, "at once") else { return }
    #expect(again == error)
    #expect(mount.store.calls.count == callCount)
    #expect(mount.errors.all.map(\.operation) == ["lookup"], "one failure is told once")
    // Another name, and the same one a little later, are asked for.
    let other = mount.startLookup("g", in: directory)
    #expect(other.outcome == nil)
    other.interrupt()
    mount.clock.advance(by: .milliseconds(500))
    let later = mount.startLookup("f", in: directory)
    #expect(later.outcome == nil)
    later.interrupt()
    try await eventually("nothing is asked") { mount.clock.alarmCount == 0 }
  }

  @Test func r5ALongNameThatWasFoundTooLateIsNotWaitedForTwice() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = 1
    let mount = try TestMount(behaviour: behaviour)
    let long = String(repeating: "k", count: 300)
    for key in [long, long + "x"] { mount.place(key) }
    // The listing is answered late, what is asked then isn't at all.
    mount.store.hook = { [clock = mount.clock] call, moment in
      guard moment == .answer else { return }
      clock.advance(by: .seconds(40))
    }
    mount.store.faults.add(Fault(.hang(), callNumber: 2, callCount: .max))
    let first = mount.startLookup(longName(long))
    try await eventually("it is asked for") { mount.clock.alarmCount == 2 }
    mount.clock.advance(by: .seconds(17))
    let error = try await first.failure()
    #expect(error.code == .timedOut)
    let callCount = mount.store.calls.count
    let second = mount.startLookup(longName(long))
    guard case .failure(let again) = try #require(second.outcome, "at once") else { return }
    #expect(again == error)
    #expect(mount.store.calls.count == callCount)
  }

  @Test func r5WhatConfirmingAPathTookIsMissingForTheRest() async throws {
    let (mount, _) = try await silentMount(after: .seconds(11))
    let directory = mount.startLookup("d")
    try await advance(mount, by: .seconds(5))
    let node = try #require(try await directory.answer().node, "it is known from before")
    try await eventually("nothing is asked") { mount.clock.alarmCount == 0 }
    let name = mount.startLookup("unknown", in: node)
    try await eventually("both are asked") { mount.clock.alarmCount == 2 }
    mount.clock.advance(by: .milliseconds(51_999))
    #expect(name.outcome == nil)
    mount.clock.advance(by: .milliseconds(1))
    #expect(
      try await name.failure().code == .timedOut,
      "57 s after the path's first name was asked"
    )
    #expect(try #require(mount.startLookup("unknown", in: node).outcome).code == .timedOut)
  }

  @Test func r5AnotherCallHasAllTheTime() async throws {
    let (mount, _) = try await silentMount(after: .seconds(11))
    let directory = mount.startLookup("d")
    try await advance(mount, by: .seconds(5))
    let node = try #require(try await directory.answer().node)
    mount.clock.advance(by: .milliseconds(500))
    let name = mount.startLookup("unknown", in: node)
    try await eventually("both are asked") { mount.clock.alarmCount == 2 }
    mount.clock.advance(by: .milliseconds(56_999))
    #expect(name.outcome == nil)
    mount.clock.advance(by: .milliseconds(1))
    #expect(try await name.failure().code == .timedOut)
  }

  @Test func slowAnswersAreProgress() async throws {
    let mount = try TestMount()
    mount.place("d/f")
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let directory = mount.startLookup("d")
    try await eventually("both are asked") { mount.clock.alarmCount == 2 }
    mount.clock.advance(by: .seconds(50))
    gate.open()
    let node = try #require(try await directory.answer().node)
    mount.store.hook = nil
    mount.store.faults.add(Fault(.hang(), callCount: .max))
    let name = mount.startLookup("f", in: node)
    try await eventually("both are asked") { mount.clock.alarmCount == 2 }
    mount.clock.advance(by: .seconds(20))
    #expect(name.outcome == nil, "a store that answered, if slowly, is given all the time again")
    name.interrupt()
  }

  @Test func aFailureThatTookNoTimeIsAskedAgain() async throws {
    let mount = try TestMount()
    mount.place("f")
    mount.store.faults.add(Fault(.fail(.unreachable), callCount: 2))
    #expect(try await mount.startLookup("f").failure().code == .timedOut)
    #expect(try await mount.lookup("f").node != nil)
  }

  @Test func r5AnAttributeThatIsAskedAgainIsNotWaitedForTwice() async throws {
    let mount = try TestMount()
    mount.place("f", "text")
    let node = try await mount.node("f")
    mount.clock.advance(by: .seconds(25 * 3600))
    mount.store.faults.add(Fault(.hang(), callCount: .max))
    let first = Asked<AttributesAnswer>()
    mount.bucket.getAttributes(of: node, handle: nil, reply: first.reply())
    try await advance(mount, by: .seconds(57))
    #expect(try await first.failure().code == .timedOut)
    let open = Asked<OpenAnswer>()
    mount.bucket.open(node, mode: .reading, reply: open.reply())
    #expect(try #require(open.outcome, "at once").code == .timedOut)
  }

  @Test func aReadThatWaitedInVainIsNotWaitedForTwice() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("f"), .words(size: 8 << 20))
    let handle = try await mount.open(try await mount.node("f"))
    mount.store.faults.add(Fault(.fail(.timedOut), operation: .getObject))
    let error = try await mount.startRead(handle, ByteRange(0, 4096)).failure()
    #expect(error.code == .timedOut)
    mount.store.forgetCalls()
    // The page that the program waits for, after the read ahead that failed.
    mount.clock.advance(by: .milliseconds(499))
    let second = mount.startRead(handle, ByteRange(1024, 2048))
    guard case .failure(let again) = try #require(second.outcome, "at once") else { return }
    #expect(again == error)
    #expect(mount.store.calls.isEmpty)
    #expect(mount.errors.all.map(\.operation) == ["read"], "one failure is told once")
    let other = try await mount.open(try await mount.node("f"))
    let elsewhere = mount.startRead(other, ByteRange(0, 4096))
    #expect(elsewhere.outcome != nil, "the kernel lets one handle ask after the other")
    // Other bytes are another question, and so are these a little later.
    #expect(try await mount.read(handle, ByteRange(offset: 4 << 20, count: 4096)).count == 4096)
    mount.clock.advance(by: .milliseconds(1))
    #expect(try await mount.read(handle, ByteRange(0, 4096)).count == 4096)
  }

  @Test func r5NothingOfASilentObjectIsWaitedForTwice() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("f"), .words(size: 64 << 20))
    let node = try await mount.node("f")
    let handles = [try await mount.open(node), try await mount.open(node)]
    let cached = try await mount.read(handles[0], ByteRange(0, 4096))
    mount.store.faults.add(Fault(.hang(), callCount: .max))
    let first = mount.startRead(handles[0], ByteRange(offset: 8 << 20, count: 4096))
    try await eventually("it waits") { mount.clock.alarmCount > 0 }
    mount.clock.advance(by: .seconds(60))
    let error = try await first.failure()
    #expect(error.code == .timedOut)
    mount.store.forgetCalls()
    mount.clock.advance(by: .milliseconds(499))
    // The next request of the read ahead, the same page for another handle, and other bytes.
    for handle in handles {
      for offset in [8 << 20, (8 << 20) + 131_072, 40 << 20] {
        let again = mount.startRead(handle, ByteRange(offset: offset, count: 4096))
        guard case .failure(let refusal) = try #require(again.outcome, "at once") else { return }
        #expect(refusal == error)
      }
      #expect(
        try await mount.read(handle, ByteRange(0, 4096)) == cached,
        "what is cached is served"
      )
    }
    #expect(mount.store.calls.isEmpty)
    #expect(mount.errors.all.map(\.operation) == ["read"], "one failure is told once")
    mount.clock.advance(by: .milliseconds(1))
    let later = mount.startRead(handles[1], ByteRange(offset: 8 << 20, count: 4096))
    #expect(later.outcome == nil, "a program that tries again later has all the time")
    later.interrupt()
  }

  @Test func aFailureThatTheKernelAsksForAgainIsToldOnce() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("f"), .words(size: 4 << 20))
    let handle = try await mount.open(try await mount.node("f"))
    mount.store.place(ObjectKey("f"), .words(size: 4 << 20, seed: 9))
    for _ in 0..<3 {
      await expectFailure(.stale) { _ = try await mount.read(handle, ByteRange(0, 4096)) }
    }
    #expect(mount.errors.all.map(\.error.code) == [.stale])
    mount.clock.advance(by: .milliseconds(500))
    await expectFailure(.stale) { _ = try await mount.read(handle, ByteRange(0, 4096)) }
    #expect(mount.errors.all.count == 2, "that is another read")
  }

  @Test func theLimitOfRetriesGoesWithEveryRequest() async throws {
    var options = FilesystemOptions()
    options.retryCountMax = 2
    let mount = try TestMount(options: options)
    mount.place("d/f", "text")
    let directory = try await mount.node("d")
    let node = try await mount.node("d/f")
    mount.clock.advance(by: .seconds(11))
    _ = try await mount.attributes(node)
    _ = try await mount.value("user.dipper.content-type", of: node)
    _ = try await mount.names(directory)
    let calls = mount.store.calls.filter { $0.operation != .getObject }
    #expect(Set(calls.map(\.operation)) == [.headObject, .listObjects])
    #expect(calls.allSatisfy { $0.retryCountMax == 2 })
  }

  @Test func aConfirmationThatMayNotBeRetriedIsAskedForOnce() async throws {
    var options = FilesystemOptions()
    options.retryCountMax = 0
    let mount = try TestMount(options: options)
    mount.place("f", "text")
    let node = try await mount.node("f")
    mount.clock.advance(by: .seconds(11))
    mount.store.forgetCalls()
    mount.store.faults.add(Fault(.fail(.throttled), callCount: .max))
    await expectFailure(.timedOut) { _ = try await mount.attributes(node) }
    #expect(mount.store.calls.count == 1)
  }
}

extension Result where Failure == FileError {
  /// The failure's code; nil for a success.
  fileprivate var code: FileError.Code? {
    if case .failure(let error) = self { return error.code }
    return nil
  }
}
