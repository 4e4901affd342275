package import Core
internal import StoreWire
internal import Support

extension RemoteStore {
  package func head(
    _ key: ObjectKey,
    versionID: String?,
    conditions: ReadConditions,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    let request = try S3Requests.headObject(key, versionID: versionID, conditions: conditions)
    let metadata = try await read(request, context) { (answer) throws(StoreError) in
      try S3Answers.object(answer, to: request, versionID: versionID)
    }
    // A store that ignores conditions answers with whatever is there now.
    if let objection = conditions.objection(to: metadata.version) {
      throw StoreError(.preconditionFailed, .headObject, key: key, message: objection)
    }
    return metadata
  }

  package func put(
    _ request: PutRequest,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    let wire = try S3Requests.putObject(request, bodyHash: bodyHash(of: body))
    let stored = try await write(wire, body: body, context) { (answer) throws(StoreError) in
      try S3Answers.stored(answer, to: wire)
    } settle: { () async -> WriteAnswer? in
      guard !wire.isIdempotent, let tag = await body.tag() else { return nil }
      return await self.found(request.key, tagged: tag, size: body.count, context)
    }
    return metadata(of: request, size: body.count, stored)
  }

  package func delete(
    _ key: ObjectKey,
    ifMatch: ETag?,
    context: RequestContext
  ) async throws(StoreError) {
    let wire = try S3Requests.deleteObject(key, ifMatch: ifMatch)
    try await write(wire, context) { (answer) throws(StoreError) in
      try S3Answers.deleted(answer, to: wire)
    } settle: { () async -> Void? in
      // Whoever removed it, it is gone, which is what was asked for.
      await self.isMissing(key, context) ? () : nil
    }
  }

  package func copy(
    _ request: CopyRequest,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    let wire = try S3Requests.copyObject(request, bucket: bucket)
    let copied = try await write(wire, isSilent: true, context) { (answer) throws(StoreError) in
      try S3Answers.copied(answer, to: wire)
    } settle: { () async -> WriteAnswer? in
      // A copy of an object that was stored in one piece has its tag.
      guard !wire.isIdempotent, let tag = request.source.ifMatch else { return nil }
      return await self.found(request.target.key, tagged: tag, size: nil, context)
    }
    // The answer has a tag but neither size nor metadata. What is there now may already be
    // another's; its facts must not be taken for the copy's.
    let key = request.target.key
    do throws(StoreError) {
      return try await head(key, versionID: nil, ifMatch: copied.etag, context: context)
    } catch {
      guard error.kind == .preconditionFailed || error.kind == .notFound else { throw error }
      throw StoreError(
        .conflict,
        .copyObject,
        key: key,
        message: "the object was copied, and the copy was replaced or removed at once"
      )
    }
  }

  /// What a store would say of an object that it has just stored.
  private func metadata(
    of request: PutRequest,
    size: Int,
    _ stored: WriteAnswer
  ) -> ObjectMetadata {
    let now = session.withLock { $0.storeTime(surroundings.time.wallTime) }
    var metadata = ObjectMetadata(
      version: ObjectVersion(
        key: request.key,
        etag: stored.etag,
        size: size,
        lastModified: (stored.lastModified ?? stored.date ?? now).wholeSecond
      )
    )
    metadata.headers = request.headers
    metadata.tagCount = request.tags.count
    metadata.userMetadata = request.userMetadata
    metadata.storageClass = request.storageClass
    metadata.currentVersionID = stored.versionID
    return metadata
  }
}
