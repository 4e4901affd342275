package import Core

/// Nothing can be changed, and nothing asked for that the cache doesn't keep.
extension OfflineStore {
  package func put(
    _ request: PutRequest,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    throw Self.refusal(.putObject, request.key)
  }

  package func delete(
    _ key: ObjectKey,
    ifMatch: ETag?,
    context: RequestContext
  ) async throws(StoreError) {
    throw Self.refusal(.deleteObject, key)
  }

  package func copy(
    _ request: CopyRequest,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    throw Self.refusal(.copyObject, request.target.key)
  }

  package func createMultipartUpload(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) -> String {
    throw Self.refusal(.createMultipartUpload, request.key)
  }

  package func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    throw Self.refusal(.uploadPart, upload.key)
  }

  package func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    throw Self.refusal(.uploadPartCopy, upload.key)
  }

  package func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> CompletedUpload {
    throw Self.refusal(.completeMultipartUpload, upload.key)
  }

  package func abortMultipartUpload(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) {
    throw Self.refusal(.abortMultipartUpload, upload.key)
  }

  package func listParts(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) -> [UploadedPart] {
    throw Self.refusal(.listParts, upload.key)
  }

  package func listMultipartUploads(
    prefix: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> [UnfinishedUpload] {
    throw Self.refusal(.listMultipartUploads, prefix)
  }

  package func delete(
    _ keys: [ObjectKey],
    context: RequestContext
  ) async throws(StoreError) -> [ObjectKey: StoreError] {
    throw Self.refusal(.deleteObjects, keys.first)
  }

  package func tags(
    of key: ObjectKey,
    versionID: String?,
    context: RequestContext
  ) async throws(StoreError) -> [String: String] {
    throw Self.refusal(.getObjectTagging, key)
  }

  private static func refusal(_ operation: StoreOperation, _ key: ObjectKey?) -> StoreError {
    StoreError(.offline, operation, key: key, message: "the mount is offline")
  }
}
