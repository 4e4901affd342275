import Core
import Testing

private let mebibyte = 1 << 20

@Suite struct UploadResumptionTests {
  private func plan() throws -> PartPlan {
    try PartPlan(size: 25 * mebibyte + 1, partSize: 10 * mebibyte)
  }

  private func part(_ number: Int, _ tag: String, _ size: Int? = nil) -> UploadedPart {
    UploadedPart(partNumber: number, etag: ETag(tag), size: size)
  }

  @Test func whatBothAgreeOnIsKept() throws {
    let parts = [
      part(1, "a", 10 * mebibyte), part(2, "b", 10 * mebibyte), part(3, "c", 5 * mebibyte + 1),
    ]
    let resumption = try UploadResumption(plan: plan(), recorded: parts, listed: parts.reversed())
    #expect(resumption.kept == parts)
    #expect(resumption.missing == [])
    #expect(resumption.keptByteCount == 25 * mebibyte + 1)
  }

  @Test func whatOneOfThemDoesNotKnowIsSentAgain() throws {
    let recorded = [part(1, "a"), part(2, "b")]
    let listed = [part(2, "b"), part(3, "c")]
    let resumption = try UploadResumption(plan: plan(), recorded: recorded, listed: listed)
    #expect(resumption.kept.map(\.partNumber) == [2])
    #expect(resumption.missing == [1, 3])
  }

  @Test(arguments: [
    UploadedPart(partNumber: 2, etag: ETag("x"), size: 10 * mebibyte),
    UploadedPart(partNumber: 2, etag: ETag("b"), size: 10 * mebibyte - 1),
    UploadedPart(partNumber: 2, etag: ETag("b"), size: 10 * mebibyte, crc64: 8),
  ])
  func aPartThatDiffersIsSentAgain(listed: UploadedPart) throws {
    let recorded = UploadedPart(partNumber: 2, etag: ETag("b"), size: 10 * mebibyte, crc64: 7)
    let resumption = try UploadResumption(plan: plan(), recorded: [recorded], listed: [listed])
    #expect(resumption.kept == [])
    #expect(resumption.missing == [1, 2, 3])
  }

  @Test func partsThatThePlanDoesNotHaveAreIgnored() throws {
    let parts = [part(0, "z"), part(4, "d"), part(10_000, "e")]
    let resumption = try UploadResumption(plan: plan(), recorded: parts, listed: parts)
    #expect(resumption.kept == [] && resumption.missing == [1, 2, 3])
  }

  @Test func ofAPartOfAnotherSizeNothingIsKept() throws {
    // The same tag, recorded when the parts were larger.
    let parts = [part(1, "a", 20 * mebibyte)]
    #expect(try UploadResumption(plan: plan(), recorded: parts, listed: parts).kept == [])
  }
}

@Suite struct CompletionVerdictTests {
  private func found(
    _ tag: String = "t-2",
    size: Int = 100,
    at seconds: Int = 50,
    crc64: UInt64? = nil
  ) -> ObjectMetadata {
    var metadata = ObjectMetadata(
      version: ObjectVersion(
        key: ObjectKey("k"),
        etag: ETag(tag),
        size: size,
        lastModified: Timestamp(seconds: seconds)
      )
    )
    metadata.crc64 = crc64
    return metadata
  }

  private func verdict(
    there: Bool?,
    _ found: ObjectMetadata?,
    etag: String? = nil,
    crc64: UInt64? = nil,
    before: CompletionVerdict.KeyContent? = nil
  ) -> CompletionVerdict {
    CompletionVerdict(
      isUploadThere: there,
      found: found,
      size: 100,
      etag: etag.map { ETag($0) },
      crc64: crc64,
      before: before
    )
  }

  @Test func aTagOfAllPartsProvesIt() {
    #expect(verdict(there: false, found(), etag: "t-2") == .done(found()))
    #expect(verdict(there: nil, found(), etag: "t-2") == .done(found()))
    #expect(verdict(there: false, found("other"), etag: "t-2") == .unknown)
    #expect(verdict(there: false, found(size: 99), etag: "t-2") == .unknown)
  }

  @Test func aChecksumOfAllBytesProvesIt() {
    #expect(verdict(there: false, found(crc64: 7), crc64: 7) == .done(found(crc64: 7)))
    #expect(verdict(there: false, found(crc64: 8), crc64: 7) == .unknown)
    #expect(verdict(there: false, found(), crc64: 7) == .unknown)
  }

  @Test func anUploadThatIsThereWasNotCompleted() {
    // What has the same tag was there before.
    #expect(verdict(there: true, found(), etag: "t-2") == .notDone)
    #expect(verdict(there: true, nil, etag: "t-2") == .notDone)
  }

  @Test func anUploadThatIsGoneAndANewObjectProveItTogether() {
    #expect(verdict(there: false, found(), before: .nothing) == .done(found()))
    #expect(
      verdict(there: false, found(), before: .version(found("old", at: 40).version))
        == .done(found())
    )
    #expect(verdict(there: false, found(), before: .version(found().version)) == .unknown)
    #expect(
      verdict(there: false, found(at: 51), before: .version(found(at: 50).version))
        == .done(found(at: 51))
    )
    #expect(verdict(there: nil, found(), before: .nothing) == .unknown)
    #expect(verdict(there: false, found(size: 3), before: .nothing) == .unknown)
    #expect(verdict(there: false, nil, before: .nothing) == .unknown)
    #expect(verdict(there: false, found(), before: nil) == .unknown)
  }

  @Test func onlyAClearRefusalLeavesNoDoubt() {
    let clear = StoreError.Kind.allCases.filter { kind in
      !CompletionVerdict.isInDoubt(
        after: StoreError(kind, .completeMultipartUpload, message: "")
      )
    }
    #expect(
      Set(clear) == [
        .notFound, .noSuchBucket, .accessDenied, .badCredentials, .archived,
        .rangeNotSatisfiable, .untrusted, .wrongRegion, .unsupported, .tooLarge, .invalidRequest,
        .sinkRefused, .offline, .cancelled,
      ]
    )
  }
}
