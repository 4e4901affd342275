package import Core
internal import StoreWire

extension RemoteStore {
  package func delete(
    _ keys: [ObjectKey],
    context: RequestContext
  ) async throws(StoreError) -> [ObjectKey: StoreError] {
    var failures: [ObjectKey: StoreError] = [:]
    let together = keys.filter(S3Requests.canDeleteTogether)
    var start = 0
    while start < together.count {
      let end = min(start + S3Requests.deletedKeyCountMax, together.count)
      let batch = Array(together[start..<end])
      start = end
      let wire = try S3Requests.deleteObjects(batch)
      let failed = try await write(wire, context) { (answer) throws(StoreError) in
        try S3Answers.deletedObjects(answer, to: wire, keys: batch)
      }
      failures.merge(failed) { $1 }
    }
    for key in keys where !S3Requests.canDeleteTogether(key) {
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
    let wire = try S3Requests.getObjectTagging(key, versionID: versionID)
    return try await read(wire, context) { (answer) throws(StoreError) in
      try S3Answers.tags(answer, to: wire)
    }
  }
}
