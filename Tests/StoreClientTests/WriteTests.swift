import Core
import HTTP
import StoreClient
import Support
import Testing

/// Writes whose answer gets lost: the store must be asked, and nothing taken for done on a guess.
@Suite struct WriteTests {
  private let key = ObjectKey("k")
  private let body = BodySource.bytes(Array("hello".utf8))
  // MD5 of "hello".
  private let tag = "\"5d41402abc4b2a76b9719d911017c592\""

  private func head(_ etag: String, size: Int = 5) -> ScriptedAnswer {
    .answer(
      200,
      [
        "ETag": etag, "Content-Length": "\(size)",
        "Last-Modified": "Mon, 30 Nov 2026 08:30:00 GMT",
      ]
    )
  }

  private func put(
    _ bench: Bench,
    _ condition: WriteCondition,
    retries: Int? = nil
  ) async throws(StoreError) -> ObjectMetadata {
    try await bench.store.put(
      PutRequest(key: key, condition: condition, contentType: "text/plain"),
      body: body,
      context: bench.context(retries: retries)
    )
  }

  @Test func putTellsWhatItStored() async throws {
    let bench = try Bench([.answer(200, ["ETag": tag])])
    let metadata = try await put(bench, .none)
    #expect(metadata.version.etag == ETag(tag))
    #expect(metadata.size == 5)
    #expect(metadata.headers.contentType == "text/plain")
    #expect(bench.metrics.snapshot.sentByteCount == 5)
    let request = bench.client.requests[0]
    #expect(request.method == "PUT")
    // Without TLS the signature covers the bytes.
    #expect(
      request.fields["x-amz-content-sha256"]
        == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    )
  }

  @Test(arguments: [
    ScriptedAnswer.failure(.interrupted), .error(500, "InternalError"), .answer(502),
    .failure(.stalled),
  ])
  func lostPutThatIsOursIsDone(_ loss: ScriptedAnswer) async throws {
    // The first try was stored, its answer lost; the repeat finds the object.
    let bench = try Bench([loss, .error(412, "PreconditionFailed"), head(tag)])
    let metadata = try await put(bench, .ifAbsent)
    #expect(metadata.version.etag == ETag(tag))
    #expect(bench.methods == ["PUT", "PUT", "HEAD"])
  }

  @Test func lostPutOfAnotherClientIsNotOurs() async throws {
    let bench = try Bench([
      .failure(.interrupted), .error(412, "PreconditionFailed"), head("\"someone\""),
    ])
    let error = await Bench.failure { () throws(StoreError) in try await put(bench, .ifAbsent) }
    #expect(error?.kind == .alreadyExists)
  }

  @Test func aRefusalThatMayBeOfOurOwnWorkIsNotToldAsAnothers() async throws {
    // Nobody says whose object the repeat has found.
    let bench = try Bench([
      .failure(.interrupted), .error(412, "PreconditionFailed"), .failure(.interrupted),
    ])
    let error = await Bench.failure { () throws(StoreError) in
      try await put(bench, .ifAbsent, retries: 1)
    }
    #expect(error?.kind == .unreachable)
  }

  @Test func sameTagOfAnotherSizeIsNotOurs() async throws {
    let bench = try Bench([
      .failure(.interrupted), .error(412, "PreconditionFailed"), head(tag, size: 6),
    ])
    let error = await Bench.failure { () throws(StoreError) in try await put(bench, .ifAbsent) }
    #expect(error?.kind == .alreadyExists)
  }

  @Test func refusedPutIsNotLookedInto() async throws {
    // The very first answer says that something is there: it can't be ours, even with our bytes.
    let bench = try Bench([.error(412, "PreconditionFailed"), head(tag)])
    let error = await Bench.failure { () throws(StoreError) in try await put(bench, .ifAbsent) }
    #expect(error?.kind == .alreadyExists)
    #expect(bench.methods == ["PUT"])
    #expect(bench.store.capabilities.hasConditionalCreate == true)
  }

  @Test func unsentPutIsNotLookedInto() async throws {
    let bench = try Bench([.failure(.unreachable), .error(412, "PreconditionFailed"), head(tag)])
    let error = await Bench.failure { () throws(StoreError) in try await put(bench, .ifAbsent) }
    #expect(error?.kind == .alreadyExists)
    #expect(bench.methods == ["PUT", "PUT"])
  }

  @Test func lastTryThatWasLostIsLookedInto() async throws {
    let bench = try Bench([.failure(.interrupted), head(tag)])
    _ = try await put(bench, .ifMatch(ETag("old")), retries: 0)
    #expect(bench.methods == ["PUT", "HEAD"])
  }

  @Test func storeWithoutConditionsIsFoundOut() async throws {
    let bench = try Bench([.error(501, "NotImplemented")])
    #expect(bench.store.capabilities.hasConditionalCreate == nil)
    let error = await Bench.failure { () throws(StoreError) in try await put(bench, .ifAbsent) }
    #expect(error?.kind == .unsupported)
    #expect(bench.store.capabilities.hasConditionalCreate == false)
    #expect(bench.store.capabilities.hasConditionalReplace == nil)
  }

  @Test func lostDeleteIsDoneIfNothingIsThere() async throws {
    let bench = try Bench([
      .failure(.interrupted), .error(412, "PreconditionFailed"), .answer(404),
    ])
    try await bench.store.delete(key, ifMatch: ETag("v1"), context: bench.context())
    #expect(bench.methods == ["DELETE", "DELETE", "HEAD"])
  }

  @Test func lostDeleteIsNotDoneIfSomethingIsThere() async throws {
    let bench = try Bench([
      .failure(.interrupted), .error(412, "PreconditionFailed"), head("\"v2\""),
    ])
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.delete(key, ifMatch: ETag("v1"), context: bench.context())
    }
    #expect(error?.kind == .preconditionFailed)
  }

  // Completing

  private let parts = [
    UploadedPart(partNumber: 2, etag: ETag("7d793037a0760186574b0282f2f435e7")),
    UploadedPart(partNumber: 1, etag: ETag("5d41402abc4b2a76b9719d911017c592")),
  ]
  private func complete(_ bench: Bench) async throws(StoreError) -> CompletedUpload {
    try await bench.store.completeMultipartUpload(
      UploadReference(key: key, uploadID: "U"),
      parts: parts,
      condition: .ifAbsent,
      context: bench.context()
    )
  }

  private static let completed = ScriptedAnswer.answer(
    200,
    text: """
        <CompleteMultipartUploadResult><ETag>"done-2"</ETag></CompleteMultipartUploadResult>
      """
  )

  @Test func completingReturnsTheTag() async throws {
    let bench = try Bench([Self.completed])
    #expect(try await complete(bench).etag == ETag("done-2"))
  }

  @Test func errorInsideTwoHundredIsAnError() async throws {
    let bench = try Bench([
      .answer(200, text: "<Error><Code>InternalError</Code></Error>"), Self.completed,
    ])
    #expect(try await complete(bench).etag == ETag("done-2"))
    #expect(bench.client.requests.count == 2)
  }

  @Test func lostCompletionIsFoundByTheTagOfItsParts() async throws {
    // MD5 of the two digests in the order of their numbers.
    let expected = "065947336a2f2a95ba8899f3675c3be6-2"
    let bench = try Bench([
      .failure(.interrupted), .error(404, "NoSuchUpload"), head("\"\(expected)\"", size: 10),
    ])
    #expect(try await complete(bench).etag == ETag(expected))
    #expect(bench.methods == ["POST", "POST", "HEAD"])
  }

  @Test func lostCompletionOfAnotherTagFails() async throws {
    let bench = try Bench([
      .failure(.interrupted), .error(404, "NoSuchUpload"), head("\"x-2\"", size: 10),
    ])
    let error = await Bench.failure { () throws(StoreError) in try await complete(bench) }
    #expect(error?.kind == .noSuchUpload)
  }

  @Test func unknownUploadIsNotLookedInto() async throws {
    let bench = try Bench([.error(404, "NoSuchUpload")])
    let error = await Bench.failure { () throws(StoreError) in try await complete(bench) }
    #expect(error?.kind == .noSuchUpload)
    #expect(bench.methods == ["POST"])
  }

  // Copying

  private func copy(
    _ bench: Bench,
    _ condition: WriteCondition = .none
  ) async throws(StoreError) -> ObjectMetadata {
    try await bench.store.copy(
      CopyRequest(
        source: CopySource(key: ObjectKey("s"), ifMatch: ETag("src")),
        target: PutRequest(key: key, condition: condition)
      ),
      context: bench.context()
    )
  }

  private static let copied = ScriptedAnswer.answer(
    200,
    text: "<CopyObjectResult><ETag>\"src\"</ETag></CopyObjectResult>"
  )

  @Test func copyTellsWhatItMade() async throws {
    let bench = try Bench([Self.copied, head("\"src\"", size: 99)])
    let metadata = try await copy(bench)
    #expect(metadata.size == 99)
    #expect(bench.client.requests[0].fields["x-amz-copy-source"] == "data/s")
    #expect(bench.client.requests[0].fields["x-amz-copy-source-if-match"] == "\"src\"")
  }

  private func copyOfTheKnown(
    _ bench: Bench,
    crc64: UInt64? = nil
  ) async throws(StoreError) -> ObjectMetadata {
    var known = ObjectMetadata(
      version: ObjectVersion(
        key: ObjectKey("s"),
        etag: ETag("src"),
        size: 99,
        lastModified: Timestamp(seconds: 5)
      )
    )
    known.headers.contentType = "text/x"
    known.userMetadata = ["a": "b"]
    known.crc64 = crc64
    return try await bench.store.copy(
      CopyRequest(
        source: CopySource(key: ObjectKey("s"), ifMatch: ETag("src")),
        target: PutRequest(key: key, storageClass: "COLD"),
        known: known
      ),
      context: bench.context()
    )
  }

  private static let copiedAtOnce = ScriptedAnswer.answer(
    200,
    text: """
      <CopyObjectResult><ETag>"src"</ETag><LastModified>2026-11-30T08:30:00.000Z</LastModified>\
      </CopyObjectResult>
      """
  )

  @Test func aCopyOfWhatIsKnownIsKnownByItsTag() async throws {
    let bench = try Bench([Self.copiedAtOnce])
    let metadata = try await copyOfTheKnown(bench)
    #expect(bench.methods == ["PUT"])
    #expect(metadata.key == key)
    #expect(metadata.size == 99)
    #expect(metadata.version.etag == ETag("src"))
    #expect(metadata.version.lastModified == Timestamp(seconds: 1_796_027_400))
    #expect(metadata.headers.contentType == "text/x")
    #expect(metadata.userMetadata == ["a": "b"])
    #expect(metadata.storageClass == "COLD")
  }

  /// A source in parts has another tag than its copy; so has one that was replaced at a store that looks at
  /// no condition.
  @Test func aCopyWithAnotherTagIsAskedFor() async throws {
    let other = ScriptedAnswer.answer(
      200,
      text: """
        <CopyObjectResult><ETag>"new"</ETag><LastModified>2026-11-30T08:30:00.000Z</LastModified>\
        </CopyObjectResult>
        """
    )
    let bench = try Bench([other, head("\"new\"", size: 7)])
    let metadata = try await copyOfTheKnown(bench)
    #expect(bench.methods == ["PUT", "HEAD"])
    #expect(metadata.size == 7)
  }

  @Test func aChecksumThatIsToBeComparedIsAskedFor() async throws {
    let bench = try Bench([Self.copiedAtOnce, head("\"src\"", size: 99)])
    _ = try await copyOfTheKnown(bench, crc64: 1)
    #expect(bench.methods == ["PUT", "HEAD"])
  }

  @Test func copyWithAnErrorInsideTwoHundredIsRepeated() async throws {
    let slow = ScriptedAnswer.answer(200, text: "<Error><Code>SlowDown</Code></Error>")
    let bench = try Bench([slow, Self.copied, head("\"src\"")])
    _ = try await copy(bench)
    #expect(bench.methods == ["PUT", "PUT", "HEAD"])
  }

  @Test func copyWithGarbageInsideTwoHundredIsNotDone() async throws {
    let bench = try Bench([.answer(200, text: "<html>"), Self.copied, head("\"src\"")])
    _ = try await copy(bench)
    #expect(bench.methods == ["PUT", "PUT", "HEAD"])
  }

  @Test func copyThatWasReplacedAtOnceIsAConflict() async throws {
    let bench = try Bench([Self.copied, head("\"other\"")])
    let error = await Bench.failure { () throws(StoreError) in try await copy(bench) }
    #expect(error?.kind == .conflict)
  }

  @Test func changedSourceOfACopyIsAFailedPrecondition() async throws {
    let bench = try Bench([.error(412, "PreconditionFailed")])
    let error = await Bench.failure { () throws(StoreError) in try await copy(bench) }
    #expect(error?.kind == .preconditionFailed)
  }

  // Parts

  @Test func partIsSentFromItsFile() async throws {
    let bench = try Bench([.answer(200, ["ETag": "\"p\""])])
    let part = try await bench.store.uploadPart(
      UploadReference(key: key, uploadID: "U+1"),
      partNumber: 3,
      body: body,
      context: bench.context()
    )
    #expect(part == UploadedPart(partNumber: 3, etag: ETag("p"), size: 5))
    #expect(
      bench.client.requests[0].url
        == "http://127.0.0.1:9000/data/k?partNumber=3&uploadId=U%2B1"
    )
    #expect(bench.metrics.snapshot.sentByteCount == 5)
  }

  @Test func partsAreListedOverAllPages() async throws {
    let bench = try Bench { request, _ in
      let isFirst = !request.url.contains("part-number-marker")
      return .answer(
        200,
        text: """
          <ListPartsResult><IsTruncated>\(isFirst)</IsTruncated>
          <NextPartNumberMarker>1</NextPartNumberMarker>
          <Part><PartNumber>\(isFirst ? 1 : 2)</PartNumber><ETag>"e"</ETag><Size>7</Size></Part>
          </ListPartsResult>
          """
      )
    }
    let parts = try await bench.store.listParts(
      UploadReference(key: key, uploadID: "U"),
      context: bench.context()
    )
    #expect(parts.map(\.partNumber) == [1, 2])
    #expect(parts.map(\.size) == [7, 7])
  }

  @Test func partThatIsListedTwiceIsNotListed() async throws {
    let bench = try Bench([
      .answer(
        200,
        text: """
          <ListPartsResult><IsTruncated>false</IsTruncated>
          <Part><PartNumber>2</PartNumber><ETag>"old"</ETag><Size>7</Size></Part>
          <Part><PartNumber>3</PartNumber><ETag>"c"</ETag><Size>7</Size></Part>
          <Part><PartNumber>2</PartNumber><ETag>"new"</ETag><Size>7</Size></Part>
          <Part><PartNumber>1</PartNumber><ETag>"a"</ETag><Size>7</Size></Part>
          </ListPartsResult>
          """
      )
    ])
    let parts = try await bench.store.listParts(
      UploadReference(key: key, uploadID: "U"),
      context: bench.context()
    )
    #expect(parts.map(\.partNumber) == [1, 3])
  }

  @Test func lateWriteIsNotSent() async throws {
    let bench = try Bench([.answer(200, ["ETag": tag])])
    let context = bench.context(0)
    let error = await Bench.failure { () throws(StoreError) in
      try await bench.store.put(PutRequest(key: key), body: body, context: context)
    }
    #expect(error?.kind == .timedOut)
    #expect(bench.client.requests.isEmpty)
  }

  @Test func abortOfAGoneUploadIsFine() async throws {
    let bench = try Bench([.error(404, "NoSuchUpload")])
    try await bench.store.abortMultipartUpload(
      UploadReference(key: key, uploadID: "U"),
      context: bench.context()
    )
    #expect(bench.methods == ["DELETE"])
  }
}
