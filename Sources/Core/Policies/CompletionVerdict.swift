/// What became of an upload whose completion got no clear answer, from what the store says afterwards.
///
/// A completion's answer can be lost after the store has done it, and a repeat then finds no such upload,
/// or something at the key that a condition forbids. Whoever guesses either loses an object or claims one
/// that isn't there; the store is asked instead.
package enum CompletionVerdict: Hashable, Sendable {
  /// The object at the key is the one that the parts make.
  case done(ObjectMetadata)
  /// The upload is still there, so it was not completed; completing again is right.
  case notDone
  /// The upload is gone and its object isn't to be seen: it was given up by somebody, or its object was
  /// replaced or removed at once.
  case unknown

  /// Returns true if a completion that failed so may have been done all the same.
  package static func isInDoubt(after failure: StoreError) -> Bool {
    switch failure.kind {
    case .unreachable, .timedOut, .serverFailure, .invalidAnswer, .throttled, .conflict: true
    // What a repeat of a lost answer finds.
    case .noSuchUpload, .alreadyExists, .preconditionFailed: true
    case .notFound, .noSuchBucket, .accessDenied, .badCredentials, .archived, .rangeNotSatisfiable,
      .untrusted, .wrongRegion, .unsupported, .tooLarge, .invalidRequest, .sinkRefused, .offline,
      .cancelled:
      false
    }
  }

  /// Whose object it is at the key.
  ///
  /// - Parameters:
  ///   - isUploadThere: the store still lists the upload; nil if it could not be asked.
  ///   - found: what is at the key; nil if there is nothing or it could not be asked.
  ///   - size: the bytes of all parts.
  ///   - etag: the tag that the parts make, where it follows from theirs.
  ///   - crc64: the checksum that the parts make, where it is known.
  ///   - before: what was at the key before the completion was sent; nil if that isn't known.
  package init(
    isUploadThere: Bool?,
    found: ObjectMetadata?,
    size: Int,
    etag: ETag?,
    crc64: UInt64?,
    before: KeyContent?
  ) {
    if let found, found.size == size {
      // A tag or a checksum of all bytes is proof by itself.
      let isOursByTag = etag != nil && found.version.etag == etag
      let isOursByChecksum = crc64 != nil && found.crc64 == crc64
      // The upload is gone, and a new object of its size stands where it should.
      let isOursByChange = isUploadThere == false && before.map { !$0.isSame(as: found) } ?? false
      // Another writer's object may have the same bytes; that is as good, if nothing of ours is left.
      if isUploadThere != true, isOursByTag || isOursByChecksum || isOursByChange {
        self = .done(found)
        return
      }
    }
    self = isUploadThere == true ? .notDone : .unknown
  }

  /// What was at a key.
  package enum KeyContent: Hashable, Sendable {
    /// No object.
    case nothing
    /// This version.
    case version(ObjectVersion)

    fileprivate func isSame(as found: ObjectMetadata) -> Bool {
      switch self {
      case .nothing: false
      case .version(let version):
        version.isSameContent(as: found.version)
          && version.lastModified.wholeSecond == found.version.lastModified.wholeSecond
      }
    }
  }
}
