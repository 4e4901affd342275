package import Core
internal import Crypto
internal import StoreWire

extension RemoteStore {
  package func createMultipartUpload(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) -> String {
    // A repeat may leave an upload without parts behind, which no one can tell from another's.
    try await create(
      dialect.protected(dialect.createMultipartUpload(request), by: protection),
      context
    )
  }

  package func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    let call = try dialect.uploadPart(
      upload,
      partNumber: partNumber,
      bodyHash: bodyHash(of: body)
    )
    let part = try await send(body, with: call, context)
    return UploadedPart(
      partNumber: partNumber,
      etag: part.etag,
      size: body.count,
      crc64: part.crc64
    )
  }

  package func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    let call = try dialect.uploadPartCopy(
      upload,
      partNumber: partNumber,
      source: source,
      range: range
    )
    let part = try await write(call, isSilent: true, context)
    return UploadedPart(
      partNumber: partNumber,
      etag: part.etag,
      size: range.count,
      crc64: part.crc64
    )
  }

  package func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> CompletedUpload {
    let call = try dialect.completeMultipartUpload(upload, parts: parts, condition: condition)
    return try await write(call, isSilent: true, context) {
      () async throws(StoreError) -> CompletedUpload? in
      let tag = ETag.ofParts(parts).map { ContentProof(etag: $0) }
      guard let proof = ContentProof(checksumsOf: parts) ?? tag,
        let found = try await self.found(upload.key, proof, context), let etag = found.etag
      else { return nil }
      return CompletedUpload(etag: etag, crc64: found.crc64, versionID: found.versionID)
    }
  }

  package func abortMultipartUpload(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) {
    try await write(dialect.abortMultipartUpload(upload), context)
  }

  package func listParts(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) -> [UploadedPart] {
    var parts: [UploadedPart] = []
    var marker: Int?
    // The answer's markers ascend, so 10,000 pages are the most there can be.
    repeat {
      let page = try await read(dialect.listParts(upload, after: marker), context)
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
      let page = try await read(
        dialect.listMultipartUploads(prefix: prefix, after: marker),
        context
      )
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
