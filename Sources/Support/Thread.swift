internal import CLinux
package import Core
internal import Glibc

/// A thread of the operating system's, for what blocks.
package enum Thread {
  /// What a thread has for its stack: no code here goes deep, and where addresses are limited (`ulimit -v`)
  /// the usual 8 MiB are soon too many.
  static let stackSize = 1 << 20

  /// Starts a thread that runs `body` and ends; `name` (15 bytes at most) shows in `ps -L` and `top -H`.
  ///
  /// - Returns: false if the system gives no more threads; `body` never runs then.
  package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
    create(name, body) == 0
  }

  /// Starts a thread that its owner can't do without.
  ///
  /// - Throws: `DiskFailure` if the system gives no more threads.
  package static func require(
    _ name: String,
    _ body: @escaping @Sendable () -> Void
  ) throws(DiskFailure) {
    let failure = create(name, body)
    guard failure != 0 else { return }
    throw DiskFailure(errno: failure, action: "start a thread", reason: shortage)
  }

  /// What there is to say where the system gives no thread.
  package static let shortage =
    "the system gave no more threads: raise the limit of processes (ulimit -u, TasksMax=)"
    + " or of memory (ulimit -v, MemoryMax=)"

  /// Starts `count` threads beside each other, which do nothing and end, to see whether there may be so
  /// many; their stacks are kept for those that follow.
  ///
  /// For whatever can't be told that there is no thread: Swift's pool waits, for as long as it takes.
  ///
  /// - Throws: `DiskFailure` if the system gives fewer.
  package static func rehearse(_ count: Int) throws(DiskFailure) {
    let present = Monitor(0)
    let isOver = Monitor(false)
    var startedCount = 0
    var failure: Int32 = 0
    while startedCount < count, failure == 0 {
      failure = create("dipper-trial") {
        isOver.wait { isOver, _ in isOver ? () : nil }
        present.withLock { $0 += 1 }
      }
      if failure == 0 { startedCount += 1 }
    }
    isOver.withLock(wakingAll: true) { $0 = true }
    present.wait { present, _ in present == startedCount ? () : nil }
    guard failure != 0 else { return }
    throw DiskFailure(errno: failure, action: "start \(count) threads", reason: shortage)
  }

  /// Names the thread that calls; the first thread's name is the process's, in `ps` and `top`.
  package static func name(_ name: String) { clinux_name_thread(String(name.prefix(15))) }

  /// How many threads Swift's pool may have.
  package static var poolSize: Int { Int(clinux_processor_count()) }

  /// Returns 0 or why there is no thread.
  private static func create(_ name: String, _ body: @escaping @Sendable () -> Void) -> Int32 {
    let box = Unmanaged.passRetained(Body(name: name, run: body))
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackSize)
    let failure = pthread_create(
      &thread,
      &attributes,
      { argument in
        guard let argument else { return nil }
        let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        clinux_name_thread(body.name)
        body.run()
        return nil
      },
      box.toOpaque()
    )
    if failure == 0 { pthread_detach(thread) } else { box.release() }
    return failure
  }

  private final class Body: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = String(name.prefix(15))
      self.run = run
    }
  }
}

/// A mutex with a condition to wait on: for threads that sleep until there is work.
package final class Monitor<Value>: @unchecked Sendable {
  // Safety: `value` is touched only with `mutex` held.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var value: Value

  /// Creates a monitor around `value`.
  package init(_ value: sending Value) {
    self.value = value
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    // The waits are measured on the clock that never steps back.
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  /// Runs `body` alone with the value and wakes one waiter, or all.
  package func withLock<Result>(
    wakingAll: Bool = false,
    _ body: (inout Value) -> sending Result
  ) -> sending Result {
    pthread_mutex_lock(mutex)
    defer {
      if wakingAll { pthread_cond_broadcast(condition) } else { pthread_cond_signal(condition) }
      pthread_mutex_unlock(mutex)
    }
    return body(&value)
  }

  /// Runs `body` alone with the value; it says whether a waiter must look again.
  package func update<Result>(
    _ body: (_ value: inout Value, _ wakes: inout Bool) -> sending Result
  ) -> sending Result {
    pthread_mutex_lock(mutex)
    var wakes = false
    defer {
      if wakes { pthread_cond_signal(condition) }
      pthread_mutex_unlock(mutex)
    }
    return body(&value, &wakes)
  }

  /// Waits until `body` returns something; it is asked again after each wake-up, and at `deadline`
  /// (nanoseconds of the clock that never steps back) if it sets one.
  package func wait<Result>(
    _ body: (inout Value, inout Int64?) -> sending Result?
  ) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      var deadline: Int64?
      if let result = body(&value, &deadline) { return result }
      if let deadline {
        var time = timespec(
          tv_sec: Int(deadline / 1_000_000_000),
          tv_nsec: Int(deadline % 1_000_000_000)
        )
        pthread_cond_timedwait(condition, mutex, &time)
      } else {
        pthread_cond_wait(condition, mutex)
      }
    }
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }
}
