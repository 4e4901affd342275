internal import Core
internal import Support
internal import Transfer

extension Bucket {
  /// Downloads the object at `key` into the file at `path`, or goes on with that.
  ///
  /// Parts arrive in a file beside the target, which replaces the target in one step after all of
  /// them are there and verified. With a checkpoint, the same call goes on after a pause, a failure or a
  /// crash.
  ///
  /// - Parameters:
  ///   - key: the object's key.
  ///   - path: the target; an existing file is as it was until the end.
  ///   - options: how.
  /// - Returns: the transfer, which has begun. Its `value` throws `DipperError`: `.changed` if the object
  ///   is not the one begun with, `.held` if another process works on it, `.paused` if it was paused.
  public func download(
    _ key: Key,
    to path: String,
    options: DownloadOptions = DownloadOptions()
  ) -> TransferTask<DownloadEvent, ObjectInfo> {
    let name = Self.downloadName(path)
    let events = TransferEvents(replaces: DownloadEvent.replaces)
    let download = fileDownload(key, to: path, options) { events.add(DownloadEvent($0, of: name)) }
    return TransferTask(events: events) { () async throws(DipperError) in
      do throws(TransferError) {
        return ObjectInfo(StoredObject(try await download.run()))
      } catch {
        throw DipperError(error, of: name)
      }
    } abort: { [self] () async throws(DipperError) in
      try await abortDownload(key, to: path, options: options)
    }
  }

  /// Gives a paused download of the same arguments up: removes what it left.
  ///
  /// - Parameters:
  ///   - key: the object's key.
  ///   - path: the target.
  ///   - options: those of the download.
  /// - Returns: false if there was nothing to give up.
  /// - Throws: `DipperError`: `held` if it is running.
  @discardableResult
  public func abortDownload(
    _ key: Key,
    to path: String,
    options: DownloadOptions = DownloadOptions()
  ) async throws(DipperError) -> Bool {
    let download = fileDownload(key, to: path, options) { _ in }
    do throws(TransferError) {
      return try await download.abort()
    } catch {
      throw DipperError(error, of: Self.downloadName(path))
    }
  }

  private static func downloadName(_ path: String) -> String {
    "the download of \(path.utf8.printable)"
  }

  private func fileDownload(
    _ key: Key,
    to path: String,
    _ options: DownloadOptions,
    _ report: @escaping @Sendable (FileDownloadEvent) -> Void
  ) -> FileDownload {
    var request = FileDownloadRequest(
      storeName: location,
      key: key.objectKey,
      target: path,
      partSize: options.parts.size,
      parallel: options.parts.parallel
    )
    request.versionID = options.versionID
    request.conditions = options.conditions.core
    request.temporary = options.temporaryPath
    switch options.checkpoint {
    case .off: request.keepsCheckpoint = false
    case .besideTarget: break
    case .at(let path): request.checkpoint = path
    }
    request.retryCountMax = options.parts.retryCountMax
    request.forcesRestart = options.forcesRestart
    return FileDownload(
      request,
      from: store,
      in: environment(parallel: options.parts.parallel),
      report: report
    )
  }

  /// What a transfer of so many parts at a time needs.
  func environment(parallel: Int) -> TransferEnvironment {
    let parallel = PartLimits.parallel(parallel)
    let scheduler = FetchScheduler(
      parallel: parallel,
      // As many as were asked for, whatever each needs.
      budget: MemoryBudget(limit: parallel * FetchScheduler.byteCountPerFetch)
    )
    return TransferEnvironment(scheduler: scheduler, metrics: metrics, log: log)
  }
}
