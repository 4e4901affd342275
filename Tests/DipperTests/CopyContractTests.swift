import Core
import Dipper
import Simulation
import Support
import Testing

/// What a copy on the server does, and what it tells meanwhile.
@Suite struct CopyContractTests {
  @Test func nothingComesDownOrGoesUpAlsoBetweenBuckets() async throws {
    let bench = try LibraryBench()
    let copy = bench.other.copy(
      LibraryBench.key,
      from: bench.bucket,
      to: LibraryBench.targetKey,
      options: bench.copyOptions
    )
    #expect(await failure(of: copy) == nil)
    #expect(bench.isWhole(LibraryBench.targetKey, in: bench.otherStore))
    let calls = bench.store.calls + bench.otherStore.calls
    #expect(calls.receivedByteCount == 0 && calls.sentByteCount == 0)
    #expect(bench.otherStore.calls.of(.uploadPartCopy).count == 3)
  }

  @Test func betweenTwoStoresNothingIsCopied() async throws {
    let bench = try LibraryBench(size: 100)
    let elsewhere = Bucket(
      try BucketURL("tos://one", for: .bucket),
      store: bench.store,
      location: "tos://one at a simulation"
    )
    let copy = bench.bucket.copy(LibraryBench.key, from: elsewhere, to: LibraryBench.targetKey)
    let error = await failure(of: copy)
    #expect(error?.kind == .invalid && error?.description.contains("different stores") == true)
  }

  @Test func aSourceThatMayNotBeReadIsDenied() async throws {
    let bench = try LibraryBench()
    bench.fail(.headObject, from: 1, .accessDenied)
    let copy = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
    #expect(await failure(of: copy)?.kind == .denied)
    #expect(bench.names == [] && bench.store.openUploads == [])
  }

  @Test func eventsTellOfPartsAndNotOfBytes() async throws {
    let bench = try LibraryBench()
    let copy = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
    var steps: [String] = []
    for await event in copy.events {
      // Every kind of event there is: none has a count of bytes that grows.
      switch event {
      case .started(let size, let parts, let present):
        steps.append("started \(size ?? -1) \(parts) \(present)")
      case .startedOver: steps.append("over")
      case .multipartUploadCreated(let id): steps.append("created \(!id.isEmpty)")
      case .multipartUploadFailed: steps.append("not created")
      case .partSucceeded(let part): steps.append("part \(part.number) \(part.etag != nil)")
      case .partFailed: steps.append("failed")
      case .partAborted: steps.append("aborted")
      case .completed(let object): steps.append("completed \(object.key)")
      case .completionFailed: steps.append("not completed")
      }
    }
    #expect(
      steps == [
        "created true", "started \(bench.content.size) 3 0", "part 1 true", "part 2 true",
        "part 3 true", "completed copied",
      ]
    )
  }

  @Test func aPartThatFailsIsToldWithItsError() async throws {
    let bench = try LibraryBench()
    bench.fail(.uploadPartCopy, from: 2, .accessDenied)
    let copy = bench.bucket.copy(LibraryBench.key, to: "copied", options: bench.copyOptions)
    var failed: [Int: DipperError.Kind] = [:]
    for await event in copy.events {
      if case .partFailed(let part, let error) = event { failed[part.number] = error.kind }
    }
    #expect(failed == [2: .denied])
    #expect(await failure(of: copy)?.kind == .denied)
  }

  @Test func theResultHasTheTagOfTheCopy() async throws {
    let bench = try LibraryBench()
    let object = try await bench.bucket.copy(
      LibraryBench.key,
      to: "copied",
      options: bench.copyOptions
    ).value
    let stored = try #require(bench.store.metadata(at: ObjectKey("copied")))
    #expect(object.etag != nil && object.etag == stored.version.etag?.value)
    #expect(object.size == bench.content.size && object.key == "copied")
  }

  @Test func aPlainCopyReplacesMetadataWhereAsked() async throws {
    let bench = try LibraryBench(size: 100)
    bench.store.place(
      PutRequest(key: LibraryBench.key.objectKey, userMetadata: ["old": "1"]),
      bench.content
    )
    var options = CopyOptions()
    _ = try await bench.bucket.copyObject(LibraryBench.key, to: "kept", options: options)
    options.metadata = .replace(ObjectFacts(metadata: ["new-meta-key": "new-meta-value"]))
    _ = try await bench.bucket.copyObject(LibraryBench.key, to: "replaced", options: options)
    func metadata(_ key: String) -> [String: String]? {
      bench.store.metadata(at: ObjectKey(key))?.userMetadata
    }
    #expect(metadata("kept") == ["old": "1"])
    #expect(metadata("replaced") == ["new-meta-key": "new-meta-value"])
    #expect(bench.store.calls.of(.copyObject).count == 2, "one request each")
  }

  @Test func partsAreCopiedByHandFromTheFirstAndCompletedWithUnquotedTags() async throws {
    let bench = try LibraryBench()
    let upload = try await bench.bucket.createMultipartUpload("by hand")
    let cut = LibraryBench.partSize
    let first = try await upload.copyPart(1, from: LibraryBench.key, range: 0..<cut)
    let rest = cut..<bench.content.size
    let second = try await upload.copyPart(2, from: LibraryBench.key, range: rest)
    #expect(first.number == 1 && !first.etag.hasPrefix("\""))
    #expect(try await upload.parts.map(\.number) == [1, 2])
    // As an answer's header spells the tag, in quotes.
    let quoted = MultipartUpload.Part(number: 2, etag: "\"\(second.etag)\"", size: rest.count)
    #expect(quoted.etag == second.etag)
    let object = try await upload.complete([quoted, first])
    #expect(bench.isWhole("by hand", in: bench.store) && object.etag != nil)
    #expect(bench.store.openUploads == [])
  }

  @Test func partsByHandAreGivenUpWithTheirUpload() async throws {
    let bench = try LibraryBench()
    let upload = try await bench.bucket.createMultipartUpload("by hand")
    _ = try await upload.copyPart(1, from: LibraryBench.key, range: 0..<LibraryBench.partSize)
    #expect(bench.store.openPartCount == 1)
    try await bench.bucket.multipartUpload("by hand", id: upload.id).abort()
    #expect(bench.store.openUploads == [] && bench.store.openPartCount == 0)
  }
}
