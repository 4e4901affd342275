package import Core

/// One call of a simulated store, for its log.
package struct Call: Sendable {
  /// What was called.
  package var operation: StoreOperation
  /// The object's key, or a listing's prefix.
  package var key: ObjectKey?
  /// The bytes asked for, or the range of a part copy.
  package var range: ByteRange?
  /// The version asked for.
  package var ifMatch: ETag?
  /// On what condition something was written.
  package var condition: WriteCondition?
  /// The number of an upload part.
  package var partNumber: Int?
  /// Where a copy came from.
  package var source: ObjectKey?
  /// True if a reader waited for it.
  package var isUrgent: Bool
  /// How often it might be tried again.
  package var retryCountMax: Int?
  /// Bytes of bodies that came from the store.
  package var receivedByteCount = 0
  /// Bytes of bodies that went to the store.
  package var sentByteCount = 0
  /// Bytes that the store copied by itself.
  package var copiedByteCount = 0
  /// How it ended; nil while it is under way.
  package var outcome: Outcome?

  /// How a call ended.
  package enum Outcome: Hashable, Sendable {
    case succeeded
    case failed(StoreError.Kind)
  }

  /// Creates a call.
  init(
    _ operation: StoreOperation,
    key: ObjectKey?,
    context: RequestContext,
    range: ByteRange? = nil,
    ifMatch: ETag? = nil,
    condition: WriteCondition? = nil,
    partNumber: Int? = nil,
    source: ObjectKey? = nil
  ) {
    self.operation = operation
    self.key = key
    self.range = range
    self.ifMatch = ifMatch
    self.condition = condition
    self.partNumber = partNumber
    self.source = source
    isUrgent = context.isUrgent
    retryCountMax = context.retryCountMax
  }

  /// Where a call has got to when the store's hook is asked.
  package enum Moment: Hashable, Sendable {
    /// The store has the request and has done nothing yet.
    case request
    /// This many bytes of the answer's body have gone over, and more follow.
    case body(sentByteCount: Int)
    /// The store has done it; the answer goes on when the hook returns.
    case answer
  }
}

extension [Call] {
  /// The calls of one operation.
  package func of(_ operation: StoreOperation) -> [Call] {
    filter { $0.operation == operation }
  }

  /// Bytes of bodies that came from the store.
  package var receivedByteCount: Int { reduce(0) { $0 + $1.receivedByteCount } }

  /// Bytes of bodies that went to the store.
  package var sentByteCount: Int { reduce(0) { $0 + $1.sentByteCount } }
}
