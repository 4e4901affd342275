package import Core

/// What both protocols say in the same way.
extension WireDialect {
  package var requestIDField: String { Requests.spelling.prefix + "request-id" }

  // Source: Amazon S3 API Reference, "DeleteObjects"; TOS API reference, "DeleteMultiObjects".
  package var deletedKeyCountMax: Int { 1000 }

  package func error(_ answer: WireAnswer, to request: WireRequest) -> StoreError {
    Answers.error(answer, to: request)
  }

  package func getObject(_ request: GetRequest) throws(StoreError) -> WireRequest {
    try Requests.getObject(request)
  }

  package func objectRange(
    _ answer: WireAnswer,
    to request: WireRequest,
    get: GetRequest
  ) throws(StoreError) -> ObjectMetadata {
    try Answers.objectRange(answer, to: request, get: get)
  }

  package func headObject(
    _ key: ObjectKey,
    versionID: String?,
    conditions: ReadConditions
  ) throws(StoreError) -> WireCall<ObjectMetadata> {
    let request = try Requests.headObject(key, versionID: versionID, conditions: conditions)
    return WireCall(request) { answer throws(StoreError) in
      try Answers.object(answer, to: request, versionID: versionID)
    }
  }

  package func putObject(
    _ request: PutRequest,
    bodyHash: WireRequest.BodyHash
  ) throws(StoreError) -> WireCall<WriteAnswer> {
    let wire = try Requests.putObject(request, bodyHash: bodyHash)
    return WireCall(wire) { answer throws(StoreError) in try Answers.stored(answer, to: wire) }
  }

  package func deleteObject(
    _ key: ObjectKey,
    ifMatch: ETag?
  ) throws(StoreError) -> WireCall<Void> {
    let request = try Requests.deleteObject(key, ifMatch: ifMatch)
    return WireCall(request) { answer throws(StoreError) in
      try Answers.deleted(answer, to: request)
    }
  }

  package func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    bodyHash: WireRequest.BodyHash
  ) throws(StoreError) -> WireCall<PartAnswer> {
    let request = try Requests.uploadPart(upload, partNumber: partNumber, bodyHash: bodyHash)
    return WireCall(request) { answer throws(StoreError) in
      PartAnswer(
        etag: try Answers.uploadedPart(answer, to: request),
        crc64: Answers.checksum(answer.fields)
      )
    }
  }

  package func abortMultipartUpload(
    _ upload: UploadReference
  ) throws(StoreError) -> WireCall<Void> {
    let request = try Requests.abortMultipartUpload(upload)
    return WireCall(request) { answer throws(StoreError) in
      try Answers.aborted(answer, to: request)
    }
  }
}
