package import Core

/// The protocol of Amazon S3, and of all who speak like it.
package struct S3Dialect: WireDialect {
  /// How requests are built.
  package typealias Requests = S3Requests
  /// How answers are read.
  package typealias Answers = S3Answers

  package let bucket: String
  /// True if the store is Amazon's own, of which more is known than of those who speak like it.
  let isAmazons: Bool

  /// Creates the dialect for one bucket.
  package init(bucket: String, isAmazons: Bool) {
    self.bucket = bucket
    self.isAmazons = isAmazons
  }

  package var signature: SignatureDialect { .s3 }
  package var hasConditionalDelete: Bool { true }
  // Of others nothing is known, and some refuse what they don't know.
  package var usualChecksum: ChecksumKind? { isAmazons ? .crc64nvme : nil }

  package func capabilities(of facts: BucketFacts?) -> StoreCapabilities {
    var capabilities = StoreCapabilities()
    capabilities.hasConditionalDelete = true
    guard isAmazons else { return capabilities }
    // Source: Amazon S3 User Guide, "Conditional writes"; all general purpose buckets have them.
    capabilities.hasConditionalCreate = true
    capabilities.hasConditionalReplace = true
    capabilities.hasConditionalComplete = true
    // Directory buckets list in another order, and their names say what they are.
    // Source: Amazon S3 User Guide, "Directory bucket naming rules".
    capabilities.listsInByteOrder = !bucket.hasSuffix("--x-s3")
    return capabilities
  }

  package func endpoint(_ endpoint: Endpoint, in region: String) -> Endpoint? {
    guard let amazons = try? Endpoint.aws(region: region) else { return nil }
    var moved = endpoint
    moved.host = amazons.host
    return moved
  }

  package func place(of endpoint: Endpoint) -> String {
    // Bucket names of AWS are unique in a partition, whichever region's endpoint is asked.
    for domain in [".amazonaws.com", ".amazonaws.com.cn"] where endpoint.host.hasSuffix(domain) {
      return String(domain.dropFirst())
    }
    return endpoint.description
  }

  package func regionHint(_ answer: WireAnswer) -> String? { S3Answers.regionHint(answer) }

  package func bodyChecksum(_ answer: WireAnswer) -> UInt64? { nil }

  package func remedy(for failure: StoreError) -> RetryPolicy.Remedy {
    let code = failure.code.flatMap(S3ErrorCode.init(rawValue:))
    switch failure.kind {
    // Only a code says that a conflict passes; others (a file where a directory should be) stay.
    case .conflict: return code?.kind == .conflict ? .wait : .none
    case .badCredentials: return code?.credentialRemedy ?? .none
    // The body was damaged on its way; twice in a row it is something else.
    case .invalidRequest:
      return code == .badDigest || code == .contentHashMismatch ? .times(1) : .none
    default: return .usual(for: failure.kind)
    }
  }
}

extension S3ErrorCode {
  /// What could help against credentials that the store doesn't accept.
  fileprivate var credentialRemedy: RetryPolicy.Remedy {
    switch self {
    case .requestTimeTooSkewed, .requestExpired: .clock
    case .expiredToken, .expiredTokenException, .tokenRefreshRequired: .refresh
    default: .none
    }
  }
}

// The operations whose documents are XML.
extension S3Dialect {
  package func listObjects(
    _ request: ListRequest,
    in facts: BucketFacts?
  ) throws(StoreError) -> WireCall<ListAnswer> {
    let wire = S3Requests.listObjects(request)
    return WireCall(wire) { answer throws(StoreError) in
      try S3Answers.listing(answer, to: wire, list: request)
    }
  }

  package func headBucket() throws(StoreError) -> WireCall<BucketFacts> {
    let wire = S3Requests.headBucket()
    return WireCall(wire) { answer throws(StoreError) in
      BucketFacts(region: try S3Answers.bucket(answer, to: wire))
    }
  }

  package func canDeleteTogether(_ key: ObjectKey) -> Bool { S3Requests.canDeleteTogether(key) }

  package func deleteObjects(
    _ keys: [ObjectKey]
  ) throws(StoreError) -> WireCall<[ObjectKey: StoreError]> {
    let wire = try S3Requests.deleteObjects(keys)
    return WireCall(wire) { answer throws(StoreError) in
      try S3Answers.deletedObjects(answer, to: wire, keys: keys)
    }
  }

  package func copyObject(
    _ request: CopyRequest
  ) throws(StoreError) -> WireCall<WriteAnswer> {
    let wire = try S3Requests.copyObject(request, bucket: bucket)
    return WireCall(wire) { answer throws(StoreError) in try S3Answers.copied(answer, to: wire) }
  }

  package func objectTags(
    _ key: ObjectKey,
    versionID: String?
  ) throws(StoreError) -> WireCall<[String: String]> {
    let wire = try S3Requests.getObjectTagging(key, versionID: versionID)
    return WireCall(wire) { answer throws(StoreError) in try S3Answers.tags(answer, to: wire) }
  }

  package func createMultipartUpload(
    _ request: PutRequest
  ) throws(StoreError) -> WireCall<String> {
    let wire = try S3Requests.createMultipartUpload(request)
    return WireCall(wire) { answer throws(StoreError) in
      try S3Answers.createdUpload(answer, to: wire)
    }
  }

  package func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange
  ) throws(StoreError) -> WireCall<PartAnswer> {
    let wire = try S3Requests.uploadPartCopy(
      upload,
      partNumber: partNumber,
      source: source,
      range: range,
      bucket: bucket
    )
    return WireCall(wire) { answer throws(StoreError) in
      PartAnswer(etag: try S3Answers.copiedPart(answer, to: wire))
    }
  }

  package func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition
  ) throws(StoreError) -> WireCall<CompletedUpload> {
    let wire = try S3Requests.completeMultipartUpload(upload, parts: parts, condition: condition)
    return WireCall(wire) { answer throws(StoreError) in
      try S3Answers.completedUpload(answer, to: wire)
    }
  }

  package func listParts(
    _ upload: UploadReference,
    after marker: Int?
  ) throws(StoreError) -> WireCall<PartsPage> {
    let wire = try S3Requests.listParts(upload, after: marker)
    return WireCall(wire) { answer throws(StoreError) in
      try S3Answers.parts(answer, to: wire, after: marker)
    }
  }

  package func listMultipartUploads(
    prefix: ObjectKey,
    after marker: UploadReference?
  ) throws(StoreError) -> WireCall<UploadsPage> {
    let wire = S3Requests.listMultipartUploads(prefix: prefix, after: marker)
    return WireCall(wire) { answer throws(StoreError) in
      try S3Answers.uploads(answer, to: wire, prefix: prefix, after: marker)
    }
  }
}
