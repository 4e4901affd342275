extension ObjectStore {
  /// Returns what the store says of the object at `key`, if it is `ifMatch` where that is given.
  package func head(
    _ key: ObjectKey,
    versionID: String?,
    ifMatch: ETag?,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    try await head(
      key,
      versionID: versionID,
      conditions: ReadConditions(ifMatch: ifMatch),
      context: context
    )
  }
}

/// What not every store can do is refused by the others, each in the same words.
extension ObjectStore {
  package func rename(
    _ request: RenameRequest,
    context: RequestContext
  ) async throws(StoreError) {
    throw .lacking(.renameObject, request.source)
  }

  package func replaceMetadata(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) {
    throw .lacking(.setObjectMeta, request.key)
  }

  package func setModificationTime(
    of key: ObjectKey,
    to time: Timestamp,
    context: RequestContext
  ) async throws(StoreError) {
    throw .lacking(.setObjectTime, key)
  }

  package func status(
    of key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> KeyStatus {
    throw .lacking(.getFileStatus, key)
  }

  package func deleteDirectory(
    _ key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) {
    throw .lacking(.deleteObject, key)
  }

  package func restore(
    _ key: ObjectKey,
    days: Int,
    tier: RestoreTier,
    context: RequestContext
  ) async throws(StoreError) {
    throw .lacking(.restoreObject, key)
  }

  package func putLink(
    _ key: ObjectKey,
    to target: LinkTarget,
    context: RequestContext
  ) async throws(StoreError) {
    throw .lacking(.putSymlink, key)
  }

  package func linkTarget(
    of key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> LinkTarget {
    throw .lacking(.getSymlink, key)
  }
}

extension StoreError {
  /// The store has no such operation; nothing was sent.
  package static func lacking(_ operation: StoreOperation, _ key: ObjectKey) -> StoreError {
    StoreError(.unsupported, operation, key: key, message: "this store can't do that")
  }
}
