package import Core
package import Support

/// One version of an object as a random-access file, shared by the handles that are open on it.
///
/// It clamps reads to the object's size, asks the prefetch policy what to fetch, and hands the read
/// to the cache. Bytes that are on disk are answered on the calling thread; otherwise the reply is
/// parked until just these bytes are there, the caller is interrupted, or the deadline passes.
package final class ObjectFile: Sendable {
  /// What every file of a mount shares.
  package struct Environment: Sendable {
    /// Where the bytes are.
    package var cache: any PartCache
    /// What ends waits by their deadlines.
    package var timers: Timers
    /// The clock.
    package var time: any TimeSource
    /// How long a read may wait.
    package var patience: Duration
    /// What bounds the guesses.
    package var prefetch: PrefetchPolicy.Limits

    /// Creates an environment.
    package init(
      cache: any PartCache,
      timers: Timers,
      time: any TimeSource,
      patience: Duration,
      prefetch: PrefetchPolicy.Limits = .init()
    ) {
      self.cache = cache
      self.timers = timers
      self.time = time
      self.patience = patience
      self.prefetch = prefetch
    }
  }

  private struct State {
    var policy: PrefetchPolicy
    var object: (any CachedObject)?
    var vain: VainWaits
  }

  /// What is asked again within this time of a failure is the kernel's second question.
  ///
  /// When a read ahead fails, the kernel asks for the same bytes once more before it tells the program,
  /// and likewise for a name that it knew; that would double the wait. A program that tries again
  /// does so later than this.
  package static let repetitionSpan = Duration.milliseconds(500)

  /// The version whose bytes this is.
  package let version: ObjectVersion
  private let environment: Environment
  private let observer: any ReadObserver
  private let state: Lock<State>

  /// Creates a file that opens its cache entry with the first read.
  package init(
    _ version: ObjectVersion,
    environment: Environment,
    observer: any ReadObserver
  ) {
    self.version = version
    self.environment = environment
    self.observer = observer
    state = Lock(
      State(
        policy: PrefetchPolicy(objectSize: version.size, limits: environment.prefetch),
        vain: VainWaits(patience: environment.patience, span: Self.repetitionSpan)
      )
    )
  }

  /// Answers with the bytes of `range` that are in the object; none at or behind its end.
  ///
  /// `reader` tells the handles apart.
  package func read(
    _ range: ByteRange,
    by reader: UInt64 = 0,
    reply: consuming Reply<DataAnswer>
  ) {
    let wanted = range.clamped(to: ByteRange(0, version.size))
    guard !wanted.isEmpty else {
      reply.succeed(.bytes([]))
      return
    }
    let object: any CachedObject
    do throws(DiskFailure) {
      object = try cachedObject()
    } catch {
      let failure = FileError(error, reading: version.key)
      observer.readFailed(failure)
      reply.fail(failure)
      return
    }
    let link = object.link
    let decision = state.withLock { $0.policy.readRequested(wanted, by: reader, over: link) }
    if !decision.abandoned.isEmpty { object.abandonPrefetch(of: decision.abandoned) }
    read(wanted, of: object, plan: decision.plan, reply: reply)
  }

  /// An object of at most this many bytes is verified when it is opened.
  ///
  /// 1 MiB: takes under a millisecond from memory, and the first read would do it anyway.
  private static let sizeVerifiedAtOpenMax = 1 << 20

  /// The file on disk that holds every byte of the object, each verified in this process; nil if there
  /// is none yet.
  ///
  /// It stays open while this object lives. A look at memory and, if there is anything on disk, an
  /// opening of the cache's files; nothing is fetched.
  package func wholeFile() -> Int32? {
    let object = state.withLock { $0.object } ?? environment.cache.openCached(version)
    guard let object else { return nil }
    return kept(object).wholeFile(verifiedSizeMax: Self.sizeVerifiedAtOpenMax)
  }

  /// A handle is closed: what was fetched for it alone isn't wanted any more.
  package func close(_ reader: UInt64 = 0) {
    let (object, unwanted) = state.withLock { ($0.object, $0.policy.readerClosed(reader)) }
    if let object, !unwanted.isEmpty { object.abandonPrefetch(of: unwanted) }
  }

  private func read(
    _ range: ByteRange,
    of object: any CachedObject,
    plan: FetchPlan,
    reply: consuming Reply<DataAnswer>
  ) {
    var slot: Reply<DataAnswer>? = reply
    var waiting: PendingRead?
    let start = object.read(range, plan: plan) {
      // Asked for once, and only if there is something to wait for.
      let now = environment.time.now
      let budget = state.withLock { $0.vain.budget(for: range, at: now) }
      if let error = budget.refusal {
        slot.take()?.fail(error)
        return nil
      }
      let pending = PendingRead(range, of: object) { [weak self] in self?.served() }
      if let reply = slot.take() {
        pending.park(reply, patience: budget.patience, environment: environment) {
          [weak self, observer] error in
          self?.failed(range, budget, error)
          observer.readFailed(error)
        }
      }
      waiting = pending
      return pending
    }
    switch start {
    case .ready(let descriptor):
      if let reply = slot.take() {
        reply.succeed(.file(descriptor: descriptor, range: range))
      } else {
        waiting?.served(from: descriptor)
      }
      // A hit moves the reader on like any read; the answer went out first.
      if !plan.ahead.isEmpty { object.prefetch(FetchPlan(demand: [], ahead: plan.ahead)) }
    case .waiting(let wait):
      waiting?.waitStarted(wait)
    case .failed(let error):
      if let reply = slot.take() {
        let failure = FileError(error, reading: version.key)
        observer.readFailed(failure)
        reply.fail(failure)
      } else {
        waiting?.failed(error)
      }
    }
  }

  /// Remembers a wait in vain for what the kernel asks next.
  private func failed(_ range: ByteRange, _ budget: VainWaits.Budget, _ error: FileError) {
    guard error.code == .timedOut else { return }
    let now = environment.time.now
    state.withLock { $0.vain.failed(range, budget, error, at: now) }
  }

  /// The store brings bytes.
  private func served() {
    let now = environment.time.now
    state.withLock { $0.vain.served(at: now) }
  }

  private func cachedObject() throws(DiskFailure) -> any CachedObject {
    if let object = state.withLock({ $0.object }) { return object }
    return kept(try environment.cache.open(version))
  }

  /// Opened outside of the lock; of two that open at once, the later one's is dropped.
  private func kept(_ opened: any CachedObject) -> any CachedObject {
    state.withLock { state in
      let object = state.object ?? opened
      state.object = object
      return object
    }
  }
}

/// Is told why reads of a file failed.
package protocol ReadObserver: AnyObject, Sendable {
  /// A read failed; the caller is told the same.
  func readFailed(_ error: FileError)
}
