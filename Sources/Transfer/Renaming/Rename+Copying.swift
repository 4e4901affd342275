internal import Core
internal import Support

/// The requests that renamings are made of, whether of one object or of many.
extension Rename {
  /// How long one request takes that copies an object, beside the time its bytes need.
  static let copyPatience = Duration.seconds(120)
  /// A store that copies less than this per second is taken for dead.
  private static let byteRateMin = 1 << 20

  /// One request copies an object of this size.
  func isWhole(_ object: ObjectMetadata) -> Bool {
    let most = store.capabilities.singleRequestSizeMax
    return object.size <= min(plan.wholeSizeMax ?? most, most)
  }

  /// One request copies an object, with all that belongs to it, or with `facts` in place of that.
  ///
  /// Cancelling waits for its answer: the store may carry out a request that was given up, and a copy that
  /// comes when the renaming has been taken back would stay.
  ///
  /// - Returns: what the store says of the copy.
  /// - Throws: `TransferError`: `.sourceChanged` if it is not as `object` says any more, `.targetChanged` if
  ///   `condition` doesn't hold.
  func copyWhole(
    _ object: ObjectMetadata,
    to key: ObjectKey,
    _ condition: WriteCondition = .none,
    facts: ObjectFacts? = nil
  ) async throws(TransferError) -> ObjectMetadata {
    var source = CopySource(key: object.key, ifMatch: object.version.etag)
    if object.version.etag == nil {
      source.conditions.ifUnmodifiedSince = object.version.lastModified
    }
    var target = PutRequest(key: key, condition: condition, facts: facts ?? ObjectFacts())
    // A store gives a copy its standard class unless it is told another.
    target.storageClass = object.storageClass
    // A renaming compares tags, no checksums.
    var known = object
    known.crc64 = nil
    let request = CopyRequest(
      source: source,
      target: target,
      replacesMetadata: facts != nil,
      replacesTags: facts != nil,
      known: known
    )
    let patience = Self.copyPatience + .seconds(object.size / Self.byteRateMin)
    do throws(StoreError) {
      let context = context(patience)
      return try await Shielded.run { () async throws(StoreError) in
        try await store.copy(request, context: context)
      }
    } catch {
      guard error.isRefusedCondition else { throw TransferError(error) }
      if error.kind == .alreadyExists { throw .targetChanged(error) }
      if condition != .none, await isUnchanged(object) { throw .targetChanged(error) }
      throw .sourceChanged(was: object.version, isNow: nil)
    }
  }

  /// Copies a large object in parts, on from where an earlier try stopped.
  ///
  /// - Returns: what the store says of the copy.
  /// - Throws: `TransferError`; the checkpoint stays, unless the source has changed.
  func copyLarge(
    _ object: ObjectMetadata,
    to key: ObjectKey,
    _ condition: WriteCondition = .none,
    facts: ObjectFacts? = nil,
    parallel: Int,
    _ report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) async throws(TransferError) -> StoredObject {
    let task = largeCopy(
      of: object,
      to: key,
      condition,
      facts: facts,
      parallel: parallel,
      report
    )
    do throws(TransferError) {
      return try await task.run()
    } catch {
      switch error {
      case .differs, .sourceChanged:
        // The checkpoint is of another state of the source: of no use to this try or the next look.
        _ = try await task.abort()
        if case .sourceChanged(let was, _) = error, was.isSameContent(as: object.version) {
          throw error
        }
        return try await task.run()
      case .store(let failure) where failure.kind == .preconditionFailed:
        throw .sourceChanged(was: object.version, isNow: nil)
      default: throw error
      }
    }
  }

  /// The copy of a large object, which has its checkpoint beside the journals.
  func largeCopy(
    of object: ObjectMetadata,
    to key: ObjectKey,
    _ condition: WriteCondition = .none,
    facts: ObjectFacts? = nil,
    parallel: Int,
    _ report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) -> ObjectCopy {
    var copy = ObjectCopyRequest(
      from: object.key,
      of: plan.storeName,
      to: key,
      of: plan.storeName
    )
    copy.conditions.ifMatch = object.version.etag
    copy.condition = condition
    copy.storageClass = object.storageClass
    if let facts {
      copy.facts = .replaced(facts.headers, userMetadata: facts.userMetadata, tags: facts.tags)
    }
    copy.wholeSizeMax = plan.wholeSizeMax
    copy.partSize = plan.partSize
    copy.limits = plan.limits
    copy.parallel = parallel
    copy.retryCountMax = plan.retryCountMax
    copy.retryPatience = plan.retryPatience
    copy.checkpoint = plan.journalDirectory
    return ObjectCopy(
      copy,
      from: store,
      to: store,
      in: environment,
      faults: faults,
      report: report
    )
  }

  /// Puts a directory's marker where a store lists one and has no object that could be copied (SeaweedFS).
  func putMarker(_ key: ObjectKey) async throws(TransferError) -> ObjectMetadata {
    do throws(StoreError) {
      let marker = PutRequest(key: key, contentType: "application/x-directory")
      return try await store.put(marker, body: .empty, context: context())
    } catch {
      throw TransferError(error)
    }
  }

  /// Removes an object if it is in this state; one that isn't any more stays, and is somebody else's.
  ///
  /// - Returns: false if it was in another state.
  func delete(_ object: ObjectMetadata) async throws(TransferError) -> Bool {
    let tag = store.capabilities.hasConditionalDelete ? object.version.etag : nil
    do throws(StoreError) {
      try await store.delete(object.key, ifMatch: tag, context: context())
      return true
    } catch {
      if error.kind == .preconditionFailed { return false }
      throw TransferError(error)
    }
  }

  /// The object is still in this state.
  private func isUnchanged(_ object: ObjectMetadata) async -> Bool {
    do throws(TransferError) {
      return try await found(object.key)?.version.state == object.version.state
    } catch {
      return false
    }
  }
}

extension TransferError {
  /// What was asked for may have been done all the same: its answer didn't come.
  var isInDoubt: Bool {
    switch self {
    case .store(let error): CompletionVerdict.isInDoubt(after: error)
    case .paused, .stopped: true
    default: false
    }
  }
}
