package import Core
internal import Crypto
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
  ) async throws(StoreError) -> UploadedPart {
    let wire = try S3Requests.uploadPart(
      upload,
      partNumber: partNumber,
      bodyHash: bodyHash(of: body)
    )
    let etag = try await write(wire, body: body, context) { (answer) throws(StoreError) in
      try S3Answers.uploadedPart(answer, to: wire)
    }
    return UploadedPart(partNumber: partNumber, etag: etag, size: body.count)
  }

  package func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    let wire = try S3Requests.uploadPartCopy(
      upload,
      partNumber: partNumber,
      source: source,
      range: range,
      bucket: bucket
    )
    let etag = try await write(wire, isSilent: true, context) { (answer) throws(StoreError) in
      try S3Answers.copiedPart(answer, to: wire)
    }
    return UploadedPart(partNumber: partNumber, etag: etag, size: range.count)
  }

  package func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> CompletedUpload {
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
      return CompletedUpload(etag: etag, versionID: completed.versionID)
    } settle: { () async -> CompletedUpload? in
      guard let tag = ETag.ofParts(parts) else { return nil }
      let found = await self.found(upload.key, tagged: tag, size: nil, context)
      return found.map { CompletedUpload(etag: tag, versionID: $0.versionID) }
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

  package func listMultipartUploads(
    prefix: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> [UnfinishedUpload] {
    var uploads: [UnfinishedUpload] = []
    var marker: UploadReference?
    var seen: Set<UploadReference> = []
    repeat {
      let after = marker
      let wire = S3Requests.listMultipartUploads(prefix: prefix, after: after)
      let page = try await read(wire, context) { (answer) throws(StoreError) in
        try S3Answers.uploads(answer, to: wire, prefix: prefix, after: after)
      }
      uploads += page.uploads
      marker = page.nextMarker
      guard marker.map({ seen.insert($0).inserted }) ?? true else {
        throw StoreError(
          .invalidAnswer,
          .listMultipartUploads,
          key: prefix,
          message: "the pages of the uploads go round in circles"
        )
      }
    } while marker != nil
    return uploads
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
