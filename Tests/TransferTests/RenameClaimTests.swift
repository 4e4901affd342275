import Core
import Simulation
import Support
import Testing

@testable import Transfer

/// A renaming of many keys tells other machines of itself, and they finish it if it is dead (C3).
@Suite struct RenameClaimTests {
  private static let marker = ObjectKey(RenameMarker.place)

  private func bench() throws -> RenameBench {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.copiesKeepTags = true
    return try RenameBench(behaviour: behaviour)
  }

  private func plan(_ bench: RenameBench) -> RenamePlan {
    var plan = bench.plan
    plan.markerBeginning = ObjectKey("")
    return plan
  }

  private func rename(_ bench: RenameBench) async -> TransferError? {
    do throws(TransferError) {
      try await Rename(plan(bench), in: bench.store, environment: bench.environment).run()
      return nil
    } catch {
      return error
    }
  }

  private func marked(_ bench: RenameBench) async throws -> [MarkedRenaming] {
    try await Rename.marked(
      below: ObjectKey(""),
      in: bench.store,
      environment: bench.environment
    ).map { try $0.get() }
  }

  /// Puts the marker that a process on another machine has left.
  private func leaveMarker(_ bench: RenameBench) throws {
    var other = plan(bench)
    other.journalDirectory = "/elsewhere"
    let marker = RenameMarker(other, began: bench.time.wallTime)
    let key = try #require(other.markerKey)
    bench.store.place(key, .bytes([]), userMetadata: try #require(marker.metadata))
  }

  private func takeOver(_ bench: RenameBench) async throws -> Int {
    let found = try #require(try await marked(bench).first)
    return try await Rename.takeOver(
      found,
      like: plan(bench),
      in: bench.store,
      environment: bench.environment
    )
  }

  private func markers(_ bench: RenameBench) -> [ObjectKey] {
    bench.store.keys.filter { $0.hasPrefix(Self.marker) }
  }

  @Test func itCostsTwoRequests() async throws {
    let bench = try bench()
    #expect(await rename(bench) == nil)
    try bench.expectWhole("", isAt: ["new/"])
    #expect(bench.store.calls.count == 4 + RenameBench.rests.count + 2)
    #expect(bench.store.calls.of(.putObject).first?.key?.hasPrefix(Self.marker) == true)
    #expect(markers(bench).isEmpty)
  }

  @Test func keysThatAreTooLongForMetadataAreInItsText() async throws {
    let bench = try bench()
    var other = plan(bench)
    other.source = ObjectKey(Array(repeating: 0xe4, count: 1000) + [0x2f])
    let marker = RenameMarker(other, began: bench.time.wallTime)
    #expect(marker.metadata == nil)
    bench.store.place(try #require(other.markerKey), .text(marker.text))
    #expect(try await marked(bench).map(\.marker) == [marker])
  }

  @Test func itIsSeenWhileItLasts() async throws {
    let bench = try bench()
    let seen = Lock([MarkedRenaming]())
    let store = bench.store
    store.hook = { call, moment in
      guard call.operation == .deleteObjects, moment == .request else { return }
      store.hook = nil
      let found = try? await Rename.marked(
        below: ObjectKey(""),
        in: store,
        environment: bench.environment
      ).map { try $0.get() }
      seen.withLock { $0 = found ?? [] }
    }
    #expect(await rename(bench) == nil)
    let found = try #require(seen.withLock { $0.first })
    #expect(found.marker.source == RenameBench.source && found.marker.target == RenameBench.target)
    #expect(found.marker.processID == Int(Disk.processID) && found.marker.machine == Machine.name)
    #expect(found.isAlive(at: bench.storeClock.wallTime))
    #expect(try await marked(bench).isEmpty)
  }

  @Test func aBucketThatTakesNoMarkerIsRenamedInWithout() async throws {
    let bench = try bench()
    bench.faults.add(Fault(.fail(.accessDenied), operation: .putObject))
    #expect(await rename(bench) == nil)
    try bench.expectWhole("", isAt: ["new/"])
  }

  @Test func aLivingProcessIsNotDisturbed() async throws {
    let bench = try bench()
    try leaveMarker(bench)
    guard case .held = await rename(bench) else {
      Issue.record("it was renamed")
      return
    }
    try bench.expectWhole("", isAt: ["old/"])
    #expect(markers(bench).count == 1)
  }

  /// The marker's time is the store's, and so is the time that it is compared with.
  @Test func aMachineWhoseClockIsWrongTakesNobodyForDead() async throws {
    let bench = try bench()
    try leaveMarker(bench)
    bench.time.advance(by: RenameMarker.lease * 10)
    guard case .held = await rename(bench) else {
      Issue.record("it was renamed")
      return
    }
    try bench.expectWhole("", isAt: ["old/"])
    bench.storeClock.advance(by: RenameMarker.lease + .seconds(1))
    #expect(await rename(bench) == nil)
    try bench.expectWhole("", isAt: ["new/"])
  }

  @Test func anotherMachineFinishesWhatADeadOneBegan() async throws {
    for copiedCount in stride(from: 0, through: RenameBench.rests.count, by: 4) {
      for deletedCount in copiedCount == RenameBench.rests.count ? [0, 3] : [0] {
        let bench = try bench()
        try leaveMarker(bench)
        for rest in RenameBench.rests.prefix(copiedCount) {
          var put = PutRequest(key: ObjectKey("new/" + rest), storageClass: "STANDARD_IA")
          let source = CopySource(key: ObjectKey("old/" + rest))
          put.condition = .none
          _ = try await bench.store.copy(
            CopyRequest(source: source, target: put),
            context: RequestContext(deadline: .distantFuture)
          )
        }
        for rest in RenameBench.rests.prefix(deletedCount) {
          bench.store.remove(ObjectKey("old/" + rest))
        }
        bench.wait(RenameMarker.lease + .seconds(1))
        #expect(try await marked(bench).first?.isAlive(at: bench.storeClock.wallTime) == false)
        bench.store.forgetCalls()
        #expect(try await takeOver(bench) == 0)
        try bench.expectWhole("\(copiedCount) \(deletedCount)", isAt: ["new/"])
        // What was copied is known by its bytes and not copied again.
        #expect(
          bench.store.calls.of(.copyObject).count == RenameBench.rests.count - copiedCount
        )
        #expect(markers(bench).isEmpty)
      }
    }
  }

  @Test func whatSomebodyChangedAtTheNewPlaceStaysAtBoth() async throws {
    let bench = try bench()
    try leaveMarker(bench)
    let changed = RenameBench.rests[4]
    bench.store.place(ObjectKey("new/" + changed), .text("edited"))
    bench.wait(RenameMarker.lease + .seconds(1))
    #expect(try await takeOver(bench) == 1)
    #expect(bench.store.bytes(at: ObjectKey("new/" + changed)) == Array("edited".utf8))
    #expect(bench.keys("old/") == [changed] && bench.keys("new/") == Set(RenameBench.rests))
  }

  @Test func ofTwoWhoTakeItOverOneLoses() async throws {
    let bench = try bench()
    try leaveMarker(bench)
    bench.wait(RenameMarker.lease + .seconds(1))
    let found = try #require(try await marked(bench).first)
    try leaveMarker(bench)
    await #expect(throws: TransferError.self) {
      _ = try await Rename.takeOver(
        found,
        like: plan(bench),
        in: bench.store,
        environment: bench.environment
      )
    }
    #expect(bench.keys("old/") == Set(RenameBench.rests) && bench.keys("new/").isEmpty)
  }

  @Test func whoseRenamingWasTakenOverDeletesNothing() async throws {
    let bench = try bench()
    let store = bench.store
    let (time, isFirst) = (bench.time, Lock(true))
    store.hook = { call, moment in
      guard call.operation == .copyObject, moment == .answer else { return }
      let strikes = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      guard strikes else { return }
      // It slept for so long that another machine has taken it for dead.
      time.advance(by: RenameMarker.lease + .seconds(1))
      for key in store.keys where key.hasPrefix(Self.marker) { store.place(key, .text("taken")) }
    }
    guard case .held = await rename(bench) else {
      Issue.record("it went on")
      return
    }
    #expect(store.calls.of(.deleteObjects).isEmpty)
    #expect(bench.keys("old/") == Set(RenameBench.rests))
    #expect(markers(bench).count == 1, "it is the other's")
  }

  @Test func thisMachineTakesItsOwnUpAtOnce() async throws {
    let bench = try bench()
    bench.faults.add(Fault(.fail(.unreachable), operation: .deleteObjects, callCount: .max))
    bench.faults.add(Fault(.fail(.unreachable), operation: .deleteObject, callCount: .max))
    #expect(await rename(bench) != nil)
    bench.faults.clear()
    #expect(try bench.journals.count == 1 && markers(bench).count == 1)
    for path in try bench.journals {
      try await Rename.resume(
        path,
        like: plan(bench),
        in: bench.store,
        environment: bench.environment
      )
    }
    try bench.expectWhole("")
    #expect(markers(bench).isEmpty)
  }

  @Test func aMarkerSaysWhatItWasMadeOf() throws {
    let bench = try bench()
    var plan = plan(bench)
    plan.source = ObjectKey([0xff, 0x20, 0x0a, 0x2f])
    let marker = RenameMarker(plan, began: Timestamp(seconds: 1_796_027_412))
    #expect(try RenameMarker(parsing: Array(marker.text.utf8)) == marker)
    #expect(try RenameMarker(try #require(marker.metadata)) == marker)
    #expect(try RenameMarker([:]) == nil)
    for text in ["", "dipper renaming\n", "dipper renaming 1\nsource a/\ntarget a/b/\n", "x y 1\n"]
    {
      #expect(throws: Checkpoint.ParseError.self) {
        _ = try RenameMarker(parsing: Array(text.utf8))
      }
    }
    #expect(throws: Checkpoint.ParseError.unknownVersion("2")) {
      _ = try RenameMarker(parsing: Array("dipper renaming 2\n".utf8))
    }
  }
}
