internal import Core
internal import Support
internal import Transfer

extension Bucket {
  /// Hands the bytes of the object at `key` to `body`, in order.
  ///
  /// A dropped connection is taken up again behind the last byte handed over; nothing of it is left
  /// when the call ends.
  ///
  /// - Parameters:
  ///   - key: the object's key.
  ///   - options: the version, the conditions and retries; the rest is ignored.
  ///   - body: takes the next bytes; returns false to end the call.
  /// - Throws: `DipperError`; `cancelled` if `body` ended it.
  public func read(
    _ key: Key,
    options: DownloadOptions = DownloadOptions(),
    _ body: @escaping @Sendable (RawSpan) -> Bool
  ) async throws(DipperError) {
    let key = key.objectKey
    do throws(StoreError) {
      let metadata = try await store.head(
        key,
        versionID: options.versionID,
        conditions: options.conditions.core,
        context: context(.seconds(60), options)
      )
      guard metadata.size > 0 else {
        return try await store.checkEmpty(metadata, context: context(.seconds(60), options))
      }
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
      retryCountMax: options.parts.retryCountMax
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
