package import Core
internal import StoreWire

extension RemoteStore {
  package func createMultipartUpload(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) -> String {
    // A repeat may leave an upload without parts behind, which no one can tell from another's.
    let wire = try S3Requests.createMultipartUpload(request)
    return try await write(wire, context) { (answer) throws(StoreError) in
      try S3Answers.createdUpload(answer, to: wire)
    }
  }

  package func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> ETag {
    let wire = try S3Requests.uploadPart(
      upload,
      partNumber: partNumber,
      bodyHash: bodyHash(of: body)
    )
    return try await write(wire, body: body, context) { (answer) throws(StoreError) in
      try S3Answers.uploadedPart(answer, to: wire)
    }
  }

  package func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> ETag {
    let wire = try S3Requests.uploadPartCopy(
      upload,
      partNumber: partNumber,
      source: source,
      range: range,
      bucket: bucket
    )
    return try await write(wire, isSilent: true, context) { (answer) throws(StoreError) in
      try S3Answers.copiedPart(answer, to: wire)
    }
  }

  package func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> ETag {
    let wire = try S3Requests.completeMultipartUpload(upload, parts: parts, condition: condition)
    return try await write(wire, isSilent: true, context) { (answer) throws(StoreError) in
      let completed = try S3Answers.completedUpload(answer, to: wire)
      guard let etag = completed.etag else {
        throw StoreError(
          .invalidAnswer,
          wire.operation,
          key: wire.key,
          message: "the answer has no tag of the object"
        )
      }
      return etag
    } settle: { () async -> ETag? in
      guard let tag = ETag.ofParts(parts) else { return nil }
      return await self.found(upload.key, tagged: tag, size: nil, context)?.etag
    }
  }

  package func abortMultipartUpload(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) {
    let wire = try S3Requests.abortMultipartUpload(upload)
    try await write(wire, context) { (answer) throws(StoreError) in
      try S3Answers.aborted(answer, to: wire)
    }
  }

  package func listParts(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) -> [UploadedPart] {
    var parts: [UploadedPart] = []
    var marker: Int?
    // The answer's markers ascend, so 10,000 pages are the most there can be.
    repeat {
      let after = marker
      let wire = try S3Requests.listParts(upload, after: after)
      let page = try await read(wire, context) { (answer) throws(StoreError) in
        try S3Answers.parts(answer, to: wire, after: after)
      }
      parts += page.parts
      marker = page.nextMarker
    } while marker != nil
    return unambiguous(parts)
  }

  /// Returns the parts by number, without those of which the store lists more than one.
  ///
  /// A store that keeps a replaced part lists both, in no order; completing with the older tag makes
  /// an object with the older bytes. A part that isn't listed is sent again, which is always right.
  /// Observed: SeaweedFS 4.48.
  private func unambiguous(_ parts: [UploadedPart]) -> [UploadedPart] {
    var byNumber: [Int: [UploadedPart]] = [:]
    for part in parts { byNumber[part.partNumber, default: []].append(part) }
    return byNumber.values
      .compactMap { same in same.allSatisfy { $0.etag == same[0].etag } ? same[0] : nil }
      .sorted { $0.partNumber < $1.partNumber }
  }
}
