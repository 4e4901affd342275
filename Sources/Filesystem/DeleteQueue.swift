internal import Core
internal import Support

/// Removes objects, and joins what is to be removed at the same time into one request.
///
/// A removal goes out at once while few are on their way; the others gather until one of those has come
/// back. So a single one isn't delayed, and a program that removes many side by side costs one request for
/// up to a thousand.
final class DeleteQueue: Sendable {
  private struct Waiter: Sendable {
    let key: ObjectKey
    let gate = Gate()
    let outcome = Lock(Result<Void, StoreError>?.none)

    func end(_ outcome: Result<Void, StoreError>) {
      self.outcome.withLock { $0 = outcome }
      gate.open()
    }
  }

  private struct State {
    var requestCount = 0
    var waiting: [Waiter] = []

    /// Whose turn it is; none if enough is on its way.
    mutating func take() -> ArraySlice<Waiter> {
      guard requestCount < DeleteQueue.requestCountMax, !waiting.isEmpty else { return [] }
      requestCount += 1
      let taken = waiting.prefix(DeleteQueue.keyCountMax)
      waiting.removeFirst(taken.count)
      return taken
    }
  }

  private static let requestCountMax = 4
  // Source: Amazon S3 API reference, "DeleteObjects": up to 1,000 keys.
  private static let keyCountMax = 1000

  private let store: any ObjectStore
  private let time: any TimeSource
  private let options: FilesystemOptions
  private let state = Lock(State())

  init(store: any ObjectStore, time: any TimeSource, options: FilesystemOptions) {
    self.store = store
    self.time = time
    self.options = options
  }

  /// Removes the object at `key`, if there is one.
  func delete(_ key: ObjectKey) async -> Result<Void, StoreError> {
    let waiter = Waiter(key: key)
    let taken = state.withLock { state in
      state.waiting.append(waiter)
      return state.take()
    }
    if !taken.isEmpty { await send(Array(taken)) }
    await waiter.gate.wait()
    return waiter.outcome.withLock { $0 } ?? .success(())
  }

  private func send(_ first: [Waiter]) async {
    await request(first)
    let next = state.withLock { state in
      state.requestCount -= 1
      return state.take()
    }
    guard !next.isEmpty else { return }
    // Whoever sent has its answer and need not wait for the others'.
    _ = startControlTask { [self] in await send(Array(next)) }
  }

  private func request(_ waiters: [Waiter]) async {
    let context = RequestContext(
      deadline: time.now + options.deadline,
      retryCountMax: options.retryCountMax
    )
    do throws(StoreError) {
      if waiters.count == 1 {
        try await store.delete(waiters[0].key, ifMatch: nil, context: context)
        waiters[0].end(.success(()))
      } else {
        let failures = try await store.delete(waiters.map(\.key), context: context)
        for waiter in waiters {
          waiter.end(failures[waiter.key].map { .failure($0) } ?? .success(()))
        }
      }
    } catch {
      for waiter in waiters { waiter.end(.failure(error)) }
    }
  }
}
