package import Core
internal import Support

extension LocalStore {
  package func put(
    _ request: PutRequest,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    try await run(.putObject, key: request.key, context: context) { call throws(StoreError) in
      let key = try call.namesToWrite(request.key)
      let commit = try self.openCommit(call)
      let attributes = ObjectAttributes(request)
      if key.isMarker {
        guard body.count == 0 else {
          throw call.unholdable("it ends in a slash and has bytes")
        }
        let facts = try commit.publishMarker(key, attributes, condition: request.condition)
        return attributes.metadata(request.key, facts)
      }
      let staged = try commit.stage()
      try staged.append(body, call)
      let facts = try commit.finish(staged, attributes, as: key, request.condition)
      var metadata = attributes.metadata(request.key, facts)
      metadata.crc64 = staged.checksum
      return metadata
    }
  }

  package func delete(
    _ key: ObjectKey,
    ifMatch: ETag?,
    context: RequestContext
  ) async throws(StoreError) {
    try await run(.deleteObject, key: key, context: context) { call throws(StoreError) in
      // A key that the directory can't hold isn't there, and that is no error.
      guard let names = try? LocalKey(key) else { return }
      let commit = try self.openCommit(call)
      try commit.remove(names, ifMatch: ifMatch)
    }
  }

  package func delete(
    _ keys: [ObjectKey],
    context: RequestContext
  ) async throws(StoreError) -> [ObjectKey: StoreError] {
    var failures: [ObjectKey: StoreError] = [:]
    for key in keys {
      do throws(StoreError) {
        try await delete(key, ifMatch: nil, context: context)
      } catch {
        // What stops this one for a reason of its own doesn't stop the others.
        guard error.kind != .cancelled, error.kind != .timedOut, error.kind != .noSuchBucket else {
          throw error
        }
        failures[key] = error
      }
    }
    return failures
  }

  package func copy(
    _ request: CopyRequest,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    try await run(.copyObject, key: request.target.key, context: context) {
      call throws(StoreError) in
      let key = try call.namesToWrite(request.target.key)
      let commit = try self.openCommit(call)
      let (source, facts) = try call.open(request.source, in: commit.tree)
      let kept = try call.attempt { () throws(DiskFailure) in try ObjectAttributes(of: source) }
      var attributes = request.replacesMetadata ? ObjectAttributes(request.target) : kept
      attributes.tags = request.replacesTags ? request.target.tags : kept.tags
      let size = facts.kind == .file ? facts.size : 0
      if key.isMarker {
        guard size == 0 else { throw call.unholdable("it ends in a slash and has bytes") }
        let marker = try commit.publishMarker(
          key,
          attributes,
          condition: request.target.condition
        )
        return attributes.metadata(key.key, marker)
      }
      let staged = try commit.stage()
      try staged.append(ByteRange(0, size), of: source.number, call)
      try call.checkUnchanged(source, facts, request.source.key)
      let target = try commit.finish(staged, attributes, as: key, request.target.condition)
      return attributes.metadata(key.key, target)
    }
  }
}

extension Commit {
  /// Makes an empty file to be filled.
  func stage() throws(StoreError) -> StagedFile {
    let workspace = workspace
    return try call.attempt { () throws(DiskFailure) in try StagedFile(in: workspace) }
  }

  /// Completes a filled file and makes it the object at `key`.
  fileprivate func finish(
    _ staged: StagedFile,
    _ attributes: ObjectAttributes,
    as key: LocalKey,
    _ condition: WriteCondition
  ) throws(StoreError) -> FileFacts {
    try call.attempt { () throws(DiskFailure) in
      try staged.finish(attributes, synchronizes: synchronizes)
    }
    return try publish(staged, as: key, condition: condition)
  }
}

extension LocalCall {
  /// Opens what is to be copied.
  func open(
    _ source: CopySource,
    in tree: LocalTree
  ) throws(StoreError) -> (FileDescriptor, FileFacts) {
    guard source.bucket == nil, source.versionID == nil else {
      throw error(.unsupported, "a directory copies only its own objects, as they are now")
    }
    let (file, facts) = try open(source.key, in: tree)
    try check(source.conditions, facts, source.key)
    return (file, facts)
  }

  /// Throws if a file that was copied from has changed meanwhile.
  func checkUnchanged(
    _ file: FileDescriptor,
    _ facts: FileFacts,
    _ key: ObjectKey
  ) throws(StoreError) {
    let now = try attempt { () throws(DiskFailure) in try FileFacts(of: file) }
    guard now.etag == facts.etag else { throw changed(key) }
  }
}
