package import Core

/// What both protocols say in the same way.
extension WireDialect {
  package var requestIDField: String { Requests.spelling.prefix + "request-id" }

  // Source: Amazon S3 API Reference, "DeleteObjects"; TOS API reference, "DeleteMultiObjects".
  package var deletedKeyCountMax: Int { 1000 }

  /// Returns the call of a write that says how the new object is guarded.
  package func protected<Answer>(
    _ call: WireCall<Answer>,
    by protection: ObjectProtection
  ) throws(StoreError) -> WireCall<Answer> {
    var call = call
    call.request.protect(protection, in: Requests.spelling)
    call.request = try call.request.checked()
    return call
  }

  /// Returns the call with the checksum of its body; an answer that names another is none.
  package func checked<Answer>(
    _ call: WireCall<Answer>,
    by digest: BodyDigest
  ) -> WireCall<Answer> {
    var checked = call
    checked.request.add(digest)
    guard digest.kind != .md5 else { return checked }
    let request = call.request
    let read = call.read
    checked.read = { answer throws(StoreError) in
      let value = try read(answer)
      if let told = answer.fields[digest.kind.field], told != digest.text {
        throw StoreError(
          .invalidAnswer,
          request.operation,
          key: request.key,
          message:
            "the store has other bytes than were sent: it tells \(told.utf8.printable) as their "
            + "\(digest.kind.rawValue) instead of \(digest.text)"
        )
      }
      return value
    }
    return checked
  }

  /// Returns the call of a write without a body, with the checksum that the store is to keep.
  package func keeping<Answer>(
    _ kind: ChecksumKind,
    _ call: WireCall<Answer>
  ) -> WireCall<Answer> {
    var call = call
    call.request.keep(kind)
    return call
  }

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
