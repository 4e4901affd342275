internal import Core

extension S3Answers {
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
        lastModified: fields["Last-Modified"].flatMap(WireDate.http) ?? Timestamp(seconds: 0),
        versionID: versionID
      )
    )
    metadata.storageClass = fields["x-amz-storage-class"].flatMap { $0.isEmpty ? nil : $0 }
    metadata.headers = headers(fields)
    metadata.currentVersionID = self.versionID(fields)
    metadata.tagCount = fields["x-amz-tagging-count"]?.utf8.decimalValue
    metadata.userMetadata = userMetadata(fields)
    metadata.isArchived = isArchived(
      storageClass: metadata.storageClass,
      restore: fields["x-amz-restore"]
    )
    return metadata
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
    fields["x-amz-version-id"].flatMap { $0.isEmpty || $0 == "null" ? nil : $0 }
  }

  /// Returns true if the bytes must be restored before they can be read.
  ///
  /// GLACIER_IR is read at once. A restored copy says so by a restore that is no longer going on.
  ///
  /// Source: Amazon S3 API Reference, "HeadObject", x-amz-restore.
  static func isArchived(storageClass: String?, restore: String?) -> Bool {
    guard storageClass == "GLACIER" || storageClass == "DEEP_ARCHIVE" else { return false }
    return restore?.contains("ongoing-request=\"false\"") != true
  }

  private static func userMetadata(_ fields: HeaderFields) -> [String: String] {
    var metadata: [String: String] = [:]
    for field in fields.fields {
      let name = field.name.lowercased()
      guard name.hasPrefix(UserMetadata.headerPrefix) else { continue }
      let short = String(name.dropFirst(UserMetadata.headerPrefix.count))
      guard !short.isEmpty else { continue }
      let value = UserMetadata.value(ofHeader: field.value)
      metadata[short] = metadata[short].map { "\($0),\(value)" } ?? value
    }
    return metadata
  }
}

/// The range in an answer's `Content-Range`, half-open.
///
/// Source: RFC 9110 section 14.4.
struct ContentRange: Hashable {
  /// The bytes that follow.
  let range: ByteRange
  /// The object's size; nil if the store doesn't know it.
  let size: Int?

  /// Reads `bytes 0-99/1234` or `bytes 0-99/*`; nil if it is anything else or contradicts itself.
  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let pieces = words[1].utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard pieces.count == 2 else { return nil }
    let bounds = pieces[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard bounds.count == 2, let first = bounds[0].sizeValue, let last = bounds[1].sizeValue,
      first <= last
    else { return nil }
    range = ByteRange(first, last + 1)
    if pieces[1].elementsEqual("*".utf8) {
      size = nil
    } else {
      guard let size = pieces[1].sizeValue, last < size else { return nil }
      self.size = size
    }
  }
}

extension Sequence<UInt8> {
  /// The bytes as an object's size or a position in it: at most 64 PiB.
  ///
  /// No store keeps larger objects, and sums of a few such numbers can't overflow anywhere.
  var sizeValue: Int? {
    decimalValue.flatMap { $0 <= 1 << 56 ? $0 : nil }
  }
}
