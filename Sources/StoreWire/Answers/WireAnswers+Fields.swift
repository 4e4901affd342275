package import Core

extension WireAnswers {
  /// Reads what the header fields of an answer say of an object.
  ///
  /// A field that can't be read counts as absent: an object with an odd date is better than none.
  static func metadata(
    _ fields: HeaderFields,
    key: ObjectKey,
    size: Int,
    versionID: String?
  ) -> ObjectMetadata {
    var metadata = ObjectMetadata(
      version: ObjectVersion(
        key: key,
        etag: etag(fields["ETag"]),
        size: size,
        lastModified: lastModified(fields) ?? Timestamp(seconds: 0),
        versionID: versionID
      )
    )
    metadata.storageClass = fields[spelling.prefix + "storage-class"].flatMap {
      $0.isEmpty ? nil : $0
    }
    metadata.headers = headers(fields)
    metadata.tagCount = fields[spelling.prefix + "tagging-count"]?.utf8.decimalValue
    metadata.currentVersionID = self.versionID(fields)
    metadata.crc64 = checksum(fields)
    metadata.userMetadata = spelling.metadata.read(fields, prefix: spelling.prefix + "meta-")
    metadata.isArchived = isArchived(
      storageClass: metadata.storageClass,
      restore: fields[spelling.prefix + "restore"]
    )
    return metadata
  }

  /// When the object was last modified; TOS tells the nanoseconds beside the seconds, where it has
  /// them.
  private static func lastModified(_ fields: HeaderFields) -> Timestamp? {
    guard let moment = fields["Last-Modified"].flatMap(WireDate.http) else { return nil }
    guard let fraction = fields[spelling.prefix + "last-modified-ns"]?.utf8.decimalValue,
      fraction < 1_000_000_000
    else { return moment }
    let (sum, overflow) = moment.nanoseconds.addingReportingOverflow(Int64(fraction))
    return overflow ? moment : Timestamp(nanoseconds: sum)
  }

  /// CRC-64/XZ of what the answer is about: the whole object, even where the answer has a part of it.
  ///
  /// Source: TOS API reference, "HeadObject", x-tos-hash-crc64ecma.
  package static func checksum(_ fields: HeaderFields) -> UInt64? {
    fields[spelling.prefix + "hash-crc64ecma"].flatMap { UInt64($0) }
  }

  /// Reads what the object is served with.
  ///
  /// Stores of the protocol return the marker of chunked signing that some clients leave in the
  /// encoding; it is no property of the object. Source: Amazon S3 User Guide, "Uploading objects".
  private static func headers(_ fields: HeaderFields) -> ContentHeaders {
    var headers = ContentHeaders(fields)
    let encodings = headers.contentEncoding?.split { $0 == "," || $0 == " " } ?? []
    let own = encodings.filter { $0.lowercased() != "aws-chunked" }
    if own.count < encodings.count || own.isEmpty {
      headers.contentEncoding = own.isEmpty ? nil : own.joined(separator: ", ")
    }
    return headers
  }

  /// Reads a tag; nil if it is none that could be sent back in a condition.
  static func etag(_ text: String?) -> ETag? {
    guard let text, (1...1024).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    let etag = ETag(text)
    return etag.value.isEmpty ? nil : etag
  }

  /// The id of the version that an answer is about; a bucket that keeps none says `null`.
  static func versionID(_ fields: HeaderFields) -> String? {
    fields[spelling.prefix + "version-id"].flatMap { $0.isEmpty || $0 == "null" ? nil : $0 }
  }

  /// The store's id of an answer, for whoever asks its support.
  static func requestID(_ answer: WireAnswer) -> String? {
    answer.fields[spelling.prefix + "request-id"].flatMap { $0.shown(128) }
  }

  /// How long to wait, in seconds or until a moment of the store's clock.
  static func retryAfter(_ answer: WireAnswer) -> Duration? {
    guard let text = answer.fields["Retry-After"] else { return nil }
    // A day is longer than any deadline.
    if let seconds = text.utf8.decimalValue { return .seconds(min(seconds, 86_400)) }
    guard let end = WireDate.http(text), let now = answer.date, end > now else {
      return nil
    }
    return .seconds(min(end.seconds - now.seconds, 86_400))
  }
}
