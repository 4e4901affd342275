internal import Core
internal import Support

extension ObjectPublishing {
  /// Asks the store whether an earlier run of the same request, whose end nobody told, has made the object.
  ///
  /// What was sent in one request is known by its size, its user metadata and the tag or the checksum of its
  /// bytes; what was uploaded in parts by those of the parts that its checkpoint has. A copy of another object is
  /// not looked for: a second one makes the same. One of an object onto itself may have another tag (of what
  /// was uploaded in parts, or is encrypted): it is known by its size, and by the facts that it was made for.
  ///
  /// - Returns: the object, whose upload has been put away; nil if nothing shows that it is there.
  /// - Throws: `TransferError` if the store can't be asked, or the draft's bytes can't be read.
  package func settled() async throws(TransferError) -> StoredObject? {
    let steps = steps(.none)
    switch request.plan {
    case .nothing: return nil
    case .copy(let version):
      guard version.key == request.target.key, let found = try await steps.found(),
        found.version.etag != version.etag, hasFacts(found, of: version)
      else { return nil }
      return StoredObject(found)
    case .put:
      let size = request.draft.size
      guard let found = try await steps.found(), found.size == size,
        found.userMetadata == request.target.userMetadata
      else { return nil }
      let sums = try await sums(ChecksumKinds(crc64: found.crc64 != nil, md5: true))
      let verdict = CompletionVerdict(
        isUploadThere: false,
        found: found,
        size: size,
        etag: sums.md5,
        crc64: sums.crc64,
        before: nil
      )
      guard case .done(let metadata) = verdict else { return nil }
      return StoredObject(metadata)
    case .parts(let parts):
      guard let path = request.checkpointPath,
        let earlier = try await Self.earlier(path, environment), request.continues(earlier),
        earlier.parts.count == parts.count,
        let stored = try await steps.completed(Array(earlier.parts.values), crc64: nil)
      else { return nil }
      try await abandon()
      return stored
    }
  }

  /// What is there is what a copy of a version onto itself was to be.
  private func hasFacts(_ found: ObjectMetadata, of version: ObjectVersion) -> Bool {
    let (metadata, type) = (request.target.userMetadata, request.target.headers.contentType)
    return found.size == version.size && !metadata.isEmpty && found.userMetadata == metadata
      && (type == nil || type == found.headers.contentType)
  }

  /// The checksums of all of the draft's bytes.
  private func sums(_ kinds: ChecksumKinds) async throws(TransferError) -> PartChecksums {
    let range = ByteRange(0, request.draft.size)
    guard !range.isEmpty else { return PartChecksums.of([], kinds) }
    return try await checksums(range, of: try await bytes(range), kinds)
  }
}

extension TransferError {
  /// What was to be made may have been made although this was all that came back.
  package var leavesDoubt: Bool {
    switch self {
    case .store(let error): !error.isRefusedCondition && CompletionVerdict.isInDoubt(after: error)
    // Whoever was stopped has seen no answer; the disk may have failed behind it.
    case .paused, .stopped, .disk: true
    case .invalid, .fetch, .held, .differs, .unknownFormat, .sourceChanged, .targetChanged,
      .wrongChecksum:
      false
    }
  }
}
