internal import Core
package import Support

/// The process-wide limit of fetches at a time, and of the memory they hold.
package final class FetchScheduler: Sendable {
  /// What a running transfer buffers: libcurl's receive buffer at its largest.
  package static let byteCountPerFetch = 512 << 10
  /// A fetch of at most this much is small: over after a round trip.
  ///
  /// 256 KiB: what a 100 Mbit/s line brings in 20 ms.
  package static let smallByteCountMax = 256 << 10

  private struct State {
    var queue: FetchQueue
    var waiting: [UInt64: FetchSlot] = [:]
    var nextID: UInt64 = 0
  }

  private let state: Lock<State>
  private let budget: MemoryBudget
  private let meter = Lock(LinkMeter())

  /// Creates a scheduler that lets `parallel` fetches run at a time.
  package init(parallel: Int, budget: MemoryBudget) {
    state = Lock(State(queue: FetchQueue(slotCount: parallel)))
    self.budget = budget
  }

  /// What is known of the way to the store.
  var link: Link? { meter.withLock { $0.link } }

  /// A fetch has its slot.
  func fetchBegan(at now: Instant) { meter.withLock { $0.fetchBegan(at: now) } }

  /// A fetch is over: it had its first byte after `delay`, nil if there was none.
  func fetchEnded(byteCount: Int, delay: Duration?, at now: Instant) {
    meter.withLock { $0.fetchEnded(byteCount: byteCount, delay: delay, at: now) }
  }

  /// The number of fetches that have a slot.
  package var runningCount: Int { state.withLock { $0.queue.runningCount } }
  /// The number of fetches that wait for one.
  package var waitingCount: Int { state.withLock { $0.queue.waitingCount } }

  /// Joins the line.
  ///
  /// - Parameters:
  ///   - isUrgent: a reader waits.
  ///   - byteCount: memory that the fetch needs beyond its transfer's own.
  ///   - size: how much it fetches; nil is a lot.
  /// - Returns: the place in the line.
  package func line(isUrgent: Bool, byteCount: Int = 0, size: Int? = nil) -> FetchSlot {
    let slot = state.withLock { state in
      let slot = FetchSlot(id: state.nextID, scheduler: self)
      state.nextID += 1
      state.waiting[slot.id] = slot
      state.queue.enqueued(
        FetchQueue.Entry(
          id: slot.id,
          byteCount: Self.byteCountPerFetch + byteCount,
          isSmall: size.map { $0 <= Self.smallByteCountMax } ?? false
        ),
        isUrgent: isUrgent
      )
      return slot
    }
    pump()
    return slot
  }

  fileprivate func promote(_ id: UInt64) {
    state.withLock { $0.queue.promoted(id) }
    pump()
  }

  /// Takes a place out of the line; a slot stays taken.
  fileprivate func giveUpWaiting(_ id: UInt64) {
    let waiting = state.withLock { state in
      state.queue.cancelled(id) ? state.waiting.removeValue(forKey: id) : nil
    }
    waiting?.decided(false)
    // A refused urgent entry may have been holding up those behind it.
    pump()
  }

  /// Gives a slot back.
  fileprivate func leave(_ id: UInt64) {
    state.withLock { state in
      if let entry = state.queue.ended(id) { budget.giveBack(entry.byteCount) }
    }
    pump()
  }

  /// Gives slots to those whose turn it is.
  private func pump() {
    while let slot = grantNext() { slot.decided(true) }
  }

  private func grantNext() -> FetchSlot? {
    state.withLock { state in
      guard let entry = state.queue.next else { return nil }
      // Memory that others hold must not stop the last fetch: with none running nobody would ask
      // again. The budget's own lock is the innermost there is.
      guard budget.take(entry.byteCount, isForced: state.queue.runningCount == 0) else {
        return nil
      }
      state.queue.startedNext()
      return state.waiting.removeValue(forKey: entry.id)
    }
  }
}

/// A place in the scheduler's line, and then a slot.
package final class FetchSlot: Sendable {
  fileprivate let id: UInt64
  private let scheduler: FetchScheduler
  private let gate = Gate()
  private let isGranted = Lock(false)

  fileprivate init(id: UInt64, scheduler: FetchScheduler) {
    self.id = id
    self.scheduler = scheduler
  }

  /// Waits for the turn.
  ///
  /// - Returns: false if the place was given up before.
  package func wait() async -> Bool {
    await gate.wait()
    return isGranted.withLock { $0 }
  }

  /// Goes to the urgent line.
  package func promote() { scheduler.promote(id) }

  /// Gives the place in the line up; nothing happens if the turn has come.
  package func giveUpWaiting() { scheduler.giveUpWaiting(id) }

  /// Gives the slot back; nothing happens if there is none.
  package func leave() { scheduler.leave(id) }

  fileprivate func decided(_ granted: Bool) {
    isGranted.withLock { $0 = granted }
    gate.open()
  }
}
