package import Core

/// The answers of the S3 protocol.
///
/// Source: Amazon S3 API Reference, the operations of the same names.
package enum S3Answers: WireAnswers {
  package static let spelling = FieldSpelling.s3

  /// Returns true if the bytes must be restored before they can be read.
  ///
  /// GLACIER_IR is read at once. A restored copy says so by a restore that is no longer going on.
  ///
  /// Source: Amazon S3 API Reference, "HeadObject", x-amz-restore.
  package static func isArchived(storageClass: String?, restore: String?) -> Bool {
    guard storageClass == "GLACIER" || storageClass == "DEEP_ARCHIVE" else { return false }
    return restore?.contains("ongoing-request=\"false\"") != true
  }

  /// Reads the answer to HeadBucket.
  ///
  /// - Returns: the bucket's region, if the store says.
  package static func bucket(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> String? {
    guard answer.isSuccess else { throw error(answer, to: request) }
    return regionHint(answer)
  }
}
