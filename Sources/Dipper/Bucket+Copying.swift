internal import Core
internal import Transfer

extension Bucket {
  /// Copies an object into this bucket on the server, or goes on with that; no byte comes to this machine.
  ///
  /// An object of more than the store copies at once, or of more than `options.wholeSizeMax`, is copied in
  /// parts side by side. With a checkpoint, the same call goes on after a pause, a failure or a crash.
  /// Headers, metadata, tags and storage class are carried over either way, unless `options` replace them;
  /// encryption and access are those of the bucket's options.
  ///
  /// - Parameters:
  ///   - sourceKey: the object to copy.
  ///   - source: the bucket that it is in; nil is this one. It must be of the same store.
  ///   - key: the key of the copy.
  ///   - options: how.
  /// - Returns: the transfer, which has begun. Its `value` throws `DipperError`: `.changed` if the source
  ///   is not the one begun with, `.held` if another process works on it, `.paused` if it was paused.
  public func copy(
    _ sourceKey: Key,
    from source: Bucket? = nil,
    to key: Key,
    options: CopyOptions = CopyOptions()
  ) -> TransferTask<CopyEvent, ObjectInfo> {
    let source = source ?? self
    let name = Self.copyName(sourceKey, key)
    let events = TransferEvents(replaces: CopyEvent.replaces)
    return TransferTask(events: events) { [self] () async throws(DipperError) in
      let copy = try objectCopy(sourceKey, source, key, options) {
        events.add(CopyEvent($0, of: name))
      }
      do throws(TransferError) {
        return ObjectInfo(try await copy.run())
      } catch {
        throw DipperError(error, of: name)
      }
    } abort: { [self] () async throws(DipperError) in
      try await abortCopy(sourceKey, from: source, to: key, options: options)
    }
  }

  /// Copies an object of at most 5 GiB into this bucket on the server, by one request.
  ///
  /// - Parameters:
  ///   - sourceKey: the object to copy.
  ///   - source: the bucket that it is in; nil is this one. It must be of the same store.
  ///   - key: the key of the copy.
  ///   - options: the version, the conditions, and what goes along; the rest is ignored.
  /// - Returns: what the store says of the copy.
  /// - Throws: `DipperError`; `.changed` if a condition doesn't hold.
  public func copyObject(
    _ sourceKey: Key,
    from source: Bucket? = nil,
    to key: Key,
    options: CopyOptions = CopyOptions()
  ) async throws(DipperError) -> ObjectInfo {
    var whole = options
    whole.wholeSizeMax = .max
    whole.checkpoint = .off
    return try await copy(sourceKey, from: source, to: key, options: whole).value
  }

  /// Gives a paused copy of the same arguments up: its unfinished upload at the store and its checkpoint.
  ///
  /// - Parameters:
  ///   - sourceKey: the source.
  ///   - source: the bucket that it is in; nil is this one.
  ///   - key: the key of the copy.
  ///   - options: those of the copy.
  /// - Returns: false if there was nothing to give up.
  /// - Throws: `DipperError`: `held` if it is running.
  @discardableResult
  public func abortCopy(
    _ sourceKey: Key,
    from source: Bucket? = nil,
    to key: Key,
    options: CopyOptions = CopyOptions()
  ) async throws(DipperError) -> Bool {
    let copy = try objectCopy(sourceKey, source ?? self, key, options) { _ in }
    do throws(TransferError) {
      return try await copy.abort()
    } catch {
      throw DipperError(error, of: Self.copyName(sourceKey, key))
    }
  }

  /// Why the store can't copy from `source` into this bucket by itself; nil if it can.
  package func obstacle(toCopyingFrom source: Bucket) -> String? {
    guard source.service != service else { return nil }
    return
      "\(source.url.bucketName) and \(url.bucketName) are in different stores, and a copy runs "
      + "inside one; download the object and upload it"
  }

  private static func copyName(_ source: Key, _ target: Key) -> String {
    "the copy of \(source) to \(target)"
  }

  private func objectCopy(
    _ sourceKey: Key,
    _ source: Bucket,
    _ key: Key,
    _ options: CopyOptions,
    _ report: @escaping @Sendable (MultipartEvent) -> Void
  ) throws(DipperError) -> ObjectCopy {
    if let obstacle = obstacle(toCopyingFrom: source) { throw DipperError(.invalid, obstacle) }
    var request = ObjectCopyRequest(
      from: sourceKey.objectKey,
      of: source.location,
      bucket: source.location == location ? nil : source.url.bucket,
      to: key.objectKey,
      of: location
    )
    request.versionID = options.versionID
    request.conditions = options.conditions.core
    if case .replace(let facts) = options.metadata {
      request.facts = .replaced(
        facts.headers,
        userMetadata: facts.storedMetadata,
        tags: facts.tags
      )
    }
    request.storageClass = options.storageClass
    request.tags = options.tags
    request.storageTask = storageTask
    request.checkpoint = try options.checkpoint.path
    request.partSize = options.parts.size
    request.parallel = options.parts.parallel
    request.retryCountMax = options.parts.retryCountMax
    request.wholeSizeMax = options.wholeSizeMax
    request.rateMax = options.rateMax
    request.forcesRestart = options.forcesRestart
    return ObjectCopy(
      request,
      from: source.location == location ? store : source.store,
      to: store,
      in: environment(parallel: options.parts.parallel),
      report: report
    )
  }
}

extension CheckpointPlace {
  /// The path; nil if there is to be none.
  var path: String? {
    get throws(DipperError) {
      switch self {
      case .off: nil
      case .at(let path): path
      case .besideTarget:
        throw DipperError(
          .invalid,
          "the target is no file to put a checkpoint beside; name a place for it"
        )
      }
    }
  }
}
