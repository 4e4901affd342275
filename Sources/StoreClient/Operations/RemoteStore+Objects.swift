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
    let metadata: ObjectMetadata
    do throws(StoreError) {
      metadata = try await read(
        dialect.headObject(key, versionID: versionID, conditions: conditions),
        context
      )
    } catch {
      throw versionID.map { error.blaming(versionID: $0) } ?? error
    }
    if let versionID { try metadata.check(versionID: versionID, of: key) }
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
    let call = try dialect.protected(
      dialect.putObject(request, bodyHash: bodyHash(of: body)),
      by: protection
    )
    let stored = try await send(body, with: call, context) {
      () async throws(StoreError) -> WriteAnswer? in
      guard !call.request.isIdempotent, let proof = await proof(of: body) else { return nil }
      return try await self.found(request.key, proof, context)
    }
    return metadata(of: request, size: body.count, stored)
  }

  package func delete(
    _ key: ObjectKey,
    ifMatch: ETag?,
    context: RequestContext
  ) async throws(StoreError) {
    if ifMatch != nil, !dialect.hasConditionalDelete {
      // The nearest there is: another's write between the two is not noticed.
      do throws(StoreError) {
        _ = try await head(key, versionID: nil, ifMatch: ifMatch, context: context)
      } catch {
        guard error.kind != .notFound else { return }
        throw error
      }
    }
    let condition = dialect.hasConditionalDelete ? ifMatch : nil
    try await write(dialect.deleteObject(key, ifMatch: condition), context) { () async -> Void? in
      // Whoever removed it, it is gone, which is what was asked for.
      await self.isMissing(key, context) ? () : nil
    }
  }

  package func copy(
    _ request: CopyRequest,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    let call = try dialect.protected(dialect.copyObject(request), by: protection)
    let copied = try await create(call, isSilent: true, context) {
      () async throws(StoreError) -> WriteAnswer? in
      // A copy of an object that was stored in one piece has its tag.
      guard !call.request.isIdempotent, let tag = request.source.ifMatch else { return nil }
      return try await self.found(request.target.key, ContentProof(etag: tag), context)
    }
    if let told = metadata(ofCopy: request, copied) { return told }
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

  /// What the store would say of a copy, by its answer and by what is known of the source; nil if they don't
  /// tell all of it.
  ///
  /// A copy with the source's tag is a copy of the version that is known, whether the store looked at the
  /// condition or not. A source that was uploaded in parts gets another tag when it is copied whole, and a
  /// checksum that was to be compared isn't always told: then the store is asked.
  private func metadata(ofCopy request: CopyRequest, _ copied: WriteAnswer) -> ObjectMetadata? {
    guard let known = request.known, let etag = copied.etag, etag == known.version.etag,
      known.crc64 == nil || copied.crc64 != nil,
      let modified = copied.lastModified ?? copied.date
    else { return nil }
    var metadata = known
    metadata.version = ObjectVersion(
      key: request.target.key,
      etag: etag,
      size: known.size,
      lastModified: modified.wholeSecond
    )
    metadata.currentVersionID = copied.versionID
    metadata.crc64 = copied.crc64
    metadata.storageClass = request.target.storageClass
    if request.replacesMetadata {
      metadata.headers = request.target.headers
      metadata.userMetadata = request.target.userMetadata
    }
    if request.replacesTags { metadata.tagCount = request.target.tags.count }
    return metadata
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
    metadata.crc64 = stored.crc64
    return metadata
  }
}

extension ObjectMetadata {
  /// Checks that the answer is of the version that was asked for by its id.
  ///
  /// A store without versions may ignore the id and answer with whatever is there now. `null` is the
  /// version of an object from before a bucket kept versions, which not every answer names.
  ///
  /// Source: Amazon S3 API Reference, "HeadObject", `x-amz-version-id`.
  fileprivate func check(versionID: String, of key: ObjectKey) throws(StoreError) {
    guard versionID != "null" || currentVersionID != nil else { return }
    guard currentVersionID != versionID else { return }
    throw StoreError(
      currentVersionID == nil ? .unsupported : .preconditionFailed,
      .headObject,
      key: key,
      message:
        currentVersionID
        .map { "the store answers with version \($0.utf8.printable) instead" }
        ?? "the store doesn't answer with a version, so the bucket keeps none"
    )
  }
}

extension StoreError {
  /// Names an id of a version as a likely reason of a refusal that has none: an answer to HEAD has no
  /// body to say so.
  fileprivate func blaming(versionID: String) -> StoreError {
    guard status == 400, code == nil else { return self }
    var error = self
    error.message =
      "the store refuses the request without a reason; likely ones are that "
      + "\"\(versionID.utf8.printable)\" is no id of a version, or that the credentials have expired"
    return error
  }
}
