package import Core
internal import StoreWire

extension RemoteStore {
  package func delete(
    _ keys: [ObjectKey],
    context: RequestContext
  ) async throws(StoreError) -> [ObjectKey: StoreError] {
    var failures: [ObjectKey: StoreError] = [:]
    let together = keys.filter(dialect.canDeleteTogether)
    var start = 0
    while start < together.count {
      let end = min(start + dialect.deletedKeyCountMax, together.count)
      let batch = Array(together[start..<end])
      start = end
      failures.merge(try await write(dialect.deleteObjects(batch), context)) { $1 }
    }
    for key in keys where !dialect.canDeleteTogether(key) {
      do throws(StoreError) {
        try await delete(key, ifMatch: nil, context: context)
      } catch {
        // What stops this one for a reason of its own doesn't stop the others.
        guard !Task.isCancelled, error.kind != .timedOut else { throw error }
        failures[key] = error
      }
    }
    return failures
  }

  package func tags(
    of key: ObjectKey,
    versionID: String?,
    context: RequestContext
  ) async throws(StoreError) -> [String: String] {
    try await read(dialect.objectTags(key, versionID: versionID), context)
  }
}
