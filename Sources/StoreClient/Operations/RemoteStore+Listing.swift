package import Core
internal import StoreWire
internal import Support

extension RemoteStore {
  package func list(
    _ request: ListRequest,
    context: RequestContext
  ) async throws(StoreError) -> ListPage {
    let facts = session.withLock { $0.bucket }
    let answer = try await read(dialect.listObjects(request, in: facts), context)
    if let reason = answer.skipped.first {
      surroundings.log.write(
        .warning,
        "a listing has entries that can't be used",
        ["bucket": bucket, "count": "\(answer.skipped.count)", "first": reason]
      )
    }
    learnOrder(of: answer.page)
    return answer.page
  }

  /// Learns from a page that is out of order; one that is in order proves nothing.
  private func learnOrder(of page: ListPage) {
    let keys = page.objects.map(\.key)
    let isOrdered =
      zip(keys, keys.dropFirst()).allSatisfy(<)
      && zip(page.commonPrefixes, page.commonPrefixes.dropFirst()).allSatisfy(<)
    guard !isOrdered else { return }
    session.withLock { $0.capabilities.listsInByteOrder = false }
  }

  package func probe(context: RequestContext) async throws(StoreError) {
    let failure: StoreError
    do throws(StoreError) {
      let facts = try await read(dialect.headBucket(), context)
      session.withLock { $0.learned(bucket: facts) }
      return
    } catch {
      failure = error
    }
    switch failure.status {
    case 301, 307, 400, 401, 403, 405, 501: break
    default: throw failure
    }
    // The answer to HEAD has no body and so no code; a listing's has. One that works is as good.
    _ = try await list(
      ListRequest(prefix: ObjectKey(""), isDelimited: false, countMax: 1),
      context: context
    )
  }

  /// What the store says of its bucket, asked once.
  func bucketFacts(_ context: RequestContext) async throws(StoreError) -> BucketFacts {
    if let facts = session.withLock({ $0.bucket }) { return facts }
    let facts = try await read(dialect.headBucket(), context)
    session.withLock { $0.learned(bucket: facts) }
    return facts
  }
}
