internal import Support

/// Questions to the store that are under way, each shared by all who ask the same.
///
/// A question is cancelled when the last of them has left.
final class FlightTable<Key: Hashable & Sendable, Outcome: Sendable>: Sendable {
  /// A place among those who wait for an answer.
  struct Ticket: Sendable {
    fileprivate let key: Key
    fileprivate let flight: UInt64
    fileprivate let waiter: UInt64
  }

  private struct Flight {
    let id: UInt64
    var waiters: [UInt64: @Sendable (Outcome) -> Void] = [:]
    var task: Task<Void, Never>?
  }

  private struct State {
    var lastID: UInt64 = 0
    var flights: [Key: Flight] = [:]

    mutating func makeID() -> UInt64 {
      lastID += 1
      return lastID
    }
  }

  private let state = Lock(State())

  /// Tells `waiter` the outcome of `question`, which is asked unless it is being asked already.
  ///
  /// The waiter may be told before this returns.
  func join(
    _ key: Key,
    asking question: @escaping @Sendable () async -> Outcome,
    waiter: @escaping @Sendable (Outcome) -> Void
  ) -> Ticket {
    let (ticket, isNew) = state.withLock { state in
      let waiterID = state.makeID()
      let isNew = state.flights[key] == nil
      var flight = state.flights[key] ?? Flight(id: state.makeID())
      flight.waiters[waiterID] = waiter
      state.flights[key] = flight
      return (Ticket(key: key, flight: flight.id, waiter: waiterID), isNew)
    }
    guard isNew else { return ticket }
    let task = startControlTask { [self] in
      let outcome = await question()
      for waiter in land(ticket) { waiter(outcome) }
    }
    // All may have left before there was a task to cancel.
    let isWanted = state.withLock { state in
      guard state.flights[key]?.id == ticket.flight else { return false }
      state.flights[key]?.task = task
      return true
    }
    if !isWanted { task.cancel() }
    return ticket
  }

  /// Stops waiting; the waiter isn't told any more, unless it is being told just now.
  func leave(_ ticket: Ticket) {
    let task: Task<Void, Never>? = state.withLock { state in
      guard var flight = state.flights[ticket.key], flight.id == ticket.flight else { return nil }
      flight.waiters[ticket.waiter] = nil
      state.flights[ticket.key] = flight.waiters.isEmpty ? nil : flight
      return flight.waiters.isEmpty ? flight.task : nil
    }
    task?.cancel()
  }

  private func land(_ ticket: Ticket) -> [@Sendable (Outcome) -> Void] {
    state.withLock { state in
      guard let flight = state.flights[ticket.key], flight.id == ticket.flight else { return [] }
      state.flights[ticket.key] = nil
      return Array(flight.waiters.values)
    }
  }
}
