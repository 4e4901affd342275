package import Core

/// Where the bytes of one object version stand: on disk, on their way, or wanted.
///
/// One flight per byte range, shared by all who want it: what is wanted and neither on disk nor on
/// its way becomes flights, the rest waits for those that are under way. Waiters are not tied to
/// flights; whoever's last byte arrives is served (R3). Flights never overlap each other or what is
/// present.
///
/// A demand that lies far ahead of the mark of the flight that will bring it would wait for the end of
/// somebody else's bytes. Such a flight is *cut*: it ends where the demand begins, and an urgent
/// flight takes over from there, so that nothing is fetched twice.
package struct DownloadMachine: Sendable {
  /// Names a flight of this object.
  package struct FlightID: Hashable, Sendable {
    /// The number.
    package let rawValue: UInt64
  }

  /// One request under way, or waiting for its turn.
  package struct Flight: Hashable, Sendable {
    /// Its name.
    package let id: FlightID
    /// Where it began.
    package let start: Int
    /// One past its last byte; a cut moves it down.
    package internal(set) var end: Int
    /// One past the last byte that arrived.
    package internal(set) var mark: Int
    /// A reader waits for it, or did.
    package internal(set) var isUrgent: Bool
    /// It was begun for a reader, not ahead of one.
    package let isDemand: Bool
    /// When it had its turn; nil while it waits for one.
    package internal(set) var startedAt: Instant?

    /// It has had its turn.
    package var isRunning: Bool { startedAt != nil }

    /// What is still to come.
    package var remaining: ByteRange { ByteRange(mark, end) }
  }

  /// What to do after an event.
  package enum Action: Hashable, Sendable {
    /// Fetch these bytes.
    case start(FlightID, ByteRange, isUrgent: Bool)
    /// A reader waits now for a flight that was meant for later.
    case promote(FlightID)
    /// Stop the flight; the machine has forgotten it.
    case cancel(FlightID)
    /// The waiter's bytes are there.
    case serve(WaitID)
    /// They can't be had.
    case fail(WaitID, FetchError)
    /// They can't be kept: fetch them into memory.
    case fetchUncached(WaitID, ByteRange)
  }

  /// How a flight ended.
  package enum Outcome: Hashable, Sendable {
    /// Every byte of it arrived.
    case finished
    /// The store failed.
    case failed(StoreError)
    /// The disk did not take its bytes; `fallsBack` lets the waiters have theirs in memory.
    case refused(DiskFailure, fallsBack: Bool)
  }

  /// The distances that decide.
  package struct Limits: Hashable, Sendable {
    /// A demand cuts a flight only if it is at least this far ahead of its mark.
    ///
    /// 1 MiB: what a 100 Mbit/s line brings in 80 ms, about what a new request costs.
    package var farAhead = 1 << 20
    /// A demand that the flight reaches within this time, as fast as it has been, doesn't cut it.
    ///
    /// 250 ms: a cut ends a connection, with whatever is in its buffers, and opens another; a reader
    /// notices a longer wait than this.
    package var patience = Duration.milliseconds(250)
    /// The same for a reader that goes forward and wants the bytes on the way too: the kernel reads
    /// ahead of it, up to 4 MiB, in pieces that nobody waits for yet.
    ///
    /// 2 s: on a line where 4 MiB take longer the reader may have jumped.
    package var patienceInOrder = Duration.seconds(2)
    /// A running flight that nobody waits for any more goes on if it has at most this much to come.
    ///
    /// 8 MiB: a part of the mount's default size; the reader often comes back.
    package var worthFinishing = 8 << 20
    /// The same for one that was only a guess, and a wrong one.
    ///
    /// 256 KiB: less than a new connection costs, which ending a request early means.
    package var worthFinishingAhead = 256 << 10

    /// A failed flight that brought something, or was only a guess, is begun again for those who wait.
    package var restartsFlights = true

    /// Creates the default limits.
    package init() {}
  }

  struct Waiter: Hashable, Sendable {
    let id: WaitID
    let range: ByteRange
    /// It wants the bytes on the disk, and is in no hurry.
    var isWarming = false
  }

  /// Bytes that may be served: received in this process, or verified.
  package internal(set) var present = ByteRangeSet()
  /// Bytes that the checkpoint lists and nobody has verified yet.
  package internal(set) var recorded: ByteRangeSet
  /// What is on its way.
  package internal(set) var flights: [Flight] = []
  var waiters: [Waiter] = []
  /// Set when the object is no longer this version; what is present may still be read.
  package internal(set) var changed: FetchError?
  let size: Int
  let limits: Limits
  /// Bytes per nanosecond of the flights that ended lately, each by itself; nil before the first.
  var usualSpeed: Double?
  private var nextFlight: UInt64 = 0

  /// Creates the state of an object of `size` bytes of which a checkpoint lists `recorded`.
  package init(size: Int, recorded: ByteRangeSet, limits: Limits = Limits()) {
    self.size = size
    self.recorded = recorded
    self.limits = limits
  }

  /// Every byte may be served.
  package var isWhole: Bool { present.contains(ByteRange(0, size)) }

  /// The number of bytes on disk, verified or not.
  package var cachedByteCount: Int { present.byteCount + recorded.byteCount }

  /// A reader wants `range`, whose recorded bytes have been verified or rejected before.
  ///
  /// - Returns: the actions; `serve` or `fail` of this waiter may be among them.
  package mutating func requested(
    by id: WaitID,
    _ range: ByteRange,
    plan: FetchPlan,
    now: Instant
  ) -> [Action] {
    if present.contains(range) { return [.serve(id)] }
    if let changed { return [.fail(id, changed)] }
    // Whatever of it is still only recorded can't be trusted: it would have been verified.
    recorded.remove(range)
    waiters.append(Waiter(id: id, range: range))
    var actions: [Action] = []
    for flight in flights where flight.remaining.overlaps(range) {
      actions += hurry(flight, for: range, isInOrder: plan.isInOrder, now: now)
    }
    // The plan covers the range; the range itself comes last in case it does not.
    for piece in plan.demand + [range] {
      actions += startMissing(of: piece, isUrgent: true)
    }
    return actions + wanted(ahead: plan.ahead)
  }

  /// Somebody expects to need `ranges` soon.
  package mutating func wanted(ahead ranges: [ByteRange]) -> [Action] {
    guard changed == nil else { return [] }
    var actions: [Action] = []
    for piece in ranges {
      actions += startMissing(of: piece, isUrgent: false)
    }
    return actions
  }

  /// A flight has had its turn.
  package mutating func started(_ id: FlightID, at now: Instant) {
    guard let index = index(of: id) else { return }
    flights[index].startedAt = now
  }

  /// What a flight's advance means to it.
  package struct Advance: Hashable, Sendable {
    /// One past the last byte that counts as this flight's; bytes behind it belong to another.
    package var mark: Int
    /// Nothing more is wanted of the flight.
    package var isComplete: Bool
    /// Whose bytes are complete now.
    package var served: [WaitID]
  }

  /// Bytes of a flight up to `offset` are on disk.
  ///
  /// - Returns: nil if the flight has been cancelled.
  package mutating func advanced(_ id: FlightID, to offset: Int) -> Advance? {
    guard let index = index(of: id) else { return nil }
    let mark = flights[index].mark
    let newMark = max(mark, min(offset, flights[index].end))
    flights[index].mark = newMark
    present.insert(ByteRange(mark, newMark))
    return Advance(
      mark: newMark,
      isComplete: newMark == flights[index].end,
      served: waiters.isEmpty ? [] : takeServed(within: ByteRange(mark, newMark))
    )
  }

  /// A flight is over.
  package mutating func ended(_ id: FlightID, _ outcome: Outcome, now: Instant) -> [Action] {
    guard let index = index(of: id) else { return [] }
    let flight = flights.remove(at: index)
    learnSpeed(of: flight, now: now)
    switch outcome {
    case .finished:
      guard !flight.remaining.isEmpty else { return [] }
      return failed(flight, .endedShort(of: flight.remaining))
    case .failed(let error):
      return failed(flight, error)
    case .refused(let failure, let fallsBack):
      return takeWaiters { $0.range.overlaps(flight.remaining) }.map { waiter in
        fallsBack && !waiter.isWarming
          ? .fetchUncached(waiter.id, waiter.range) : .fail(waiter.id, .disk(failure))
      }
    }
  }

  /// A waiter has given up; flights that only it wanted end unless they are worth finishing.
  package mutating func waiterCancelled(_ id: WaitID) -> [Action] {
    guard let index = waiters.firstIndex(where: { $0.id == id }) else { return [] }
    let range = waiters.remove(at: index).range
    let limits = limits
    return cancelFlights { flight in
      flight.isUrgent && flight.remaining.overlaps(range)
        && !(flight.isRunning && flight.remaining.count <= limits.worthFinishing)
    }
  }

  /// Nobody expects to need `ranges` any more.
  package mutating func abandoned(_ ranges: [ByteRange]) -> [Action] {
    let limits = limits
    return cancelFlights { flight in
      ranges.contains { flight.remaining.overlaps($0) }
        && !(flight.isRunning && flight.remaining.count <= limits.worthFinishingAhead)
    }
  }

  /// The use of the object is over: every flight ends and every waiter is told.
  package mutating func closed() -> [Action] {
    let actions = flights.map { Action.cancel($0.id) }
    flights = []
    return actions + takeWaiters { _ in true }.map { .fail($0.id, .cancelled) }
  }

  /// The checksum of a recorded range was right.
  package mutating func verified(_ range: ByteRange) {
    // Another thread may have rejected it, or had it fetched again, in the meantime.
    guard recorded.contains(range) else { return }
    recorded.remove(range)
    present.insert(range)
  }

  /// The checksum of a recorded range was wrong.
  package mutating func rejected(_ range: ByteRange) {
    recorded.remove(range)
  }

  func index(of id: FlightID) -> Int? {
    flights.firstIndex { $0.id == id }
  }

  /// Starts a flight; the caller has made sure that its bytes are neither present nor on their way.
  mutating func start(_ range: ByteRange, isUrgent: Bool) -> Action {
    let id = FlightID(rawValue: nextFlight)
    nextFlight += 1
    flights.append(
      Flight(
        id: id,
        start: range.lowerBound,
        end: range.upperBound,
        mark: range.lowerBound,
        isUrgent: isUrgent,
        isDemand: isUrgent
      )
    )
    return .start(id, range, isUrgent: isUrgent)
  }

  mutating func takeWaiters(where isTaken: (Waiter) -> Bool) -> [Waiter] {
    let taken = waiters.filter(isTaken)
    if !taken.isEmpty { waiters.removeAll(where: isTaken) }
    return taken
  }
}
