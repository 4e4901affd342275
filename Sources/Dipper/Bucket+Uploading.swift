internal import Core
internal import Transfer

extension Bucket {
  /// Uploads the file at `path`, or goes on with that.
  ///
  /// A file of more than one part is sent in parts side by side, read from it as they are sent. With a
  /// checkpoint, the same call goes on after a pause, a failure or a crash. The object appears whole, or
  /// not at all.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - key: the key of the object.
  ///   - options: how.
  /// - Returns: the transfer, which has begun. Its `value` throws `DipperError`: `.changed` if the file is
  ///   not what it was when it began, `.conflict` if what is at the key may not be replaced, `.held` if
  ///   another process works on it, `.paused` if it was paused.
  public func upload(
    _ path: String,
    to key: Key,
    options: UploadOptions = UploadOptions()
  ) -> TransferTask<UploadEvent, ObjectInfo> {
    let name = Self.uploadName(path)
    let events = TransferEvents(replaces: UploadEvent.replaces)
    return TransferTask(events: events) { [self] () async throws(DipperError) in
      let upload = try objectUpload(path, key, options) { events.add(UploadEvent($0, of: name)) }
      do throws(TransferError) {
        return ObjectInfo(try await upload.run())
      } catch {
        throw DipperError(error, of: name)
      }
    } abort: { [self] () async throws(DipperError) in
      try await abortUpload(path, to: key, options: options)
    }
  }

  /// Uploads what an open descriptor brings, to its end: a pipe, a socket, a terminal.
  ///
  /// A stream can't be read again, so this can't be gone on with: whatever ends it early leaves nothing at
  /// the store, and there is no checkpoint. Parts are held in memory while they are sent, 256 MiB of them
  /// at most.
  ///
  /// - Parameters:
  ///   - descriptor: it stays open, and must stay so until the transfer has ended.
  ///   - key: the key of the object.
  ///   - options: how; without a checkpoint.
  /// - Returns: the transfer, which has begun.
  public func upload(
    streamFrom descriptor: Int32,
    to key: Key,
    options: UploadOptions = UploadOptions()
  ) -> TransferTask<UploadEvent, ObjectInfo> {
    let name = Self.uploadName("a stream")
    let events = TransferEvents(replaces: UploadEvent.replaces)
    return TransferTask(events: events) { [self] () async throws(DipperError) in
      let upload = StreamUpload(
        of: descriptor,
        try uploadRequest(key, options),
        to: store,
        in: environment(parallel: options.parts.parallel)
      ) { events.add(UploadEvent($0, of: name)) }
      do throws(TransferError) {
        return ObjectInfo(try await upload.run())
      } catch {
        throw DipperError(error, of: name)
      }
    } abort: { () async throws(DipperError) in
    }
  }

  /// Gives a paused upload of the same arguments up: its unfinished upload at the store and its checkpoint.
  ///
  /// - Parameters:
  ///   - path: the file, which need not be there any more.
  ///   - key: the key of the object.
  ///   - options: those of the upload.
  /// - Returns: false if there was nothing to give up.
  /// - Throws: `DipperError`: `held` if it is running.
  @discardableResult
  public func abortUpload(
    _ path: String,
    to key: Key,
    options: UploadOptions = UploadOptions()
  ) async throws(DipperError) -> Bool {
    let upload = try objectUpload(path, key, options) { _ in }
    do throws(TransferError) {
      return try await upload.abort()
    } catch {
      throw DipperError(error, of: Self.uploadName(path))
    }
  }

  private static func uploadName(_ path: String) -> String {
    "the upload of \(path.utf8.printable)"
  }

  private func objectUpload(
    _ path: String,
    _ key: Key,
    _ options: UploadOptions,
    _ report: @escaping @Sendable (MultipartEvent) -> Void
  ) throws(DipperError) -> ObjectUpload {
    ObjectUpload(
      of: path,
      try uploadRequest(key, options),
      to: store,
      in: environment(parallel: options.parts.parallel),
      report: report
    )
  }

  private func uploadRequest(
    _ key: Key,
    _ options: UploadOptions
  ) throws(DipperError) -> ObjectUploadRequest {
    var request = ObjectUploadRequest(
      to: PutRequest(key: key.objectKey, options.facts, options.storageClass),
      of: location
    )
    switch options.condition {
    case .none: break
    case .ifAbsent: request.target.condition = .ifAbsent
    case .ifMatch(let etag): request.target.condition = .ifMatch(ETag(etag))
    }
    request.storageTask = storageTask
    request.checkpoint = try options.checkpoint.path
    request.partSize = options.parts.size
    request.parallel = options.parts.parallel
    request.retryCountMax = options.parts.retryCountMax
    request.forcesRestart = options.forcesRestart
    return request
  }
}

extension PutRequest {
  /// Creates the request for an object with these facts.
  init(key: ObjectKey, _ facts: ObjectFacts, _ storageClass: String?) {
    self.init(key: key, userMetadata: facts.storedMetadata, storageClass: storageClass)
    headers = facts.headers
    tags = facts.tags
  }
}
