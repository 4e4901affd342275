package import Core

extension DownloadMachine {
  /// Starts flights for what of `piece` is neither on disk nor on its way.
  mutating func startMissing(of piece: ByteRange, isUrgent: Bool) -> [Action] {
    var covered = present
    for range in recorded.ranges where range.overlaps(piece) { covered.insert(range) }
    for flight in flights { covered.insert(flight.remaining) }
    return covered.gaps(in: piece.clamped(to: ByteRange(0, size))).map {
      start($0, isUrgent: isUrgent)
    }
  }

  /// Makes a flight that will bring bytes of `range` bring them soon.
  mutating func hurry(
    _ flight: Flight,
    for range: ByteRange,
    isInOrder: Bool,
    now: Instant
  ) -> [Action] {
    guard let index = index(of: flight.id) else { return [] }
    let need = flight.remaining.clamped(to: range).lowerBound
    let reach =
      isInOrder
      ? reachInOrder(of: flight, now: now) : reach(of: flight, limits.patience, now: now)
    if need - flight.mark > max(limits.farAhead, reach),
      !isInOrder || unasked(before: need, of: flight) > limits.farAhead
    {
      flights[index].end = need
      return [start(ByteRange(need, flight.end), isUrgent: true)]
    }
    guard !flight.isUrgent else { return [] }
    flights[index].isUrgent = true
    return [.promote(flight.id)]
  }

  /// The bytes that a flight is still to bring before `offset` and that nobody waits for.
  ///
  /// Whoever goes forward and is read ahead for has asked for all of them: however slow the line is, a cut
  /// would gain nothing.
  private func unasked(before offset: Int, of flight: Flight) -> Int {
    let between = ByteRange(flight.mark, offset)
    let asked = ByteRangeSet(
      waiters.lazy.map { $0.range.clamped(to: between) }.filter { !$0.isEmpty }
    )
    return between.count - asked.byteCount
  }

  /// The same for a reader that goes forward.
  ///
  /// A flight that has not had its turn, or has only just had it, gets the time that it needs.
  private func reachInOrder(of flight: Flight, now: Instant) -> Int {
    let patience = limits.patienceInOrder
    guard let startedAt = flight.startedAt, now - startedAt >= patience else { return size }
    return reach(of: flight, patience, now: now)
  }

  /// The bytes that a flight will bring within `patience`: as fast as it has been, or, until that can
  /// be told, as fast as others were.
  private func reach(of flight: Flight, _ patience: Duration, now: Instant) -> Int {
    guard let startedAt = flight.startedAt else { return 0 }
    let patience = Double(patience.wholeNanoseconds)
    let elapsed = Double(max(1, (now - startedAt).wholeNanoseconds))
    let speed = Double(flight.mark - flight.start) / elapsed
    let isTold = elapsed >= patience || usualSpeed == nil
    return Int(min(Double(size), patience * (isTold ? speed : max(speed, usualSpeed ?? 0))))
  }

  /// Remembers how fast a flight was that has ended.
  mutating func learnSpeed(of flight: Flight, now: Instant) {
    guard let startedAt = flight.startedAt, flight.mark - flight.start >= limits.farAhead else {
      return
    }
    let elapsed = Double(max(1, (now - startedAt).wholeNanoseconds))
    let speed = Double(flight.mark - flight.start) / elapsed
    usualSpeed = usualSpeed.map { ($0 + speed) / 2 } ?? speed
  }

  /// Decides what a failure of the store means to the waiters that counted on a flight.
  ///
  /// A flight that was only a guess, or that brought something, is begun again for them if the failure may
  /// pass: it was not their try that failed. Their own deadlines bound how often.
  mutating func failed(_ flight: Flight, _ error: StoreError) -> [Action] {
    let cause = FetchError(error)
    if case .changed = cause { return objectChanged(cause) }
    let lacking = waiters.filter { $0.range.overlaps(flight.remaining) }
    // Whoever only warms the cache has no try of its own that could be worth more than this one was.
    let isUrgent = lacking.contains { !$0.isWarming }
    let mayPass =
      limits.restartsFlights && error.mayPass
      && (flight.mark > flight.start || (!flight.isDemand && isUrgent))
    guard mayPass else {
      return takeWaiters { $0.range.overlaps(flight.remaining) }.map { .fail($0.id, cause) }
    }
    return lacking.isEmpty ? [] : [start(flight.remaining, isUrgent: isUrgent)]
  }

  /// Somebody wants `piece` on the disk, behind everything that readers wait for.
  ///
  /// - Returns: the actions; `serve` or `fail` of this waiter may be among them.
  package mutating func warming(
    by id: WaitID,
    _ piece: ByteRange,
    ahead: [ByteRange]
  ) -> [Action] {
    if present.contains(piece) { return [.serve(id)] }
    if let changed { return [.fail(id, changed)] }
    // It was verified before, as for a reader: what is still only recorded can't be trusted.
    recorded.remove(piece)
    waiters.append(Waiter(id: id, range: piece, isWarming: true))
    return wanted(ahead: [piece] + ahead)
  }

  /// The object is no longer this version: nothing more of it can be had.
  package mutating func objectChanged(_ cause: FetchError) -> [Action] {
    changed = cause
    let cancelled = flights.map { Action.cancel($0.id) }
    flights = []
    return cancelled + takeWaiters { _ in true }.map { .fail($0.id, cause) }
  }

  /// Ends the flights that nobody waits for and that `isUnwanted` says so of.
  mutating func cancelFlights(where isUnwanted: (Flight) -> Bool) -> [Action] {
    let cancelled = flights.filter { flight in
      isUnwanted(flight) && !waiters.contains { $0.range.overlaps(flight.remaining) }
    }
    guard !cancelled.isEmpty else { return [] }
    let ids = Set(cancelled.map(\.id))
    flights.removeAll { ids.contains($0.id) }
    return cancelled.map { .cancel($0.id) }
  }

  /// Removes and returns the waiters whose bytes are complete now that `arrived` are there.
  mutating func takeServed(within arrived: ByteRange) -> [WaitID] {
    let present = present
    return takeWaiters { $0.range.overlaps(arrived) && present.contains($0.range) }.map(\.id)
  }

  /// Checks what must hold after every event; for tests.
  package func checkInvariants() {
    var taken = present
    for flight in flights {
      precondition(flight.start <= flight.mark && flight.mark <= flight.end, "a flight ran away")
      precondition(!taken.intersects(flight.remaining), "\(flight) brings what is there or coming")
      taken.insert(flight.remaining)
    }
    for range in recorded.ranges {
      precondition(!present.intersects(range), "\(range) is both recorded and present")
    }
    for waiter in waiters {
      precondition(!present.contains(waiter.range), "\(waiter) has its bytes and was not served")
      precondition(taken.contains(waiter.range), "\(waiter) waits for bytes that don't come")
    }
  }
}

extension StoreError {
  /// True if the same request may succeed a little later.
  var mayPass: Bool {
    switch kind {
    case .throttled, .serverFailure, .unreachable, .timedOut, .invalidAnswer, .conflict: true
    case .notFound, .noSuchBucket, .noSuchUpload, .accessDenied, .badCredentials,
      .preconditionFailed, .alreadyExists, .archived, .rangeNotSatisfiable, .untrusted,
      .wrongRegion, .unsupported, .tooLarge, .invalidRequest, .sinkRefused, .offline,
      .cancelled:
      false
    }
  }

  /// A store that says it is done although bytes are missing.
  static func endedShort(of range: ByteRange) -> StoreError {
    StoreError(.invalidAnswer, .getObject, message: "the answer ended without \(range.inWords)")
  }
}
