package import Core

/// What a store's client and the cache count, for `status`.
package final class Metrics: Sendable {
  /// The counts at one moment.
  package struct Snapshot: Sendable {
    /// Requests sent, first tries and retries, by operation.
    package var requests: [StoreOperation: Int] = [:]
    /// Tries beyond the first.
    package var retryCount = 0
    /// Bytes of object bodies received; no headers, no listings.
    package var receivedByteCount = 0
    /// Bytes of object bodies sent.
    package var sentByteCount = 0
    /// Bytes of reads answered from the cache without waiting.
    package var hitByteCount = 0
    /// Bytes of reads that had to wait for the store.
    package var missByteCount = 0
  }

  private let state = Lock(Snapshot())

  /// Creates metrics that are all zero.
  package init() {}

  /// The counts now.
  package var snapshot: Snapshot { state.withLock { $0 } }

  /// Counts a request that is about to be sent.
  package func requestStarted(_ operation: StoreOperation, isRetry: Bool) {
    state.withLock { state in
      state.requests[operation, default: 0] += 1
      if isRetry { state.retryCount += 1 }
    }
  }

  /// Counts bytes of an object's body that arrived.
  package func received(_ byteCount: Int) {
    state.withLock { $0.receivedByteCount += byteCount }
  }

  /// Counts bytes of an object's body that were sent.
  package func sent(_ byteCount: Int) {
    state.withLock { $0.sentByteCount += byteCount }
  }

  /// Counts a read.
  package func read(_ byteCount: Int, isHit: Bool) {
    state.withLock { state in
      if isHit { state.hitByteCount += byteCount } else { state.missByteCount += byteCount }
    }
  }
}
