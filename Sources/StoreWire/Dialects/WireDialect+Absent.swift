package import Core

/// What not every protocol has.
extension WireDialect {
  package func meansNotEmpty(_ failure: StoreError) -> Bool { false }

  package func rename(
    _ request: RenameRequest,
    in bucket: BucketFacts?
  ) throws(StoreError) -> WireCall<Void> {
    throw .lacking(.renameObject, request.source)
  }

  package func replaceMetadata(_ request: PutRequest) throws(StoreError) -> WireCall<Void> {
    throw .lacking(.setObjectMeta, request.key)
  }

  package func setModificationTime(
    of key: ObjectKey,
    to time: Timestamp
  ) throws(StoreError) -> WireCall<Void> {
    throw .lacking(.setObjectTime, key)
  }

  package func status(
    of key: ObjectKey,
    in bucket: BucketFacts
  ) throws(StoreError) -> WireCall<KeyStatus> {
    throw .lacking(.getFileStatus, key)
  }

  package func deleteDirectory(_ key: ObjectKey) throws(StoreError) -> WireCall<Void> {
    throw .lacking(.deleteObject, key)
  }

  package func restore(
    _ key: ObjectKey,
    days: Int,
    tier: RestoreTier
  ) throws(StoreError) -> WireCall<Void> {
    throw .lacking(.restoreObject, key)
  }

  package func putLink(
    _ key: ObjectKey,
    to target: LinkTarget
  ) throws(StoreError) -> WireCall<Void> {
    throw .lacking(.putSymlink, key)
  }

  package func linkTarget(of key: ObjectKey) throws(StoreError) -> WireCall<LinkTarget> {
    throw .lacking(.getSymlink, key)
  }
}
