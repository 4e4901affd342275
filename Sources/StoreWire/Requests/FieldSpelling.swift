internal import Core

/// In what the header fields of S3 and TOS differ; most have another prefix and no more.
package struct FieldSpelling: Hashable, Sendable {
  /// What the protocol's own fields start with, in lower case.
  let prefix: String
  /// How user metadata is written.
  let metadata: UserMetadata
  /// The field of a write that must replace nothing.
  let ifAbsent: HeaderFields.Field
  /// The field of a write that must replace a certain version.
  let ifMatch: String
  /// What the signature says of a request without a body of the caller's.
  let bodyless: WireRequest.BodyHash
  /// What the encryption with a key of the provider's service is called.
  let keyService: String
  /// What the name of the field with that key's id ends in.
  let keyIDSuffix: String

  /// S3's.
  package static let s3 = FieldSpelling(
    prefix: "x-amz-",
    metadata: .encodedWords,
    ifAbsent: HeaderFields.Field(name: "If-None-Match", value: "*"),
    ifMatch: "If-Match",
    bodyless: .empty,
    keyService: "aws:kms",
    keyIDSuffix: "-aws-kms-key-id"
  )

  /// TOS's.
  ///
  /// Source: TOS API reference, "PutObject" (x-tos-forbid-overwrite, x-tos-if-match), "Signature".
  package static let tos = FieldSpelling(
    prefix: "x-tos-",
    metadata: .percentEncoding,
    ifAbsent: HeaderFields.Field(name: "x-tos-forbid-overwrite", value: "true"),
    ifMatch: "x-tos-if-match",
    bodyless: .unsigned,
    keyService: "kms",
    keyIDSuffix: "-kms-key-id"
  )
}

extension WireRequest {
  /// Adds the condition of a write.
  mutating func require(_ condition: WriteCondition, in spelling: FieldSpelling) {
    switch condition {
    case .none: return
    case .ifAbsent: fields[spelling.ifAbsent.name] = spelling.ifAbsent.value
    case .ifMatch(let etag): fields[spelling.ifMatch] = etag.quoted
    }
    self.condition = condition
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
  mutating func tag(_ tags: [String: String], in spelling: FieldSpelling) {
    guard !tags.isEmpty else { return }
    fields[spelling.prefix + "tagging"] = PercentEncoding.form(tags)
  }

  /// Adds what the new object shall say of itself.
  mutating func describe(
    _ request: PutRequest,
    in spelling: FieldSpelling
  ) throws(StoreError) {
    for (name, value) in request.headers.fields { fields[name] = value }
    if let storageClass = request.storageClass {
      fields[spelling.prefix + "storage-class"] = storageClass
    }
    for (name, value) in request.userMetadata.sorted(by: { $0.key < $1.key }) {
      guard let field = spelling.metadata.field(name, value) else {
        throw .unsendable(operation, key, "\"\(name.utf8.printable)\" can't name user metadata")
      }
      fields[spelling.prefix + "meta-" + field.name] = field.value
    }
  }

  /// Adds where the bytes come from, which is in `bucket` unless the source names another: both parts
  /// percent-encoded with their slashes, the spelling that every store decodes right.
  mutating func copy(
    from source: CopySource,
    bucket: String,
    in spelling: FieldSpelling
  ) throws(StoreError) {
    guard !source.key.bytes.isEmpty else {
      throw .unsendable(operation, key, "the key of a copy's source can't be empty")
    }
    var value = PercentEncoding.path((source.bucket ?? bucket).utf8)
    value += "/" + PercentEncoding.path(source.key.bytes)
    if let versionID = source.versionID {
      value += "?versionId=" + PercentEncoding.query(versionID)
    }
    fields[spelling.prefix + "copy-source"] = value
    require(source.conditions, prefix: spelling.prefix + "copy-source-")
  }

  /// Returns the request if all its fields can be sent.
  ///
  /// - Throws: `.invalidRequest` if a value has what would end the field.
  func checked() throws(StoreError) -> WireRequest {
    for field in fields.fields {
      guard field.value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
        throw .unsendable(
          operation,
          key,
          "the value of \(field.name) has characters that a header field can't carry"
        )
      }
    }
    return self
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
