package import Core

extension S3Answers {
  /// Reads the answer to DeleteObjects, whose 200 holds an error for each key that stayed.
  ///
  /// - Returns: why, by key, for those of `keys` that could not be removed.
  /// - Throws: `.invalidAnswer` also if the answer blames a key that wasn't named: then it can't be
  ///   trusted about the others.
  package static func deletedObjects(
    _ answer: WireAnswer,
    to request: WireRequest,
    keys: [ObjectKey]
  ) throws(StoreError) -> [ObjectKey: StoreError] {
    let document = try self.document(answer, to: request, root: "DeleteResult")
    var failures: [ObjectKey: StoreError] = [:]
    guard document.records.contains(where: { $0.name == "Error" }) else { return failures }
    let named = Set(keys)
    for (name, record) in document.records where name == "Error" {
      let key = ObjectKey(record["Key"] ?? [])
      guard named.contains(key) else {
        throw invalid(answer, to: request, "the answer blames a key that was not to be removed")
      }
      var failure = error(answer, to: request, body: record)
      failure.key = key
      // Gone is what was wanted.
      if failure.kind != .notFound { failures[key] = failure }
    }
    return failures
  }
}
