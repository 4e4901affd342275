internal import Core
internal import ObjectFiles
internal import Support

/// One listing of a directory: filled page by page by one task, read by all who want it meanwhile.
///
/// Positions are stable, so a directory handle keeps the listing that it was opened with. Whoever
/// reads it or waits for it has a `Hold`; the task is cancelled when the last hold goes.
final class DirectoryListing: Sendable {
  /// How far it has come.
  enum Status: Sendable {
    /// Pages are arriving. Next: `complete` or `failed`.
    case running
    /// Every page has arrived, the last one at this moment.
    case complete(at: Instant)
    /// It broke off; what had arrived stays readable.
    case failed(FileError)
  }

  /// A place among those who wait for more.
  struct Ticket: Sendable {
    fileprivate let id: UInt64
  }

  private enum Goal {
    /// A row at this position, or the end.
    case row(Int)
    case end
  }

  private struct Waiter {
    let goal: Goal
    let action: @Sendable () -> Void
  }

  private struct State {
    var contents: ListingContents
    var status = Status.running
    var isExpired = false
    var fallback: DirectoryListing?
    var holdCount = 0
    /// The last hold went before the end: nobody may take it up again.
    var isAbandoned = false
    var lastTicket: UInt64 = 0
    var waiters: [UInt64: Waiter] = [:]
    var task: Task<Void, Never>?

    var isRunning: Bool {
      if case .running = status { return true }
      return false
    }

    /// Takes out the waiters whose goal is reached.
    mutating func takeServed() -> [Waiter] {
      let isRunning = isRunning
      let count = contents.count
      let served = waiters.filter { waiter in
        switch waiter.value.goal {
        case .row(let position): !isRunning || position < count
        case .end: !isRunning
        }
      }
      for id in served.keys { waiters[id] = nil }
      return Array(served.values)
    }
  }

  /// The directory's prefix.
  let prefix: ObjectKey
  /// When it began: what changed later may not be in it.
  let startedAt: Instant
  private let state: Lock<State>

  /// Creates a listing that hasn't begun; `fallback` is an older one, used if the store can't be reached.
  init(prefix: ObjectKey, startedAt: Instant, fallback: DirectoryListing?) {
    self.prefix = prefix
    self.startedAt = startedAt
    state = Lock(State(contents: ListingContents(prefix: prefix), fallback: fallback))
  }

  /// Where it stands.
  var status: Status { state.withLock { $0.status } }

  /// True while pages are arriving.
  var isRunning: Bool { state.withLock { $0.isRunning } }

  /// The number of rows so far.
  var count: Int { state.withLock { $0.contents.count } }

  /// The bytes of memory that it takes.
  var byteCount: Int { state.withLock { $0.contents.byteCount } }

  /// When it was completed; nil before.
  var completedAt: Instant? {
    state.withLock { state in
      guard case .complete(let moment) = state.status else { return nil }
      return moment
    }
  }

  /// Until when a complete listing is believed, if it lives for `timeToLive`; nil if it isn't at all.
  func believedUntil(_ timeToLive: Duration) -> Instant? {
    state.withLock { state in
      guard case .complete(let moment) = state.status, !state.isExpired else { return nil }
      return moment + timeToLive
    }
  }

  /// It is known to be out of date.
  func expire() { state.withLock { $0.isExpired = true } }

  /// The row at a position, if it has arrived, and the name it has now.
  func row(at position: Int) -> (entry: Entry, child: NameCodec.Child)? {
    state.withLock { state in
      state.contents.entry(at: position).map { ($0, state.contents.child(of: $0)) }
    }
  }

  /// The child that a name means, if it has arrived.
  func entry(for child: NameCodec.Child) -> Entry? {
    state.withLock { $0.contents.entry(for: child) }
  }

  /// The position of the row of the same child as `entry`.
  func position(of entry: Entry) -> Int? {
    state.withLock { $0.contents.position(entry.component, entry.kind) }
  }

  /// The row of the same child as `entry`.
  func entry(matching entry: Entry) -> Entry? {
    state.withLock { $0.contents.entry(entry.component, entry.kind) }
  }

  /// Keeps it from being cancelled; nil if it has been, or has failed.
  func hold() -> Hold? {
    let isUsable = state.withLock { state in
      if case .failed = state.status { return false }
      guard !state.isAbandoned else { return false }
      state.holdCount += 1
      return true
    }
    return isUsable ? Hold(self) : nil
  }

  /// Somebody's interest in a listing; it ends when this goes.
  final class Hold: Sendable {
    let listing: DirectoryListing

    fileprivate init(_ listing: DirectoryListing) { self.listing = listing }

    deinit { listing.release() }
  }

  private func release() {
    let task: Task<Void, Never>? = state.withLock { state in
      state.holdCount -= 1
      guard state.isRunning, state.holdCount == 0 else { return nil }
      state.isAbandoned = true
      return state.task.take()
    }
    task?.cancel()
  }

  /// Runs `action` once there is a row at `position` or no more will come; it may run at once.
  func whenReached(_ position: Int, _ action: @escaping @Sendable () -> Void) -> Ticket? {
    wait(Waiter(goal: .row(position), action: action))
  }

  /// Runs `action` once it is complete or has failed; it may run at once.
  func whenEnded(_ action: @escaping @Sendable () -> Void) -> Ticket? {
    wait(Waiter(goal: .end, action: action))
  }

  /// Stops waiting.
  func leave(_ ticket: Ticket) {
    // The action goes outside of the lock, for the hold that it has may be the last.
    _ = state.withLock { $0.waiters.removeValue(forKey: ticket.id) }
  }

  private func wait(_ waiter: Waiter) -> Ticket? {
    let (ticket, served) = state.withLock { state in
      state.lastTicket += 1
      state.waiters[state.lastTicket] = waiter
      return (Ticket(id: state.lastTicket), state.takeServed())
    }
    for waiter in served { waiter.action() }
    return served.isEmpty ? ticket : nil
  }
}

extension DirectoryListing {
  /// Who is told how a listing went.
  protocol Observer: AnyObject, Sendable {
    /// It ended: `status` says how. Called before those who wait are told.
    func listingEnded(_ listing: DirectoryListing, didFallBack: Bool)
    /// The store couldn't be reached, and the older listing was taken instead.
    func listingFellBack(_ listing: DirectoryListing, because error: StoreError)
    /// A key can't be shown.
    func listingRejected(_ rejection: ListingContents.Rejection)
  }

  /// Begins to fill it; call once.
  func start(_ queries: StoreQueries, observer: any Observer) {
    let task = startControlTask { [self] in await fill(queries, observer) }
    let isUnwanted = state.withLock { state in
      if state.isRunning { state.task = task }
      return state.isAbandoned
    }
    if isUnwanted { task.cancel() }
  }

  private func fill(_ queries: StoreQueries, _ observer: any Observer) async {
    let hasFallback = state.withLock { $0.fallback != nil }
    var token: String?
    var seenTokens: Set<String> = []
    var emptyPageCount = 0
    repeat {
      let requestedAt = queries.time.now
      let answer = await queries.page(
        of: prefix,
        token: token,
        hasFallback: token == nil && hasFallback
      )
      switch answer {
      case .failure(let error):
        end(afterFailure: error, isFirstPage: token == nil, observer)
        return
      case .success(let page):
        let isEmpty = page.objects.isEmpty && page.commonPrefixes.isEmpty
        emptyPageCount = isEmpty ? emptyPageCount + 1 : 0
        token = page.nextToken
        if let token, !seenTokens.insert(token).inserted || emptyPageCount > Self.emptyPageCountMax
        {
          let message = "the store's listing of \"\(prefix)\" goes round in circles"
          end(.failed(FileError(.inputOutput, message)), observer)
          return
        }
        take(page, requestedAt, isLast: token == nil, observer)
      }
    } while token != nil
    end(.complete(at: queries.time.now), observer)
  }

  /// A store that answers this often with nothing but "more follows" never ends.
  private static let emptyPageCountMax = 1000

  private func take(
    _ page: ListPage,
    _ requestedAt: Instant,
    isLast: Bool,
    _ observer: any Observer
  ) {
    let (rejections, served) = state.withLock { state in
      let rejections = state.contents.append(page, requestedAt: requestedAt, isLast: isLast)
      return (rejections, state.takeServed())
    }
    for rejection in rejections { observer.listingRejected(rejection) }
    for waiter in served { waiter.action() }
  }

  private func end(
    afterFailure error: StoreError,
    isFirstPage: Bool,
    _ observer: any Observer
  ) {
    if error.isOutage, isFirstPage, let fallback = state.withLock({ $0.fallback }) {
      let (contents, status) = fallback.state.withLock { ($0.contents, $0.status) }
      if case .complete = status {
        state.withLock { $0.contents = contents }
        observer.listingFellBack(self, because: error)
        end(status, didFallBack: true, observer)
        return
      }
    }
    end(.failed(FileError(error, of: .name).uninterrupted), observer)
  }

  private func end(
    _ status: Status,
    didFallBack: Bool = false,
    _ observer: any Observer
  ) {
    state.withLock { state in
      state.status = status
      state.task = nil
      // Kept, it would keep its own, and so on.
      state.fallback = nil
    }
    observer.listingEnded(self, didFallBack: didFallBack)
    let served = state.withLock { $0.takeServed() }
    for waiter in served { waiter.action() }
  }
}
