package import Core

/// TOS's own protocol, of Volcengine and BytePlus.
package struct TOSDialect: WireDialect {
  /// How requests are built.
  package typealias Requests = TOSRequests
  /// How answers are read.
  package typealias Answers = TOSAnswers

  package let bucket: String

  /// Creates the dialect for one bucket.
  package init(bucket: String) {
    self.bucket = bucket
  }

  package var signature: SignatureDialect { .tos }
  // No document of DeleteObject knows a condition.
  package var hasConditionalDelete: Bool { false }
  // The store tells a checksum of its own, which is compared.
  package var usualChecksum: ChecksumKind? { nil }

  package func capabilities(of facts: BucketFacts?) -> StoreCapabilities {
    var capabilities = StoreCapabilities()
    // Source: TOS API reference, "PutObject": x-tos-forbid-overwrite, x-tos-if-match.
    capabilities.hasConditionalCreate = true
    capabilities.hasConditionalReplace = true
    // Completing knows only the first of them.
    capabilities.hasConditionalComplete = false
    // Source: TOS API reference, "SetObjectMeta", "GetFileStatus"; HeadObject tells the same where
    // directories exist.
    capabilities.hasInPlaceMetadata = true
    capabilities.hasKeyStatus = true
    capabilities.wholeObjectChecksum = .crc64
    // Flat buckets have it when it was switched on for them, which a try shows.
    capabilities.hasNativeRename = nil
    capabilities.hasLinks = facts != nil
    guard facts?.isHierarchical == true else { return capabilities }
    // Source: TOS documentation, "Hierarchical namespace buckets", what they don't support.
    capabilities.hasLinks = false
    capabilities.hasNativeRename = true
    capabilities.hasDirectories = true
    capabilities.hasRecursiveDelete = true
    capabilities.hasSettableTime = true
    capabilities.hasAppend = true
    return capabilities
  }

  package func endpoint(_ endpoint: Endpoint, in region: String) -> Endpoint? {
    guard let host = TOSHost(endpoint.host) else { return nil }
    var moved = endpoint
    moved.host = host.publicHost(in: region).description
    return moved
  }

  package func place(of endpoint: Endpoint) -> String {
    // The same bucket, whether it is asked from inside its cloud or from outside.
    guard let host = TOSHost(endpoint.host) else { return endpoint.description }
    return host.publicHost(in: host.region).description
  }

  package func regionHint(_ answer: WireAnswer) -> String? { TOSAnswers.regionHint(answer) }

  package func bodyChecksum(_ answer: WireAnswer) -> UInt64? { TOSAnswers.checksum(answer.fields) }

  package func meansNotEmpty(_ failure: StoreError) -> Bool {
    failure.code == TOSErrorCode.cannotDelete.rawValue
      || failure.subcode == TOSDetailCode.directoryNotEmpty.rawValue
  }

  package func remedy(for failure: StoreError) -> RetryPolicy.Remedy {
    if failure.subcode == TOSDetailCode.pathLocked.rawValue, failure.kind == .conflict {
      return .times(TOSDetailCode.lockTryCountMax)
    }
    let code = failure.code.flatMap(TOSErrorCode.init(rawValue:))
    guard let code, code.kind == failure.kind else { return .usual(for: failure.kind) }
    return code.remedy
  }
}

// The operations whose answers are TOS's own.
extension TOSDialect {
  package func headObject(
    _ key: ObjectKey,
    versionID: String?,
    conditions: ReadConditions
  ) throws(StoreError) -> WireCall<ObjectMetadata> {
    let wire = try TOSRequests.headObject(key, versionID: versionID, conditions: conditions)
    return WireCall(wire) { answer throws(StoreError) in
      try TOSAnswers.headedObject(answer, to: wire, versionID: versionID)
    }
  }

  package func listObjects(
    _ request: ListRequest,
    in facts: BucketFacts?
  ) throws(StoreError) -> WireCall<ListAnswer> {
    let wire = TOSRequests.listObjects(request)
    let isFlat = facts?.isHierarchical == false
    return WireCall(wire) { answer throws(StoreError) in
      try TOSAnswers.listing(answer, to: wire, list: request, isFlat: isFlat)
    }
  }

  package func headBucket() throws(StoreError) -> WireCall<BucketFacts> {
    let wire = TOSRequests.headBucket()
    return WireCall(wire) { answer throws(StoreError) in try TOSAnswers.bucket(answer, to: wire) }
  }

  package func canDeleteTogether(_ key: ObjectKey) -> Bool { TOSRequests.canDeleteTogether(key) }

  package func deleteObjects(
    _ keys: [ObjectKey]
  ) throws(StoreError) -> WireCall<[ObjectKey: StoreError]> {
    let wire = try TOSRequests.deleteObjects(keys)
    return WireCall(wire) { answer throws(StoreError) in
      try TOSAnswers.deletedObjects(answer, to: wire, keys: keys)
    }
  }

  package func copyObject(
    _ request: CopyRequest
  ) throws(StoreError) -> WireCall<WriteAnswer> {
    let wire = try TOSRequests.copyObject(request, bucket: bucket)
    return WireCall(wire) { answer throws(StoreError) in try TOSAnswers.copied(answer, to: wire) }
  }

  package func objectTags(
    _ key: ObjectKey,
    versionID: String?
  ) throws(StoreError) -> WireCall<[String: String]> {
    let wire = try TOSRequests.getObjectTagging(key, versionID: versionID)
    return WireCall(wire) { answer throws(StoreError) in try TOSAnswers.tags(answer, to: wire) }
  }

  package func createMultipartUpload(
    _ request: PutRequest
  ) throws(StoreError) -> WireCall<String> {
    let wire = try TOSRequests.createMultipartUpload(request)
    return WireCall(wire) { answer throws(StoreError) in
      try TOSAnswers.createdUpload(answer, to: wire)
    }
  }

  package func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange
  ) throws(StoreError) -> WireCall<PartAnswer> {
    let wire = try TOSRequests.uploadPartCopy(
      upload,
      partNumber: partNumber,
      source: source,
      range: range,
      bucket: bucket
    )
    return WireCall(wire) { answer throws(StoreError) in
      try TOSAnswers.copiedPart(answer, to: wire)
    }
  }

  package func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition
  ) throws(StoreError) -> WireCall<CompletedUpload> {
    let wire = try TOSRequests.completeMultipartUpload(upload, parts: parts, condition: condition)
    return WireCall(wire) { answer throws(StoreError) in
      try TOSAnswers.completedUpload(answer, to: wire)
    }
  }

  package func listParts(
    _ upload: UploadReference,
    after marker: Int?
  ) throws(StoreError) -> WireCall<PartsPage> {
    let wire = try TOSRequests.listParts(upload, after: marker)
    return WireCall(wire) { answer throws(StoreError) in
      try TOSAnswers.parts(answer, to: wire, after: marker)
    }
  }

  package func listMultipartUploads(
    prefix: ObjectKey,
    after marker: UploadReference?
  ) throws(StoreError) -> WireCall<UploadsPage> {
    let wire = TOSRequests.listMultipartUploads(prefix: prefix, after: marker)
    return WireCall(wire) { answer throws(StoreError) in
      try TOSAnswers.uploads(answer, to: wire, prefix: prefix, after: marker)
    }
  }
}
