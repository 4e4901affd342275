package import Core

/// The requests that the protocols of S3 and TOS have in common, as pure functions from the seam's
/// values; what differs in them is `spelling`.
///
/// Conformers: `S3Requests`, `TOSRequests`.
///
/// Everything that comes from outside is checked here before it becomes part of a request: an empty
/// key would turn an operation on an object into one on the bucket, and a control character in a
/// field's value would end the field. `.invalidRequest` says so.
///
/// HTTP's inclusive byte positions exist only in this target.
///
/// Source: Amazon S3 API Reference and TOS API reference, the operations of the same names.
package protocol WireRequests {
  /// How the protocol spells its own header fields.
  static var spelling: FieldSpelling { get }
}

extension WireRequests {
  /// GetObject of a range, of one version if the request names one.
  package static func getObject(_ request: GetRequest) throws(StoreError) -> WireRequest {
    var wire = try object(.getObject, .get, request.key, versionID: request.versionID)
    wire.fields["Range"] = request.range.httpSpelling
    if let etag = request.ifMatch { wire.fields["If-Match"] = etag.quoted }
    return try wire.checked()
  }

  /// HeadObject.
  package static func headObject(
    _ key: ObjectKey,
    versionID: String? = nil,
    conditions: ReadConditions = ReadConditions()
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.headObject, .head, key, versionID: versionID)
    wire.require(conditions)
    return try wire.checked()
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
    return bucket(.listObjects, .get, query)
  }

  /// HeadBucket.
  package static func headBucket() -> WireRequest {
    bucket(.headBucket, .head)
  }

  /// PutObject; the body is the caller's, and `bodyHash` what the signature says of it.
  package static func putObject(
    _ request: PutRequest,
    bodyHash: WireRequest.BodyHash = .unsigned
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.putObject, .put, request.key)
    wire.bodyHash = bodyHash
    wire.require(request.condition, in: spelling)
    try wire.describe(request, in: spelling)
    wire.tag(request.tags, in: spelling)
    return try wire.checked()
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
    if let ifMatch { wire.require(.ifMatch(ifMatch), in: spelling) }
    return try wire.checked()
  }

  /// CopyObject from `request.source`, which is in `bucket` unless it names another.
  package static func copyObject(
    _ request: CopyRequest,
    bucket: String
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.copyObject, .put, request.target.key)
    try wire.copy(from: request.source, bucket: bucket, in: spelling)
    wire.fields[spelling.prefix + "metadata-directive"] =
      request.replacesMetadata ? "REPLACE" : "COPY"
    wire.require(request.target.condition, in: spelling)
    if request.replacesMetadata { try wire.describe(request.target, in: spelling) }
    if request.replacesTags {
      // The other directive is the default, and some stores don't know the field.
      wire.fields[spelling.prefix + "tagging-directive"] = "REPLACE"
      wire.tag(request.target.tags, in: spelling)
    }
    // Without it a copy has the standard class, whatever its source had.
    if let storageClass = request.target.storageClass {
      wire.fields[spelling.prefix + "storage-class"] = storageClass
    }
    return try wire.checked()
  }

  /// Creates a request about an object.
  static func object(
    _ operation: StoreOperation,
    _ method: WireRequest.Method,
    _ key: ObjectKey,
    versionID: String? = nil
  ) throws(StoreError) -> WireRequest {
    guard !key.bytes.isEmpty else {
      throw .unsendable(operation, key, "an object's key can't be empty")
    }
    return WireRequest(
      operation,
      method,
      key: key,
      query: versionID.map { [WireRequest.QueryItem("versionId", $0)] } ?? [],
      bodyHash: spelling.bodyless
    )
  }

  /// Creates a request about the bucket.
  static func bucket(
    _ operation: StoreOperation,
    _ method: WireRequest.Method,
    _ query: [WireRequest.QueryItem] = []
  ) -> WireRequest {
    WireRequest(operation, method, query: query, bodyHash: spelling.bodyless)
  }
}
