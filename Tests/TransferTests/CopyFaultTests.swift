import Core
import Simulation
import Support
import Testing
import Transfer

/// Each call of a copy fails once, in each way there is, and each step of its checkpoint.
@Suite struct CopyFaultTests {
  /// How the transport can fail, from "not done" to "done, but nobody knows".
  static let effects: [Fault.Effect] = [
    .fail(.unreachable), .fail(.serverFailure), .fail(.throttled), .fail(.timedOut),
    .fail(.invalidAnswer), .fail(.accessDenied), .fail(.badCredentials), .fail(.conflict),
    .loseAnswer(.unreachable), .loseAnswer(.timedOut), .loseAnswer(.serverFailure),
    .loseAnswer(.invalidAnswer),
  ]

  @Test(arguments: [(false, false), (true, false), (false, true)])
  func everyCallFailsOnceInEveryWay(tagsAreDigests: Bool, keepsChecksums: Bool) async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.tagsAreDigests = tagsAreDigests
    behaviour.keepsChecksums = keepsChecksums
    for effect in Self.effects {
      let struck = try await exhaustFaults([effect]) { plan in
        let bench = try CopyBench(size: 5000, behaviour: behaviour, faults: plan)
        bench.target.place(CopyBench.targetKey, .text("as it was"))
        var request = bench.request
        request.partSize = 1000
        let failure = await bench.outcome(request)
        let creations = bench.target.calls.of(.createMultipartUpload)
        let hasLostUpload = creations.contains { $0.outcome != .succeeded }
        if failure == nil {
          #expect(bench.isCopied)
        } else {
          let bytes = bench.target.bytes(at: CopyBench.targetKey)
          #expect(bytes == Array("as it was".utf8) || bench.isCopied)
          let text = try bench.directory.bytes(of: "checkpoint") ?? []
          let known = (try? UploadCheckpoint(parsing: text))?.upload.reference
          let unknown = bench.target.openUploads.filter { $0 != known }
          #expect(unknown.count <= (hasLostUpload ? 1 : 0), "\(effect)")
          #expect(await bench.outcome(request) == nil)
          #expect(bench.isCopied)
        }
        #expect(bench.leftovers == [])
        #expect(bench.target.openUploads.count <= (hasLostUpload ? 1 : 0))
        #expect(bench.target.openPartCount == 0)
      }
      #expect(struck >= 9, "\(effect)")
    }
  }

  @Test func aLostCompletionIsSettledAndNotRepeated() async throws {
    for behaviour in Self.behaviours {
      let bench = try CopyBench(size: 5000, behaviour: behaviour)
      bench.faults.add(
        Fault(.loseAnswer(.unreachable), operation: .completeMultipartUpload)
      )
      var request = bench.request
      request.partSize = 1000
      #expect(await bench.outcome(request) == nil)
      #expect(bench.isCopied && bench.leftovers == [])
      #expect(bench.target.calls.of(.completeMultipartUpload).count == 1)
    }
  }

  @Test func aCompletionThatWasNotDoneIsDoneAgain() async throws {
    for behaviour in Self.behaviours {
      let bench = try CopyBench(size: 5000, behaviour: behaviour)
      // The same bytes are there already: only the store knows that the upload is not done.
      bench.target.place(CopyBench.targetKey, bench.content)
      bench.faults.add(Fault(.fail(.unreachable), operation: .completeMultipartUpload))
      var request = bench.request
      request.partSize = 1000
      #expect(await bench.outcome(request) == nil)
      #expect(bench.target.calls.of(.completeMultipartUpload).count == 2)
      #expect(bench.target.metadata(at: CopyBench.targetKey)?.userMetadata == ["project": "blue"])
    }
  }

  @Test func aCompletionThatNobodySawIsFoundByTheNextRun() async throws {
    for behaviour in Self.behaviours.dropFirst() {
      let bench = try CopyBench(size: 5000, behaviour: behaviour)
      bench.faults.add(
        Fault(.loseAnswer(.unreachable), operation: .completeMultipartUpload)
      )
      // Nor does the store answer the questions about it, as when the process is killed there.
      for operation in [StoreOperation.listParts, .headObject] {
        let first = operation == .headObject ? 3 : 1
        bench.faults.add(
          Fault(.fail(.unreachable), operation: operation, callNumber: first, callCount: 99)
        )
      }
      var request = bench.request
      request.partSize = 1000
      guard case .store = await bench.outcome(request) else {
        Issue.record("taken for done")
        continue
      }
      #expect(bench.leftovers == ["checkpoint"])
      bench.faults.clear()
      bench.target.forgetCalls()
      #expect(await bench.outcome(request) == nil)
      #expect(bench.copiedParts == [], "nothing is copied again")
      #expect(bench.target.calls.of(.createMultipartUpload).isEmpty)
      #expect(bench.isCopied && bench.leftovers == [])
    }
  }

  /// Opaque tags, tags that are digests, checksums.
  private static let behaviours: [SimulatedStore.Behaviour] = {
    var digests = SimulatedStore.Behaviour()
    digests.tagsAreDigests = true
    var checksums = SimulatedStore.Behaviour()
    checksums.keepsChecksums = true
    return [SimulatedStore.Behaviour(), digests, checksums]
  }()

  @Test func everyWriteOfTheCheckpointFailsOnce() async throws {
    for step in [PartFile.DiskStep.writeCheckpoint, .appendCheckpoint] {
      for number in 1...6 {
        let bench = try CopyBench(size: 5000)
        var request = bench.request
        request.partSize = 1000
        let disk = FailingDisk(step, failing: number...number)
        let failure = await bench.outcome(request, diskFaults: disk.faults)
        if failure != nil {
          #expect(step == .writeCheckpoint && number == 1)
          #expect(
            failure
              == .disk(
                DiskFailure(errno: 28, action: "writeCheckpoint", reason: "No space left on device")
              )
          )
          #expect(bench.target.openUploads == [], "an upload that can't be recorded is given up")
          #expect(bench.target.keys == [])
        } else {
          #expect(bench.isCopied)
        }
        #expect(bench.leftovers == [])
      }
    }
  }

  @Test func aLineThatCouldNotBeWrittenCostsItsPartOnly() async throws {
    let bench = try CopyBench(size: 5000)
    var request = bench.request
    request.partSize = 1000
    request.parallel = 1
    bench.fail(.uploadPartCopy, from: 5)
    let disk = FailingDisk(.appendCheckpoint, failing: 2...2)
    #expect(await bench.outcome(request, diskFaults: disk.faults) != nil)
    bench.faults.clear()
    bench.target.forgetCalls()
    #expect(await bench.outcome(request) == nil)
    #expect(bench.copiedParts == [2, 5] && bench.isCopied)
  }

  @Test func refusedPartsEndTheOthersAtOnce() async throws {
    for kind in [StoreError.Kind.accessDenied, .invalidRequest] {
      let bench = try CopyBench(size: 50 * 1000)
      var request = bench.request
      request.partSize = 1000
      bench.target.hook = { call, moment in
        guard let number = call.partNumber, number != 2, moment == .request else { return }
        await Gate().wait()
      }
      bench.faults.add(Fault(.fail(kind), operation: .uploadPartCopy))
      let events = Events()
      guard case .store(let error) = await bench.outcome(request, report: events.report) else {
        Issue.record("\(kind) was passed over")
        continue
      }
      #expect(error.kind == kind)
      #expect(bench.copiedParts.count == 3, "none is begun any more")
      #expect(
        events.count {
          if case .partAborted = $0 { true } else { false }
        } == 2
      )
      #expect(bench.leftovers == ["checkpoint"] && bench.target.openUploads.count == 1)
    }
  }

  @Test func aPartThatFailsLetsTheOthersFinish() async throws {
    let bench = try CopyBench(size: 3000)
    var request = bench.request
    request.partSize = 1000
    let gate = Gate()
    bench.target.hook = { call, moment in
      guard call.operation == .uploadPartCopy, moment == .request else { return }
      if call.partNumber != 1 { await gate.wait() }
    }
    bench.faults.add(Fault(.fail(.unreachable), operation: .uploadPartCopy))
    let events = Events()
    let task = Task { await bench.outcome(request, report: events.report) }
    #expect(
      await eventually {
        events.all.contains {
          if case .partFailed(1, _, _) = $0 { true } else { false }
        }
      }
    )
    gate.open()
    #expect(await task.value != nil)
    let finished = bench.target.calls.of(.uploadPartCopy).filter { $0.outcome == .succeeded }
    #expect(finished.count == 2)
  }
}
