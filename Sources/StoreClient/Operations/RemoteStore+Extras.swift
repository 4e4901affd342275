package import Core
internal import StoreWire
internal import Support

// What only some stores can do; the dialect throws for those that can't.
extension RemoteStore {
  package func rename(
    _ request: RenameRequest,
    context: RequestContext
  ) async throws(StoreError) {
    let (facts, isKnown) = session.withLock { ($0.bucket, $0.capabilities.hasNativeRename) }
    do throws(StoreError) {
      try await write(dialect.rename(request, in: facts), context) { () async -> Void? in
        // The old name is gone and the new one is there, which is what was asked for.
        guard await self.isMissing(request.source, context),
          await self.isThere(request.target, context)
        else { return nil }
        return ()
      }
    } catch {
      // Who looks at what is there at the new name can rename.
      if error.kind == .alreadyExists {
        session.withLock { $0.capabilities.hasNativeRename = true }
      }
      guard isKnown == nil, error.meansUnable else { throw error }
      session.withLock { $0.capabilities.hasNativeRename = false }
      var refusal = error
      refusal.kind = .unsupported
      throw refusal
    }
    session.withLock { $0.capabilities.hasNativeRename = true }
  }

  package func replaceMetadata(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) {
    try await write(dialect.replaceMetadata(request), context)
  }

  package func setModificationTime(
    of key: ObjectKey,
    to time: Timestamp,
    context: RequestContext
  ) async throws(StoreError) {
    try await write(dialect.setModificationTime(of: key, to: time), context)
  }

  package func status(
    of key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> KeyStatus {
    guard capabilities.hasKeyStatus else { throw .lacking(.getFileStatus, key) }
    return try await read(dialect.status(of: key, in: try await bucketFacts(context)), context)
  }

  package func deleteDirectory(
    _ key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) {
    let call = try dialect.deleteDirectory(key)
    // A flat bucket might take the request for one that is about the key alone.
    guard try await bucketFacts(context).isHierarchical, capabilities.hasRecursiveDelete else {
      throw .lacking(.deleteObject, key)
    }
    do throws(StoreError) {
      try await write(call, isSilent: true, context)
    } catch {
      guard dialect.meansNotEmpty(error) else { throw error }
      // It looked at the key alone; the next directory needn't be tried.
      session.withLock { $0.capabilities.hasRecursiveDelete = false }
      var refusal = error
      refusal.kind = .unsupported
      throw refusal
    }
  }

  package func restore(
    _ key: ObjectKey,
    days: Int,
    tier: RestoreTier,
    context: RequestContext
  ) async throws(StoreError) {
    try await write(dialect.restore(key, days: days, tier: tier), context)
  }

  package func putLink(
    _ key: ObjectKey,
    to target: LinkTarget,
    context: RequestContext
  ) async throws(StoreError) {
    try await write(dialect.putLink(key, to: target), context)
  }

  package func linkTarget(
    of key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> LinkTarget {
    try await read(dialect.linkTarget(of: key), context)
  }

  /// Returns true if the store says that there is an object at `key`.
  private func isThere(_ key: ObjectKey, _ context: RequestContext) async -> Bool {
    (try? await head(key, versionID: nil, ifMatch: nil, context: context)) != nil
  }
}

extension StoreError {
  /// True if a bucket that may not have the operation refused it as such.
  fileprivate var meansUnable: Bool {
    switch kind {
    case .unsupported, .accessDenied, .invalidRequest: status != nil
    default: false
    }
  }
}
