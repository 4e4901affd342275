internal import Core
internal import Glibc
internal import Support

/// One call of the store while it runs on a thread for disk calls: how long it may go on, and what
/// its failures are called.
final class LocalCall: Sendable {
  let operation: StoreOperation
  let key: ObjectKey?
  let metrics: Metrics
  private let deadline: Instant
  private let time: any TimeSource
  private let pacer: Pacer
  private let isCancelled = Lock(false)

  init(
    _ operation: StoreOperation,
    key: ObjectKey?,
    deadline: Instant,
    time: any TimeSource,
    pacer: Pacer,
    metrics: Metrics
  ) {
    self.operation = operation
    self.pacer = pacer
    self.metrics = metrics
    self.key = key
    self.deadline = deadline
    self.time = time
  }

  /// Makes the next check throw.
  func cancel() {
    isCancelled.withLock { $0 = true }
  }

  /// Throws if the call must end: asked between any two steps that may take long.
  func check() throws(StoreError) {
    if isCancelled.withLock({ $0 }) { throw error(.cancelled, "the caller gave up") }
    guard time.now < deadline else { throw error(.timedOut, "the deadline passed") }
  }

  /// Waits until `byteCount` bytes of an object may move.
  func pass(_ byteCount: Int) throws(StoreError) {
    try pacer.block(byteCount) { () throws(StoreError) in try check() }
  }

  /// How many bytes may move in one step: `sizeMax`, or less where a limit of the rate would make that
  /// come in bursts.
  func stepSize(_ sizeMax: Int) -> Int {
    guard let rate = pacer.rate else { return sizeMax }
    return min(sizeMax, max(Self.pacedSizeMin, rate / 8))
  }

  /// Smaller steps would be all calls.
  private static let pacedSizeMin = 16 << 10

  /// Does something on the disk.
  func attempt<Answer>(_ body: () throws(DiskFailure) -> Answer) throws(StoreError) -> Answer {
    do throws(DiskFailure) {
      return try body()
    } catch {
      throw failure(error)
    }
  }

  /// The names of `key`, for what only reads: a key that the directory can't hold isn't there.
  func namesToRead(_ key: ObjectKey) throws(StoreError) -> LocalKey {
    do throws(LocalKey.Unholdable) {
      return try LocalKey(key)
    } catch {
      throw notFound(key)
    }
  }

  /// The names of `key`, for what writes it.
  func namesToWrite(_ key: ObjectKey) throws(StoreError) -> LocalKey {
    do throws(LocalKey.Unholdable) {
      return try LocalKey(key)
    } catch {
      throw unholdable(error.reason)
    }
  }

  func error(_ kind: StoreError.Kind, _ message: String) -> StoreError {
    StoreError(kind, operation, key: key, message: message)
  }

  func notFound(_ key: ObjectKey) -> StoreError {
    StoreError(.notFound, operation, key: key, message: "there is no such object")
  }

  func unholdable(_ reason: String) -> StoreError {
    error(.invalidRequest, "a directory can't hold this key: \(reason)")
  }

  func changed(_ key: ObjectKey) -> StoreError {
    StoreError(
      .preconditionFailed,
      operation,
      key: key,
      message: "the object is another version than asked for"
    )
  }

  /// What a failed system call means to the store's user.
  func failure(_ failure: DiskFailure) -> StoreError {
    let kind: StoreError.Kind =
      switch failure.errno {
      case EACCES, EPERM, EROFS: .accessDenied
      case EFBIG, E2BIG, ERANGE: .tooLarge
      case EXDEV: .unsupported
      default: .serverFailure
      }
    var error = error(kind, failure.description)
    error.errno = failure.errno
    return error
  }
}
