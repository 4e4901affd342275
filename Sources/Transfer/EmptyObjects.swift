package import Core

extension ObjectStore {
  /// Asks for the first byte of an object that is said to have none.
  ///
  /// - Throws: `.invalidAnswer` if there is one; `.preconditionFailed` if it is another version by now.
  package func checkEmpty(
    _ metadata: ObjectMetadata,
    context: RequestContext
  ) async throws(StoreError) {
    let version = metadata.version
    let request = GetRequest(
      key: version.key,
      range: ByteRange(0, 1),
      ifMatch: version.etag,
      versionID: version.versionID
    )
    do throws(StoreError) {
      _ = try await get(request, into: NoSink(), context: context)
    } catch {
      if error.kind == .rangeNotSatisfiable { return }
      throw error
    }
    throw StoreError(
      .invalidAnswer,
      .getObject,
      key: version.key,
      message: "the store says that the object is empty, and has bytes of it"
    )
  }
}

/// Takes bytes and forgets them.
private final class NoSink: BodySink {
  func receive(_ bytes: RawSpan, at offset: Int) throws(DiskFailure) {}
}
