package import Core

/// What the answers of S3 and TOS have in common, mostly because it is HTTP's, as pure functions from
/// what came to the seam's values.
///
/// Conformers: `S3Answers`, `TOSAnswers`.
///
/// Each takes the answer and the request that it belongs to, and throws what the answer means if
/// it isn't the success that it should be. Nothing that a store sends is trusted to fit: what
/// breaks the protocol is `.invalidAnswer`.
package protocol WireAnswers {
  /// How the protocol spells its own header fields.
  static var spelling: FieldSpelling { get }

  /// Returns what an answer that isn't a success means.
  static func error(_ answer: WireAnswer, to request: WireRequest) -> StoreError

  /// Returns true if the bytes must be restored before they can be read.
  static func isArchived(storageClass: String?, restore: String?) -> Bool
}

extension WireAnswers {
  /// Reads the head of a HeadObject answer.
  package static func object(
    _ answer: WireAnswer,
    to request: WireRequest,
    versionID: String? = nil
  ) throws(StoreError) -> ObjectMetadata {
    guard answer.status == 200, let key = request.key else { throw error(answer, to: request) }
    guard let size = answer.fields["Content-Length"]?.utf8.sizeValue else {
      throw invalid(answer, to: request, "the store doesn't say how large the object is")
    }
    return metadata(answer.fields, key: key, size: size, versionID: versionID)
  }

  /// Reads the head of a GetObject answer and checks that exactly the range that was asked for
  /// follows, of the version that was asked for.
  ///
  /// A store that ignores the range is taken at its word only if the range is the whole object.
  ///
  /// - Throws: what an error's head alone means if the status is none of success (its body has
  ///   more to say, see `error`); `.preconditionFailed` if the object is another version than
  ///   `get` names; `.rangeNotSatisfiable` if the object ends before the range does;
  ///   `.invalidAnswer` for another range.
  package static func objectRange(
    _ answer: WireAnswer,
    to request: WireRequest,
    get: GetRequest
  ) throws(StoreError) -> ObjectMetadata {
    let range: ByteRange
    let size: Int
    switch answer.status {
    case 206:
      guard let text = answer.fields["Content-Range"],
        let contentRange = ContentRange(text)
      else { throw invalid(answer, to: request, "the answer doesn't say which range it has") }
      range = contentRange.range
      guard let known = contentRange.size ?? get.objectSize else {
        throw invalid(answer, to: request, "the store doesn't say how large the object is")
      }
      size = known
    case 200:
      guard let length = answer.fields["Content-Length"]?.utf8.sizeValue else {
        throw invalid(answer, to: request, "the store doesn't say how large the object is")
      }
      range = ByteRange(0, length)
      size = length
    default: throw error(answer, to: request)
    }
    let metadata = metadata(answer.fields, key: get.key, size: size, versionID: get.versionID)
    try check(metadata, answer, to: request, get: get)
    guard range == get.range else {
      if range.lowerBound == get.range.lowerBound, range.upperBound == size,
        size < get.range.upperBound
      {
        throw StoreError(
          .rangeNotSatisfiable,
          request.operation,
          key: request.key,
          status: answer.status,
          message: "the object ends at byte \(size), before the end of \(get.range.inWords)"
        )
      }
      throw invalid(
        answer,
        to: request,
        "the store sent \(range.inWords) instead of \(get.range.inWords)"
      )
    }
    if let length = answer.fields["Content-Length"], length.utf8.sizeValue != range.count {
      throw invalid(answer, to: request, "the answer's length is not that of its range")
    }
    return metadata
  }

  /// Checks that the answer is of the version that was asked for, because some stores ignore
  /// `If-Match`.
  private static func check(
    _ metadata: ObjectMetadata,
    _ answer: WireAnswer,
    to request: WireRequest,
    get: GetRequest
  ) throws(StoreError) {
    let isOtherTag =
      get.ifMatch.map { wanted in metadata.version.etag.map { $0 != wanted } ?? false } ?? false
    let isOtherSize = get.objectSize.map { $0 != metadata.size } ?? false
    guard isOtherTag || isOtherSize else { return }
    throw StoreError(
      .preconditionFailed,
      request.operation,
      key: request.key,
      status: answer.status,
      message: isOtherTag
        ? "the object is no longer the version that was asked for"
        : "the object is no longer as large as it was"
    )
  }

  /// Reads the answer to PutObject.
  package static func stored(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> WriteAnswer {
    guard answer.isSuccess else { throw error(answer, to: request) }
    return WriteAnswer(
      etag: etag(answer.fields["ETag"]),
      lastModified: answer.fields["Last-Modified"].flatMap(WireDate.http),
      date: answer.date,
      versionID: versionID(answer.fields),
      crc64: checksum(answer.fields)
    )
  }

  /// Reads the answer to UploadPart.
  package static func uploadedPart(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> ETag {
    guard answer.isSuccess else { throw error(answer, to: request) }
    guard let etag = etag(answer.fields["ETag"]) else {
      throw invalid(answer, to: request, "the answer has no tag of the part")
    }
    return etag
  }

  /// Reads the answer to DeleteObject.
  package static func deleted(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) {
    guard !answer.isSuccess else { return }
    let error = error(answer, to: request)
    // Gone is what was wanted; a condition on a version that is gone was not met.
    guard error.kind != .notFound else { return }
    throw error
  }

  /// Reads the answer to AbortMultipartUpload; an upload that is gone already is no error.
  package static func aborted(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) {
    guard !answer.isSuccess else { return }
    let error = error(answer, to: request)
    guard error.kind != .noSuchUpload else { return }
    throw error
  }

  /// An answer that breaks the protocol.
  static func invalid(
    _ answer: WireAnswer,
    to request: WireRequest,
    _ message: String
  ) -> StoreError {
    StoreError(
      .invalidAnswer,
      request.operation,
      key: request.key,
      status: answer.status,
      requestID: requestID(answer),
      message: message
    )
  }
}
