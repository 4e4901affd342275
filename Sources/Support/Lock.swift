internal import Glibc

/// A value that one thread at a time may touch.
///
/// The closure of `withLock` does no I/O and calls no one: it decides, and what it decided is done
/// outside. A pthread mutex on the heap rather than `Synchronization.Mutex`, because the thread
/// sanitizer does not understand the latter and reports races that aren't there.
package final class Lock<Value: ~Copyable>: @unchecked Sendable {
  // Safety: `value` is touched only with `mutex` held.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Value

  /// Creates a lock around `value`.
  package init(_ value: consuming sending Value) {
    self.value = value
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  /// Runs `body` alone with the value.
  @discardableResult
  package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }
}
