internal import Support

/// The events of one transfer, in order, from its beginning to its end.
///
/// For one reader: two share the events between them. Events wait until they are read; of reports of
/// progress that nobody has read only the latest waits.
public struct TransferEvents<Event: Sendable>: AsyncSequence, Sendable {
  private let queue: Queue

  /// Creates a sequence; of two events in a row for which `replaces` is true the later is enough.
  init(replaces: @escaping @Sendable (Event, Event) -> Bool) {
    queue = Queue(replaces)
  }

  /// Takes events out one by one.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let queue: Queue

    /// The next event; nil when the transfer has ended, or when the task is cancelled.
    public mutating func next() async -> Event? { await queue.next() }

    /// The next event; nil when the transfer has ended, or when the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Event? {
      await queue.next()
    }
  }

  /// Begins reading.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(queue: queue) }

  /// Adds an event.
  func add(_ event: Event) { queue.add(event) }

  /// No more events come.
  func end() { queue.end() }

  fileprivate final class Queue: Sendable {
    private struct State {
      var events: [Event] = []
      /// How many of the first were taken.
      var takenCount = 0
      var readers: [Reader] = []
      var isEnded = false

      /// The next event, if there is one.
      mutating func take() -> Event? {
        guard takenCount < events.count else { return nil }
        let event = events[takenCount]
        takenCount += 1
        // Now and then, so that taking one doesn't move all the others.
        if takenCount > 64, takenCount * 2 > events.count {
          events.removeFirst(takenCount)
          takenCount = 0
        }
        return event
      }
    }

    /// Waits for an event; is told once.
    private final class Reader: Sendable {
      private let event = Lock(Event?.none)
      private let gate = Gate()

      func tell(_ event: Event?) {
        self.event.withLock { $0 = event }
        gate.open()
      }

      func wait() async -> Event? {
        await gate.wait()
        return event.withLock { $0 }
      }
    }

    private let state = Lock(State())
    private let replaces: @Sendable (Event, Event) -> Bool

    init(_ replaces: @escaping @Sendable (Event, Event) -> Bool) {
      self.replaces = replaces
    }

    func add(_ event: Event) {
      let reader = state.withLock { state -> Reader? in
        if !state.readers.isEmpty { return state.readers.removeFirst() }
        let isWaiting = state.takenCount < state.events.count
        if isWaiting, let last = state.events.last, replaces(last, event) {
          state.events[state.events.count - 1] = event
        } else {
          state.events.append(event)
        }
        return nil
      }
      reader?.tell(event)
    }

    func end() {
      let readers = state.withLock { state in
        state.isEnded = true
        defer { state.readers = [] }
        return state.readers
      }
      for reader in readers { reader.tell(nil) }
    }

    func next() async -> Event? {
      let reader = Reader()
      let (isNow, event) = state.withLock { state -> (Bool, Event?) in
        if let event = state.take() { return (true, event) }
        if !state.isEnded { state.readers.append(reader) }
        return (state.isEnded, nil)
      }
      if isNow { return event }
      return await withTaskCancellationHandler {
        await reader.wait()
      } onCancel: {
        let isMine = state.withLock { state in
          let count = state.readers.count
          state.readers.removeAll { $0 === reader }
          return state.readers.count < count
        }
        if isMine { reader.tell(nil) }
      }
    }
  }
}
