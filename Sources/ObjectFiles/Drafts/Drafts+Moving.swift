package import Core
internal import Transfer

extension Drafts {
  /// Gives the object of a version another key: by the store's own renaming where it has one, else by a copy
  /// on the server, after which the old one is deleted.
  ///
  /// - Parameters:
  ///   - version: what is to be moved; if the store has another by now, nothing is.
  ///   - target: the new key.
  ///   - replaces: false fails with `.exists` if there is something at the new key.
  /// - Returns: what is at the new key then. After a failure the object is at its old key still, and at the
  ///   new one at most as a copy.
  package func moveObject(
    _ version: ObjectVersion,
    to target: ObjectKey,
    replaces: Bool
  ) async -> Result<ObjectMetadata, FileError> {
    do throws(StoreError) {
      if environment.store.capabilities.hasNativeRename != false,
        try await isRenamed(version.key, to: target, replaces: replaces)
      {
        return .success(try await head(target))
      }
      let copied: ObjectMetadata
      switch await copy(version, to: target, replaces: replaces) {
      case .failure(let error): return .failure(error)
      case .success(let made): copied = made
      }
      try await environment.store.delete(version.key, ifMatch: nil, context: context)
      return .success(copied)
    } catch {
      return .failure(FileError(error, of: .name).uninterrupted)
    }
  }

  /// Has the store rename the object, if it can; false if it can't, and nothing has happened then.
  private func isRenamed(
    _ source: ObjectKey,
    to target: ObjectKey,
    replaces: Bool
  ) async throws(StoreError) -> Bool {
    do throws(StoreError) {
      try await environment.store.rename(
        RenameRequest(source: source, target: target, replaces: replaces),
        context: context
      )
      return true
    } catch {
      if error.kind == .unsupported { return false }
      throw error
    }
  }

  private func copy(
    _ version: ObjectVersion,
    to target: ObjectKey,
    replaces: Bool
  ) async -> Result<ObjectMetadata, FileError> {
    var request = ObjectCopyRequest(
      from: version.key,
      of: environment.storeName,
      to: target,
      of: environment.storeName
    )
    request.conditions.ifMatch = version.etag
    request.condition = replaces ? .none : .ifAbsent
    request.parallel = environment.settings.parallel
    request.retryCountMax = environment.settings.retryCountMax
    request.retryPatience = environment.files.patience
    let task = ObjectCopy(
      request,
      from: environment.store,
      to: environment.store,
      in: environment.transfers
    )
    do throws(TransferError) {
      _ = try await task.run()
    } catch {
      return .failure(FileError(error, publishing: target, request.condition))
    }
    do throws(StoreError) {
      return .success(try await head(target))
    } catch {
      return .failure(FileError(error, of: .name).uninterrupted)
    }
  }

  private func head(_ key: ObjectKey) async throws(StoreError) -> ObjectMetadata {
    try await environment.store.head(key, versionID: nil, ifMatch: nil, context: context)
  }

  private var context: RequestContext {
    RequestContext(
      deadline: environment.files.time.now + environment.files.patience,
      retryCountMax: environment.settings.retryCountMax
    )
  }
}
