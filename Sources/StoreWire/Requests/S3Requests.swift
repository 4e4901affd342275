package import Core

/// The requests of the S3 protocol, as pure functions from the seam's values.
///
/// Everything that comes from outside is checked here before it becomes part of a request: an empty
/// key would turn an operation on an object into one on the bucket, and a control character in a
/// field's value would end the field. `.invalidRequest` says so.
///
/// HTTP's inclusive byte positions exist only in this target.
///
/// Source: Amazon S3 API Reference, the operations of the same names.
package enum S3Requests {
  /// GetObject of a range, of one version if the request names one.
  package static func getObject(_ request: GetRequest) throws(StoreError) -> WireRequest {
    var wire = try object(.getObject, .get, request.key, versionID: request.versionID)
    wire.fields["Range"] = request.range.httpSpelling
    if let etag = request.ifMatch { wire.fields["If-Match"] = etag.quoted }
    return try checked(wire)
  }

  /// HeadObject.
  package static func headObject(
    _ key: ObjectKey,
    versionID: String? = nil,
    conditions: ReadConditions = ReadConditions()
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.headObject, .head, key, versionID: versionID)
    wire.require(conditions)
    return try checked(wire)
  }

  /// ListObjectsV2, always with `encoding-type=url`: without it a control character in one key
  /// makes the whole answer bad XML.
  package static func listObjects(_ request: ListRequest) -> WireRequest {
    var query = [
      WireRequest.QueryItem("list-type", "2"),
      WireRequest.QueryItem("encoding-type", "url"),
      WireRequest.QueryItem("max-keys", String(min(max(request.countMax, 1), 1000))),
    ]
    if !request.prefix.bytes.isEmpty {
      query.append(WireRequest.QueryItem("prefix", bytes: request.prefix.bytes))
    }
    if request.isDelimited { query.append(WireRequest.QueryItem("delimiter", "/")) }
    if let token = request.continuationToken {
      query.append(WireRequest.QueryItem("continuation-token", token))
    } else if let key = request.startAfter, !key.bytes.isEmpty {
      query.append(WireRequest.QueryItem("start-after", bytes: key.bytes))
    }
    return WireRequest(.listObjects, .get, query: query)
  }

  /// HeadBucket.
  package static func headBucket() -> WireRequest {
    WireRequest(.headBucket, .head)
  }

  /// GetBucketLocation.
  package static func getBucketLocation() -> WireRequest {
    WireRequest(.getBucketLocation, .get, query: [WireRequest.QueryItem("location")])
  }

  /// PutObject; the body is the caller's, and `bodyHash` what the signature says of it.
  package static func putObject(
    _ request: PutRequest,
    bodyHash: WireRequest.BodyHash = .unsigned
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.putObject, .put, request.key)
    wire.bodyHash = bodyHash
    wire.require(request.condition)
    try wire.describe(request)
    wire.tag(request.tags)
    return try checked(wire)
  }

  /// GetObjectTagging.
  package static func getObjectTagging(
    _ key: ObjectKey,
    versionID: String? = nil
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.getObjectTagging, .get, key, versionID: versionID)
    wire.query.append(WireRequest.QueryItem("tagging"))
    return wire
  }

  /// DeleteObject.
  package static func deleteObject(
    _ key: ObjectKey,
    ifMatch: ETag? = nil
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.deleteObject, .delete, key)
    if let ifMatch { wire.require(.ifMatch(ifMatch)) }
    return try checked(wire)
  }

  /// CopyObject from `request.source`, which is in `bucket` unless it names another.
  package static func copyObject(
    _ request: CopyRequest,
    bucket: String
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.copyObject, .put, request.target.key)
    try wire.copy(from: request.source, bucket: bucket)
    wire.fields["x-amz-metadata-directive"] = request.replacesMetadata ? "REPLACE" : "COPY"
    wire.require(request.target.condition)
    if request.replacesMetadata { try wire.describe(request.target) }
    if request.replacesTags {
      // The other directive is the default, and some stores don't know the field.
      wire.fields["x-amz-tagging-directive"] = "REPLACE"
      wire.tag(request.target.tags)
    }
    // Without it a copy has the standard class, whatever its source had.
    if let storageClass = request.target.storageClass {
      wire.fields["x-amz-storage-class"] = storageClass
    }
    return try checked(wire)
  }

  static func object(
    _ operation: StoreOperation,
    _ method: WireRequest.Method,
    _ key: ObjectKey,
    versionID: String? = nil
  ) throws(StoreError) -> WireRequest {
    guard !key.bytes.isEmpty else {
      throw .unsendable(operation, key, "an object's key can't be empty")
    }
    let query = versionID.map { [WireRequest.QueryItem("versionId", $0)] } ?? []
    return WireRequest(operation, method, key: key, query: query)
  }

  /// Returns `request` if all its fields can be sent.
  static func checked(_ request: WireRequest) throws(StoreError) -> WireRequest {
    for field in request.fields.fields {
      guard field.value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
        throw .unsendable(
          request.operation,
          request.key,
          "the value of \(field.name) has characters that a header field can't carry"
        )
      }
    }
    return request
  }
}

extension WireRequest {
  /// Adds the condition of a write.
  mutating func require(_ condition: WriteCondition) {
    switch condition {
    case .none: return
    case .ifAbsent: fields["If-None-Match"] = "*"
    case .ifMatch(let etag): fields["If-Match"] = etag.quoted
    }
    isIdempotent = false
  }

  /// Adds the conditions of a read, or with `prefix` those of what is copied.
  mutating func require(_ conditions: ReadConditions, prefix: String = "") {
    if let etag = conditions.ifMatch { fields[prefix + "If-Match"] = etag.quoted }
    if let etag = conditions.ifNoneMatch { fields[prefix + "If-None-Match"] = etag.quoted }
    if let moment = conditions.ifModifiedSince {
      fields[prefix + "If-Modified-Since"] = WireDate.httpSpelling(moment)
    }
    if let moment = conditions.ifUnmodifiedSince {
      fields[prefix + "If-Unmodified-Since"] = WireDate.httpSpelling(moment)
    }
  }

  /// Adds the new object's tags, as a form.
  mutating func tag(_ tags: [String: String]) {
    guard !tags.isEmpty else { return }
    fields["x-amz-tagging"] = PercentEncoding.form(tags)
  }

  /// Adds what the new object shall say of itself.
  mutating func describe(_ request: PutRequest) throws(StoreError) {
    for (name, value) in request.headers.fields { fields[name] = value }
    if let storageClass = request.storageClass { fields["x-amz-storage-class"] = storageClass }
    for (name, value) in request.userMetadata.sorted(by: { $0.key < $1.key }) {
      guard UserMetadata.isValid(name: name) else {
        throw .unsendable(operation, key, "\"\(name.utf8.printable)\" can't name user metadata")
      }
      fields[UserMetadata.headerPrefix + name.lowercased()] = UserMetadata.headerValue(of: value)
    }
  }

  /// Adds where the bytes come from.
  mutating func copy(
    from source: CopySource,
    bucket: String
  ) throws(StoreError) {
    guard !source.key.bytes.isEmpty else {
      throw .unsendable(operation, key, "the key of a copy's source can't be empty")
    }
    // Both parts percent-encoded with their slashes: the spelling that every store decodes right.
    var value = PercentEncoding.path((source.bucket ?? bucket).utf8)
    value += "/" + PercentEncoding.path(source.key.bytes)
    if let versionID = source.versionID {
      value += "?versionId=" + PercentEncoding.query(versionID)
    }
    fields["x-amz-copy-source"] = value
    require(source.conditions, prefix: "x-amz-copy-source-")
  }
}

extension ByteRange {
  /// The range as `bytes=first-last`, both inclusive.
  ///
  /// Source: RFC 9110 section 14.1.2.
  var httpSpelling: String { "bytes=\(lowerBound)-\(upperBound - 1)" }
}

extension StoreError {
  /// A request that must not be sent.
  static func unsendable(
    _ operation: StoreOperation,
    _ key: ObjectKey?,
    _ message: String
  ) -> StoreError {
    StoreError(.invalidRequest, operation, key: key, message: message)
  }
}
