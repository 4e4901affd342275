import Core
import Simulation
import Support
import Testing
import Transfer

private let part = CopyBench.partSize

@Suite struct ObjectCopyTests {
  @Test(arguments: [0, 1, part, part + 1, 5 * part + 17])
  func theCopyIsTheObjectAndNothingElseIsLeft(size: Int) async throws {
    let bench = try CopyBench(size: size)
    let stored = try await bench.copy(bench.request).run()
    #expect(bench.isCopied)
    #expect(stored.key == CopyBench.targetKey && stored.size == size)
    #expect(stored.etag == bench.target.metadata(at: CopyBench.targetKey)?.version.etag)
    #expect(bench.leftovers == [])
    #expect(bench.target.openUploads == [])
    #expect(bench.copiedParts.count == (size <= part ? 0 : (size - 1) / part + 1))
  }

  @Test func noByteComesThroughTheClient() async throws {
    let bench = try CopyBench(size: 5 * part + 17)
    _ = try await bench.copy(bench.request).run()
    for store in [bench.source, bench.target] {
      #expect(store.calls.receivedByteCount == 0 && store.calls.sentByteCount == 0)
      #expect(store.calls.of(.getObject).isEmpty)
    }
    #expect(
      bench.target.calls.of(.uploadPartCopy).reduce(0) { $0 + $1.copiedByteCount }
        == 5 * part + 17
    )
  }

  @Test(arguments: [true, false]) func c4WhatBelongsToTheObjectGoesAlong(inParts: Bool) async throws
  {
    let bench = try CopyBench(size: 3 * part)
    var request = bench.request
    request.wholeSizeMax = inParts ? 0 : nil
    _ = try await bench.copy(request).run()
    #expect(bench.copiedParts.isEmpty != inParts)
    let source = try #require(bench.source.metadata(at: CopyBench.sourceKey))
    let target = try #require(bench.target.metadata(at: CopyBench.targetKey))
    #expect(target.headers == source.headers)
    #expect(target.headers.contentType == "video/mp4" && target.headers.cacheControl == "no-store")
    #expect(target.userMetadata == ["project": "blue"])
    #expect(target.storageClass == "STANDARD_IA")
    #expect(bench.target.tags(at: CopyBench.targetKey) == ["team": "film", "year": "2026"])
  }

  @Test(arguments: [true, false])
  func replacedFactsLeaveNothingOfTheSources(inParts: Bool) async throws {
    let bench = try CopyBench(size: 3 * part)
    var request = bench.request
    request.wholeSizeMax = inParts ? 0 : nil
    request.facts = .replaced(
      ContentHeaders(contentType: "text/plain"),
      userMetadata: ["new": "fact"]
    )
    request.storageClass = "STANDARD"
    _ = try await bench.copy(request).run()
    let target = try #require(bench.target.metadata(at: CopyBench.targetKey))
    #expect(target.headers == ContentHeaders(contentType: "text/plain"))
    #expect(target.userMetadata == ["new": "fact"] && target.storageClass == "STANDARD")
    #expect(bench.target.tags(at: CopyBench.targetKey) == [:])
    #expect(bench.isCopied)
  }

  @Test func aStoreWithoutTagsLosesNone() async throws {
    let bench = try CopyBench(size: 3 * part)
    bench.fail(.getObjectTagging, from: 1, .unsupported)
    #expect(await bench.outcome() == nil)
    #expect(bench.isCopied)
  }

  @Test func tagsThatMayNotBeReadAreNotLostSilently() async throws {
    let bench = try CopyBench(size: 3 * part)
    bench.fail(.getObjectTagging, from: 1, .accessDenied)
    guard case .store(let error) = await bench.outcome() else {
      Issue.record("copied without its tags")
      return
    }
    #expect(error.kind == .accessDenied && error.operation == .getObjectTagging)
    #expect(bench.target.keys == [] && bench.target.openUploads == [])
  }

  @Test func everyPartNamesTheVersionThatTheCopyBeganWith() async throws {
    let bench = try CopyBench(size: 4 * part)
    _ = try await bench.copy(bench.request).run()
    let parts = bench.target.calls.of(.uploadPartCopy)
    #expect(parts.count == 4 && parts.allSatisfy { $0.ifMatch == bench.version.etag })
  }

  @Test func c4ASourceThatChangesFailsTheCopyAndLeavesTheTarget() async throws {
    let bench = try CopyBench(size: 6 * part)
    bench.target.place(CopyBench.targetKey, .text("as it was"))
    bench.target.hook = { call, moment in
      guard call.partNumber == 4, moment == .request else { return }
      bench.source.place(CopyBench.sourceKey, .words(size: 6 * part, seed: 9))
    }
    guard case .sourceChanged(let was, _) = await bench.outcome() else {
      Issue.record("the change was not noticed")
      return
    }
    #expect(was.etag == bench.version.etag)
    #expect(bench.target.bytes(at: CopyBench.targetKey) == Array("as it was".utf8))
    // The same request says so again, and begins nothing.
    bench.target.hook = nil
    bench.target.forgetCalls()
    guard case .sourceChanged = await bench.outcome() else {
      Issue.record("versions were mixed")
      return
    }
    #expect(bench.copiedParts == [])
    #expect(bench.target.openUploads.count == 1, "recorded, and not left unknown")
    // Starting over gives the old upload up and copies what is there now.
    var again = bench.request
    again.forcesRestart = true
    _ = try await bench.copy(again).run()
    #expect(
      bench.target.bytes(at: CopyBench.targetKey)
        == SimulatedContent.words(size: 6 * part, seed: 9).allBytes
    )
    #expect(bench.target.openUploads == [] && bench.leftovers == [])
  }

  @Test func aStoreThatIgnoresTheConditionOfPartsMixesNothing() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.obeysCopySourceCondition = false
    let bench = try CopyBench(size: 6 * part, behaviour: behaviour)
    bench.target.hook = { call, moment in
      guard call.partNumber == 4, moment == .request else { return }
      bench.source.place(CopyBench.sourceKey, .words(size: 6 * part, seed: 9))
    }
    guard case .sourceChanged = await bench.outcome() else {
      Issue.record("versions were mixed")
      return
    }
    #expect(bench.target.keys == [])
  }

  @Test func aSourceThatIsGoneLeavesNothingBehind() async throws {
    let bench = try CopyBench(size: 6 * part)
    bench.target.hook = { call, moment in
      if call.partNumber == 4, moment == .request { bench.source.remove(CopyBench.sourceKey) }
    }
    guard case .store(let error) = await bench.outcome() else {
      Issue.record("copied from nothing")
      return
    }
    #expect(error.kind == .notFound)
    #expect(bench.target.openUploads == [] && bench.target.keys == [])
    #expect(bench.leftovers == [])
  }

  @Test func theUploadIsOnTheDiskBeforeTheFirstPart() async throws {
    let bench = try CopyBench(size: 4 * part)
    let texts = Lock<[String]>([])
    bench.target.hook = { call, moment in
      guard call.operation == .uploadPartCopy, moment == .request else { return }
      let text = try? bench.directory.bytes(of: "checkpoint")
      texts.withLock { $0.append(String(decoding: text ?? [], as: UTF8.self)) }
    }
    _ = try await bench.copy(bench.request).run()
    let all = texts.withLock { $0 }
    #expect(all.count == 4)
    for text in all {
      #expect(text.contains("upload-id upload-") && text.contains("target-key copies/c\n"))
    }
  }

  @Test func oneRequestCopiesWhatTheStoreTakesAtOnce() async throws {
    let bench = try CopyBench(size: 6 * part)
    var request = bench.request
    request.wholeSizeMax = nil
    _ = try await bench.copy(request).run()
    #expect(
      bench.source.calls.map(\.operation) == [.headObject]
        && bench.target.calls.map(\.operation) == [.copyObject]
    )
    #expect(bench.isCopied)
    var behaviour = SimulatedStore.Behaviour()
    behaviour.copySizeMax = 4 * part
    let strict = try CopyBench(size: 6 * part, behaviour: behaviour)
    _ = try await strict.copy(request).run()
    #expect(strict.copiedParts == Array(1...6) && strict.isCopied)
  }

  @Test func withinABucketTheBucketIsNotNamed() async throws {
    let bench = try CopyBench(size: 3 * part)
    var request = bench.request
    request.sourceBucket = nil
    request.targetStoreName = bench.source.name
    let copy = ObjectCopy(request, from: bench.source, to: bench.source, in: bench.environment)
    _ = try await copy.run()
    #expect(bench.source.bytes(at: CopyBench.targetKey) == bench.content.allBytes)
  }

  @Test func anObjectIsNotCopiedOntoItself() async throws {
    let bench = try CopyBench(size: 3 * part)
    var request = bench.request
    request.sourceBucket = nil
    request.targetStoreName = bench.source.name
    request.targetKey = CopyBench.sourceKey
    let copy = ObjectCopy(request, from: bench.source, to: bench.source, in: bench.environment)
    guard case .failure(.invalid(let sentence)) = await result(of: copy) else {
      Issue.record("not refused")
      return
    }
    #expect(sentence.contains("the same object"))
    #expect(bench.source.calls.isEmpty && bench.leftovers == [])
    // With other facts it is how metadata is changed.
    request.facts = .replaced(ContentHeaders(), userMetadata: ["new": "fact"])
    _ = try await ObjectCopy(request, from: bench.source, to: bench.source, in: bench.environment)
      .run()
    #expect(bench.source.metadata(at: CopyBench.sourceKey)?.userMetadata == ["new": "fact"])
    #expect(bench.source.bytes(at: CopyBench.sourceKey) == bench.content.allBytes)
  }

  @Test func whatMayNotBeReplacedIsNotReplaced() async throws {
    for inParts in [true, false] {
      let bench = try CopyBench(size: 3 * part)
      bench.target.place(CopyBench.targetKey, .text("as it was"))
      var request = bench.request
      request.condition = .ifAbsent
      request.wholeSizeMax = inParts ? 0 : nil
      guard case .targetChanged(let error) = await bench.outcome(request) else {
        Issue.record("replaced, in parts: \(inParts)")
        continue
      }
      #expect(error.kind == .alreadyExists)
      #expect(bench.target.bytes(at: CopyBench.targetKey) == Array("as it was".utf8))
    }
  }

  @Test func aChecksumThatIsWrongIsNoticedAndForgotten() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.keepsChecksums = true
    behaviour.obeysCopySourceCondition = false
    let bench = try CopyBench(size: 4 * part, behaviour: behaviour)
    let replaced = Lock(false)
    let impostor = bench.impostor()
    // Other bytes come and go between two looks, and the store doesn't look at the condition.
    bench.target.hook = { call, moment in
      guard call.partNumber == 2, moment == .request else { return }
      guard
        !replaced.withLock({ was in
          defer { was = true }
          return was
        })
      else { return }
      bench.target.adjoin(impostor, as: "source")
    }
    guard case .wrongChecksum(let expected, let actual) = await bench.outcome() else {
      Issue.record("wrong bytes were taken")
      return
    }
    #expect(expected == bench.content.crc64 && actual != expected)
    #expect(bench.leftovers == [], "the next run begins anew")
    bench.target.adjoin(bench.source, as: "source")
    bench.target.hook = nil
    #expect(await bench.outcome() == nil)
    #expect(bench.isCopied)
  }

  @Test func partsBeyondTenThousandGrow() async throws {
    let bench = try CopyBench(size: 10_001 * 5 << 20)
    var request = bench.request
    request.partSize = 5 << 20
    request.parallel = 64
    let stored = try await bench.copy(request).run()
    #expect(stored.size == 10_001 * 5 << 20)
    #expect(bench.copiedParts == Array(1...8335))
    let copied = try #require(bench.target.content(at: CopyBench.targetKey))
    var random = Seeded(8)
    for _ in 0..<2000 {
      let offset = Int.random(in: 0..<(copied.size - 16), using: &random)
      let range = offset..<offset + 16
      #expect(copied.bytes(range) == bench.content.bytes(range))
    }
  }

  @Test func soManyPartsAreCopiedAtATime() async throws {
    let bench = try CopyBench(size: 40 * part)
    let running = Lock((now: 0, most: 0))
    bench.target.hook = { call, moment in
      guard call.operation == .uploadPartCopy else { return }
      switch moment {
      case .request:
        running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        for _ in 0..<20 { await Task.yield() }
      case .answer: running.withLock { $0.now -= 1 }
      case .body: break
      }
    }
    var request = bench.request
    request.parallel = 7
    _ = try await bench.copy(request).run()
    #expect(running.withLock { $0.most } == 7)
    request.targetKey = ObjectKey("again")
    request.parallel = -3
    running.withLock { $0 = (0, 0) }
    _ = try await bench.copy(request).run()
    #expect(running.withLock { $0.most } == 1)
  }

  @Test func partsKeepToTheRate() async throws {
    let clock = SimulatedClock()
    let bench = try CopyBench(size: 4 * part, time: clock)
    var request = bench.request
    request.parallel = 1
    request.rateMax = part  // one part a second
    let begin = clock.now
    let starts = Lock<[Duration]>([])
    bench.target.hook = { call, moment in
      guard call.operation == .uploadPartCopy, moment == .request else { return }
      starts.withLock { $0.append(clock.now - begin) }
    }
    let environment = TransferEnvironment(
      scheduler: bench.environment.scheduler,
      timers: Timers(time: clock),
      time: clock
    )
    let copy = ObjectCopy(request, from: bench.source, to: bench.target, in: environment)
    let task = Task { await result(of: copy) }
    for part in 1...3 {
      #expect(await eventually { starts.withLock { $0.count } == part })
      clock.advance(by: .seconds(1))
    }
    #expect((try? await task.value.get()) != nil)
    #expect(starts.withLock { $0 } == [.zero, .seconds(1), .seconds(2), .seconds(3)])
  }

  @Test func eventsTellEachStep() async throws {
    let bench = try CopyBench(size: 3 * part)
    let events = Events()
    _ = try await bench.copy(bench.request, report: events.report).run()
    let all = events.all
    guard case .createdUpload(let reference) = all.first,
      case .started(size: 3 * part, partCount: 3, presentByteCount: 0) = all.dropFirst().first,
      case .completed(let stored) = all.last
    else {
      Issue.record("\(all)")
      return
    }
    #expect(reference.key == CopyBench.targetKey && stored.size == 3 * part)
    let parts = all.compactMap { event -> ByteRange? in
      if case .partFinished(_, let range) = event { range } else { nil }
    }
    #expect(Set(parts) == Set((0..<3).map { ByteRange(offset: $0 * part, count: part) }))
  }

  @Test(arguments: [-1, 1, 4 << 20, (5 << 30) + 1])
  func aPartSizeOutsideTheLimitsIsRefusedBeforeAnythingIsAsked(size: Int) async throws {
    let bench = try CopyBench(size: 3 * part)
    var request = bench.request
    request.limits = PartLimits()
    request.partSize = size
    guard case .invalid = await bench.outcome(request) else {
      Issue.record("taken: \(size)")
      return
    }
    #expect(bench.source.calls.isEmpty && bench.target.calls.isEmpty && bench.leftovers == [])
  }
}

extension CopyBench {
  /// A bucket that has other bytes at the source's key.
  func impostor() -> SimulatedStore {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.keepsChecksums = true
    let store = SimulatedStore(time: SystemClock(), behaviour: behaviour)
    store.place(Self.sourceKey, .words(size: content.size, seed: 77))
    return store
  }
}

/// What came of a copy.
func result(of copy: ObjectCopy) async -> Result<StoredObject, TransferError> {
  do throws(TransferError) {
    return .success(try await copy.run())
  } catch {
    return .failure(error)
  }
}
