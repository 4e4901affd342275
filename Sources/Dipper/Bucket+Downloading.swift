internal import Core
internal import Support
internal import Transfer

/// How to download an object.
public struct DownloadOptions: Hashable, Sendable {
  /// A particular version; nil is the current one.
  public var versionID: String?
  /// The tag that the object must have.
  public var etag: String?
  /// Where the parts are gathered, on the target's file system; nil is beside the target.
  public var temporaryPath: String?
  /// A file for the checkpoint, or an existing directory for a generated name; nil is beside the target.
  public var checkpointPath: String?
  /// False keeps no checkpoint: an interrupted download starts over.
  public var keepsCheckpoint = true
  /// The size of a part in bytes.
  public var partSize = 20 << 20
  /// Parts in flight.
  public var parallel = 8
  /// How often each request is tried again.
  public var retryCountMax = 3
  /// True to start over, whatever an earlier try left.
  public var forcesRestart = false

  /// Creates the default options.
  public init() {}
}

/// What happens during a download.
public enum DownloadEvent: Hashable, Sendable {
  /// The object is known, and how much of it an earlier try has brought.
  case started(size: Int, presentByteCount: Int)
  /// An earlier try can't be continued, and why.
  case startedOver(reason: String)
  /// The bytes from the first offset up to the second are there.
  case partFinished(Int, Int)
  /// The bytes from the first offset up to the second could not be had.
  case partFailed(Int, Int, DipperError)
  /// So many bytes are there.
  case progressed(byteCount: Int)
  /// The object is complete at this path.
  case finished(path: String)
}

extension Bucket {
  /// Downloads the object at `key` into the file at `path`, or goes on with that.
  ///
  /// Parts arrive in a file beside the target, which replaces the target in one step after all of
  /// them are there and verified. Cancelling the task pauses; the same call again resumes.
  ///
  /// - Parameters:
  ///   - key: the object's key.
  ///   - path: the target; an existing file is as it was until the end.
  ///   - options: how.
  ///   - onEvent: told what happens, from several threads; it must not block.
  /// - Throws: `DipperError`: `changed` if the object is not the one begun with, `held` if another
  ///   process works on it, `cancelled` if it was paused.
  public func download(
    _ key: [UInt8],
    to path: String,
    options: DownloadOptions = DownloadOptions(),
    onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
  ) async throws(DipperError) {
    let task = fileDownload(key, to: path, options: options, onEvent)
    do throws(TransferError) {
      _ = try await task.run()
    } catch {
      throw DipperError(error, of: path)
    }
  }

  /// Gives a paused download of the same arguments up: removes what it left.
  ///
  /// - Parameters:
  ///   - key: the object's key.
  ///   - path: the target.
  ///   - options: those of the download.
  /// - Throws: `DipperError`: `held` if it is running.
  public func abortDownload(
    _ key: [UInt8],
    to path: String,
    options: DownloadOptions = DownloadOptions()
  ) async throws(DipperError) {
    let task = fileDownload(key, to: path, options: options) { _ in }
    do throws(TransferError) {
      try await task.abort()
    } catch {
      throw DipperError(error, of: path)
    }
  }

  private func fileDownload(
    _ key: [UInt8],
    to path: String,
    options: DownloadOptions,
    _ onEvent: @escaping @Sendable (DownloadEvent) -> Void
  ) -> FileDownload {
    var request = FileDownloadRequest(
      storeName: location,
      key: ObjectKey(key),
      target: path,
      partSize: options.partSize,
      parallel: options.parallel
    )
    request.versionID = options.versionID
    request.ifMatch = options.etag.map { ETag($0) }
    request.temporary = options.temporaryPath
    request.checkpoint = options.checkpointPath
    request.keepsCheckpoint = options.keepsCheckpoint
    request.retryCountMax = options.retryCountMax
    request.forcesRestart = options.forcesRestart
    let scheduler = FetchScheduler(
      parallel: options.parallel,
      budget: MemoryBudget(limit: 256 << 20)
    )
    let environment = TransferEnvironment(scheduler: scheduler, metrics: metrics, log: log)
    return FileDownload(request, from: store, in: environment) { event in
      if let event = DownloadEvent(event) { onEvent(event) }
    }
  }

  /// Hands the bytes of the object at `key` to `body`, in order.
  ///
  /// A dropped connection is taken up again behind the last byte handed over; nothing of it is left
  /// when the call ends.
  ///
  /// - Parameters:
  ///   - key: the object's key.
  ///   - options: the version, tag and retries; the rest is ignored.
  ///   - body: takes the next bytes; returns false to end the call.
  /// - Throws: `DipperError`; `cancelled` if `body` ended it.
  public func read(
    _ key: [UInt8],
    options: DownloadOptions = DownloadOptions(),
    _ body: @escaping @Sendable (RawSpan) -> Bool
  ) async throws(DipperError) {
    let key = ObjectKey(key)
    do throws(StoreError) {
      let metadata = try await store.head(
        key,
        versionID: options.versionID,
        ifMatch: options.etag.map { ETag($0) },
        context: context(.seconds(60), options)
      )
      guard metadata.size > 0 else { return }
      let request = GetRequest(
        key: key,
        range: ByteRange(0, metadata.size),
        ifMatch: metadata.version.etag,
        versionID: options.versionID,
        objectSize: metadata.size
      )
      // As long as the reader takes; what a stalled store costs is the transport's business.
      let sink = StreamSink(body)
      _ = try await store.get(request, into: sink, context: context(.seconds(86_400), options))
    } catch {
      if error.kind == .sinkRefused {
        throw DipperError(.cancelled, "nobody reads it any more")
      }
      throw DipperError(error)
    }
  }

  private func context(_ patience: Duration, _ options: DownloadOptions) -> RequestContext {
    RequestContext(
      deadline: SystemClock().now + patience,
      retryCountMax: options.retryCountMax
    )
  }
}

/// Passes bytes on as they come.
private final class StreamSink: BodySink {
  private let body: @Sendable (RawSpan) -> Bool

  init(_ body: @escaping @Sendable (RawSpan) -> Bool) {
    self.body = body
  }

  func receive(_ bytes: RawSpan, at offset: Int) throws(DiskFailure) {
    guard body(bytes) else {
      throw DiskFailure(errno: 32, action: "pass bytes on", reason: "nobody reads them")
    }
  }
}

extension DownloadEvent {
  /// Creates the event that users see; nil for what is ours alone.
  fileprivate init?(_ event: FileDownloadEvent) {
    switch event {
    case .started(let version, let count):
      self = .started(size: version.size, presentByteCount: count)
    case .createdTemporary: return nil
    case .startedOver(let reason): self = .startedOver(reason: reason)
    case .partFinished(let range): self = .partFinished(range.lowerBound, range.upperBound)
    case .partFailed(let range, let error):
      self = .partFailed(range.lowerBound, range.upperBound, DipperError(error))
    case .progressed(let count): self = .progressed(byteCount: count)
    case .finished(let path): self = .finished(path: path)
    }
  }
}
