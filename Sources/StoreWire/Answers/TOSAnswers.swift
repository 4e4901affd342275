package import Core

/// The answers of TOS's own protocol.
///
/// Source: TOS API reference, the operations of the same names.
package enum TOSAnswers: WireAnswers {
  package static let spelling = FieldSpelling.tos

  /// Returns true if the bytes must be restored before they can be read.
  ///
  /// ARCHIVE_FR is read at once. A restored object says so by a restore that is no longer going on.
  ///
  /// Source: TOS API reference, "HeadObject", x-tos-restore.
  package static func isArchived(storageClass: String?, restore: String?) -> Bool {
    let classes = ["ARCHIVE", "COLD_ARCHIVE", "DEEP_COLD_ARCHIVE"]
    guard let storageClass, classes.contains(storageClass) else { return false }
    return restore?.contains("ongoing-request=\"false\"") != true
  }

  /// Reads the answer to HeadBucket.
  package static func bucket(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> BucketFacts {
    guard answer.isSuccess else { throw error(answer, to: request) }
    let type = answer.fields["x-tos-bucket-type"] ?? answer.fields["x-bucket-type"]
    return BucketFacts(
      region: regionHint(answer),
      isHierarchical: type?.lowercased() == "hns"
    )
  }

  /// Reads the answer to HeadObject.
  ///
  /// Where directories exist by themselves, the name of one without a slash is found too; as a key it
  /// has no object. A link has the size of what it leads to, because that is what is read.
  ///
  /// Source: TOS API reference, "HeadObject", x-tos-directory, x-tos-symlink-target-size.
  package static func headedObject(
    _ answer: WireAnswer,
    to request: WireRequest,
    versionID: String?
  ) throws(StoreError) -> ObjectMetadata {
    var metadata = try object(answer, to: request, versionID: versionID)
    if isDirectory(answer), !metadata.key.isDirectoryMarker {
      throw StoreError(
        .notFound,
        request.operation,
        key: request.key,
        status: answer.status,
        requestID: requestID(answer),
        message: "there is no such object, but a directory of that name"
      )
    }
    if answer.fields["x-tos-object-type"] == "Symlink",
      let size = answer.fields["x-tos-symlink-target-size"]?.utf8.sizeValue
    {
      metadata.version = ObjectVersion(
        key: metadata.key,
        etag: metadata.version.etag,
        size: size,
        lastModified: metadata.version.lastModified,
        versionID: metadata.version.versionID
      )
    }
    return metadata
  }

  /// Reads the answer to HeadObject for what a key is, where directories exist by themselves.
  package static func headedStatus(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> KeyStatus {
    if answer.status == 200, isDirectory(answer) { return .prefix }
    do throws(StoreError) {
      return .object(try headedObject(answer, to: request, versionID: nil))
    } catch {
      guard error.kind == .notFound else { throw error }
      return .nothing
    }
  }

  private static func isDirectory(_ answer: WireAnswer) -> Bool {
    answer.fields["x-tos-directory"]?.lowercased() == "true"
  }

  /// Reads an answer that has nothing to say but that it is done.
  package static func done(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) {
    guard answer.isSuccess else { throw error(answer, to: request) }
    if let hidden = TOSErrorDocument.hidden(in: answer) {
      throw error(answer, to: request, hidden)
    }
  }

  /// Reads the answer to RestoreObject; a restore that is going on already is what was wanted.
  package static func restored(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) {
    do throws(StoreError) {
      try done(answer, to: request)
    } catch {
      guard error.code == TOSErrorCode.restoreInProgress.rawValue else { throw error }
    }
  }

  /// Reads the answer to GetSymlink.
  package static func linkTarget(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> LinkTarget {
    guard answer.isSuccess else { throw error(answer, to: request) }
    guard let text = answer.fields["x-tos-symlink-target"], !text.isEmpty else {
      throw invalid(answer, to: request, "the answer doesn't say where the link leads")
    }
    let bucket = answer.fields["x-tos-symlink-bucket"]
    return LinkTarget(
      bucket: bucket?.isEmpty == false ? bucket : nil,
      key: ObjectKey(PercentEncoding.decode(text.utf8) ?? Array(text.utf8))
    )
  }
}
