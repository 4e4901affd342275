import Core
import Filesystem
import Simulation
import Support
import Testing

@Suite struct FaultTests {
  /// Whichever call of the store fails, the operation that needed it fails with a reason or is right,
  /// and once the fault is over everything is right.
  @Test(arguments: [
    StoreError.Kind.unreachable, .accessDenied, .throttled, .invalidAnswer,
  ])
  func anyCallMayFail(kind: StoreError.Kind) async throws {
    let roundCount = try await exhaustFaults([.fail(kind)]) { plan in
      var behaviour = SimulatedStore.Behaviour()
      behaviour.pageCountMax = 2
      let mount = try TestMount(behaviour: behaviour, faults: plan)
      for key in ["a", "d/b", "d/c", "d/e/f", "g", "h"] { mount.place(key, "text of \(key)") }
      for _ in 0..<2 {
        try await tolerate {
          let names = try await mount.names()
          #expect(names == ["a", "d", "g", "h"])
        }
        try await tolerate {
          let names = try await mount.names(try await mount.node("d"))
          #expect(names == ["b", "c", "e"])
        }
        try await tolerate {
          let text = try await mount.text(try await mount.node("d/e/f"))
          #expect(text == "text of d/e/f")
        }
        try await tolerate {
          let answer = try await mount.lookup("none")
          #expect(answer.node == nil)
        }
        mount.clock.advance(by: .seconds(11))
      }
      #expect(mount.errors.all.count <= plan.strikeCount)
      // The last round strikes nothing, and must not strike what follows.
      guard plan.strikeCount > 0 else { return }
      mount.clock.advance(by: .seconds(11))
      #expect(try await mount.names() == ["a", "d", "g", "h"])
      #expect(try await mount.names(try await mount.node("d")) == ["b", "c", "e"])
      #expect(try await mount.text(try await mount.node("d/e/f")) == "text of d/e/f")
    }
    #expect(roundCount >= 10)
  }

  private func tolerate(_ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as FileError {
      #expect(error.message.count > 10, "a failure has a reason")
      #expect(error.code != .interrupted, "nobody was interrupted")
    }
  }

  @Test(arguments: StoreError.Kind.allCases)
  func aFailedReadOfAnyKindHasItsErrno(kind: StoreError.Kind) async throws {
    let mount = try TestMount()
    mount.place("f", "hello")
    let handle = try await mount.open(try await mount.node("f"))
    mount.store.faults.add(Fault(.fail(kind), operation: .getObject))
    let code = try await mount.startRead(handle, ByteRange(0, 5)).failure().code
    let expected: FileError.Code =
      switch kind {
      case .notFound, .preconditionFailed, .rangeNotSatisfiable: .stale
      case .accessDenied, .badCredentials: .accessDenied
      case .alreadyExists: .exists
      case .throttled, .unreachable, .timedOut: .timedOut
      case .unsupported: .notSupported
      case .tooLarge: .tooLarge
      case .offline: .hostUnreachable
      case .noSuchBucket, .noSuchUpload, .archived, .untrusted, .invalidAnswer, .wrongRegion,
        .conflict, .invalidRequest, .sinkRefused, .cancelled, .serverFailure:
        .inputOutput
      }
    #expect(code == expected)
  }

  @Test func anArchivedObjectSaysWhatToDo() async throws {
    let mount = try TestMount()
    mount.store.place(ObjectKey("cold"), .text("ice"), isArchived: true)
    let handle = try await mount.open(try await mount.node("cold"))
    let error = try await mount.startRead(handle, ByteRange(0, 3)).failure()
    #expect(error.code == .inputOutput)
    #expect(error.message.contains("restore"))
  }

  @Test func anInterruptedLookupLeavesTheQuestionToTheOthers() async throws {
    let mount = try TestMount()
    mount.place("f")
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let (first, second) = (mount.startLookup("f"), mount.startLookup("f"))
    first.interrupt()
    #expect(try await first.failure().code == .interrupted)
    gate.open()
    #expect(try await second.answer().node != nil)
    #expect(mount.store.calls.count == 2)
  }

  @Test func aQuestionThatNobodyAsksAnyMoreIsCancelled() async throws {
    let mount = try TestMount()
    mount.store.hook = { _, moment in if moment == .request { await Gate().wait() } }
    let asked = mount.startLookup("f")
    try await eventually("both are under way") { mount.store.calls.count == 2 }
    asked.interrupt()
    #expect(try await asked.failure().code == .interrupted)
    try await eventually("both are cancelled") {
      mount.store.calls.allSatisfy { $0.outcome == .failed(.cancelled) }
    }
    mount.store.hook = nil
    #expect(try await mount.lookup("f").node == nil)
  }

  @Test func repeatedFailuresAreAllRecordedButNotAllLogged() {
    var filter = RepetitionFilterProbe()
    #expect(filter.tell(at: 0) == 0)
    #expect(filter.tell(at: 1) == nil)
    #expect(filter.tell(at: 9) == nil)
    #expect(filter.tell(at: 10) == 2)
    #expect(filter.tell(at: 30) == 0)
  }
}
