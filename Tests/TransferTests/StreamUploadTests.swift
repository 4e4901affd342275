import Core
import Simulation
import Support
import Testing
import Transfer

private let part = UploadBench.partSize

@Suite struct StreamUploadTests {
  @Test(arguments: [0, 1, part - 1, part, part + 1, 2 * part, 9 * part + 17])
  func theObjectIsWhatCameOutOfThePipe(size: Int) async throws {
    let bench = try UploadBench(size: size)
    #expect(try await bench.streamOutcome() == nil)
    #expect(bench.isUploaded && bench.leftovers == [] && bench.store.openUploads == [])
    #expect(bench.sentParts == (size <= part ? [] : Array(1...((size - 1) / part + 1))))
    #expect(bench.store.calls.of(.putObject).count == (size <= part ? 1 : 0))
    #expect(bench.store.metadata(at: UploadBench.key)?.userMetadata == ["project": "blue"])
  }

  @Test func everyCallFailsOnceAndNothingIsLeft() async throws {
    for effect in CopyFaultTests.effects {
      let struck = try await exhaustFaults([effect]) { plan in
        let bench = try UploadBench(size: 5000, faults: plan)
        bench.store.place(UploadBench.key, .text("as it was"))
        let failure = try await bench.streamOutcome()
        let bytes = bench.store.bytes(at: UploadBench.key)
        #expect(bench.isUploaded || (failure != nil && bytes == Array("as it was".utf8)))
        let hasLostUpload = bench.store.calls.of(.createMultipartUpload).contains {
          $0.outcome != .succeeded
        }
        #expect(bench.store.openUploads.count <= (hasLostUpload ? 1 : 0))
        #expect(bench.store.openPartCount == 0)
      }
      #expect(struck >= 7, "\(effect)")
    }
  }

  @Test func aStreamThatIsStoppedLeavesNothing() async throws {
    let bench = try UploadBench(size: 0)
    let pipe = try Pipe()
    try pipe.writeEnd.write([UInt8](repeating: 1, count: 3 * part))
    let task = Task { await bench.streamOutcome(pipe.readEnd) }
    // It waits for more, which never comes.
    #expect(
      await eventually {
        bench.store.calls.of(.uploadPart).count { $0.outcome == .succeeded } == 3
      }
    )
    task.cancel()
    #expect(await task.value == .stopped)
    #expect(bench.store.openUploads == [] && bench.store.keys == [])
    withExtendedLifetime(pipe) {}
  }

  @Test func aStreamThatIsStoppedWhileItsUploadBeginsLeavesNothing() async throws {
    let bench = try UploadBench(size: 3 * part)
    let answer = Gate()
    bench.holdBeginning(behind: answer)
    let task = Task { try await bench.streamOutcome() }
    #expect(await eventually { bench.store.openUploads.count == 1 })
    task.cancel()
    answer.open()
    #expect(try await task.value == .stopped)
    #expect(bench.store.openUploads == [] && bench.store.keys == [])
  }

  @Test(arguments: ["stream", "file without a checkpoint"])
  func anUploadThatNobodyKnowsAndCannotBeGivenUpIsNamedInTheLog(source: String) async throws {
    let bench = try UploadBench(size: 3 * part)
    bench.fail(.uploadPart, from: 2)
    bench.fail(.abortMultipartUpload, from: 1)
    var request = bench.request
    request.checkpoint = nil
    let error =
      source == "stream" ? try await bench.streamOutcome() : await bench.outcome(request)
    #expect(error != nil)
    let left = try #require(bench.store.openUploads.first)
    #expect(bench.log.contains("the unfinished upload \(left.uploadID) of up/loaded is left"))
    #expect(bench.log.contains("give it up: AbortMultipartUpload \"up/loaded\": "))
  }

  @Test func asManyPartsAreHeldAsTheBudgetAllows() async throws {
    let bench = try UploadBench(size: 20 * part)
    let running = Lock((now: 0, most: 0))
    let areAllBegun = Gate()
    bench.store.hook = { call, moment in
      guard call.operation == .uploadPart else { return }
      switch moment {
      case .request:
        running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        await areAllBegun.wait()
        // So that one too many would be seen.
        for _ in 0..<20 { await Task.yield() }
      case .answer: running.withLock { $0.now -= 1 }
      case .body: break
      }
    }
    var request = bench.request
    request.parallel = 16
    request.memoryMax = 5 * part
    let task = Task { [request] in try await bench.streamOutcome(request) }
    #expect(await eventually { running.withLock { $0.most } == 4 })
    areAllBegun.open()
    #expect(try await task.value == nil)
    #expect(bench.isUploaded)
    #expect(running.withLock { $0.most } == 4, "and one more is read")
  }

  @Test func moreThanAllPartsTakeIsRefusedAndGivenUp() async throws {
    let bench = try UploadBench(size: 5 * part + 1)
    var request = bench.request
    request.limits.countMax = 5
    guard case .invalid(let sentence) = try await bench.streamOutcome(request) else {
      Issue.record("taken")
      return
    }
    #expect(sentence.contains("larger part size"))
    #expect(bench.store.openUploads == [] && bench.store.keys == [])
    // One byte less is just enough.
    let exact = try UploadBench(size: 5 * part)
    #expect(try await exact.streamOutcome(request) == nil)
    #expect(exact.isUploaded)
  }

  @Test func aStreamCannotHaveACheckpoint() async throws {
    let bench = try UploadBench(size: 1)
    let upload = StreamUpload(of: 0, bench.request, to: bench.store, in: bench.environment)
    await #expect(throws: TransferError.self) { _ = try await upload.run() }
    var request = bench.request
    request.checkpoint = nil
    request.partSize = StreamPlan.partSizeMax + 1
    request.limits = PartLimits()
    let large = StreamUpload(of: 0, request, to: bench.store, in: bench.environment)
    await #expect(throws: TransferError.self) { _ = try await large.run() }
    #expect(bench.store.calls.isEmpty)
  }
}
