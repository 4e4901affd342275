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
    var startedAt: Instant
    var status = Status.running
    var isExpired = false
    var fallback: DirectoryListing?
    /// The bytes that `memory` knows of.
    var countedByteCount = 0
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
  private let memory: ListingMemory
  private let state: Lock<State>

  /// Creates a listing that hasn't begun; `fallback` is an older one, used if the store can't be reached.
  init(
    prefix: ObjectKey,
    startedAt: Instant,
    fallback: DirectoryListing?,
    memory: ListingMemory,
    digest: NameDigest
  ) {
    self.prefix = prefix
    self.memory = memory
    state = Lock(
      State(
        contents: ListingContents(prefix: prefix, digest: digest),
        startedAt: startedAt,
        fallback: fallback
      )
    )
  }

  /// Creates the complete listing of a directory that is known to be empty.
  convenience init(
    emptyAt now: Instant,
    prefix: ObjectKey,
    memory: ListingMemory,
    digest: NameDigest
  ) {
    self.init(prefix: prefix, startedAt: now, fallback: nil, memory: memory, digest: digest)
    state.withLock { $0.status = .complete(at: now) }
  }

  deinit { memory.giveBack(state.withLock { $0.countedByteCount }) }

  /// When it began: what changed later may not be in it.
  var startedAt: Instant { state.withLock { $0.startedAt } }

  /// Where it stands.
  var status: Status { state.withLock { $0.status } }

  /// True while pages are arriving.
  var isRunning: Bool { state.withLock { $0.isRunning } }

  /// The number of rows so far.
  var count: Int { state.withLock { $0.contents.count } }

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
  func entry(for meaning: NameCodec.Meaning) -> Entry? {
    state.withLock { $0.contents.entry(for: meaning) }
  }

  /// The child with this component and kind, if it has arrived.
  func entry(_ component: ArraySlice<UInt8>, _ kind: FileKind) -> Entry? {
    state.withLock { $0.contents.entry(component, kind) }
  }

  /// The component that a name shows the beginning of, if it has arrived.
  func component(of name: NameCodec.LongName) -> [UInt8]? {
    state.withLock { $0.contents.component(of: name) }
  }

  /// A directory's place among the directories, if it has arrived.
  func directoryRank(of component: ArraySlice<UInt8>) -> Int? {
    state.withLock { $0.contents.directoryRank(of: component) }
  }

  /// The position of the row of the same child as `entry`.
  func position(of entry: Entry) -> Int? {
    state.withLock { $0.contents.position(of: entry.component, entry.kind) }
  }

  /// The row of the same child as `entry`.
  func entry(matching entry: Entry) -> Entry? {
    state.withLock { $0.contents.entry(entry.component, entry.kind) }
  }

  /// True if somebody reads it or waits for it.
  var isHeld: Bool { state.withLock { $0.holdCount > 0 } }

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
    /// So many more can't, beyond those that were told one by one.
    func listingRejected(moreCount: Int)
  }

  /// Begins to fill it, from `source` if that knows all of it already; call once.
  func start(
    _ queries: StoreQueries,
    observer: any Observer,
    source: (@Sendable () async -> FlatPart?)? = nil
  ) {
    let task = startControlTask { [self] in
      if let part = await source?() {
        take(part, observer)
      } else {
        await fill(queries, observer)
      }
    }
    let isUnwanted = state.withLock { state in
      if state.isRunning { state.task = task }
      return state.isAbandoned
    }
    if isUnwanted { task.cancel() }
  }

  /// Is what a flat listing said of the directory.
  private func take(_ part: FlatPart, _ observer: any Observer) {
    replaceContents(part.contents, startedAt: part.startedAt)
    var course = ListingCourse()
    for rejection in part.rejections where course.tells() { observer.listingRejected(rejection) }
    if course.untoldCount > 0 { observer.listingRejected(moreCount: course.untoldCount) }
    end(.complete(at: part.completedAt), observer)
  }

  private func replaceContents(_ contents: ListingContents, startedAt: Instant) {
    let byteCount = contents.byteCount
    let grown = state.withLock { state in
      state.contents = contents
      state.startedAt = startedAt
      defer { state.countedByteCount = byteCount }
      return byteCount - state.countedByteCount
    }
    // Shared with whoever had it, and its own from then on.
    _ = memory.grew(by: grown, to: 0)
  }

  /// What came of a request, and how long it took.
  private struct Answer: Sendable {
    let request: ListingRuns.Request
    let requestedAt: Instant
    let latency: Duration
    let result: Result<ListPage, StoreError>
  }

  /// Fetches all pages: one after the other, or of a large directory several at once.
  private func fill(_ queries: StoreQueries, _ observer: any Observer) async {
    let hasFallback = state.withLock { $0.fallback != nil }
    await withTaskGroup(of: Answer.self) { group in
      var runs = ListingRuns(prefix: prefix)
      var course = ListingCourse()
      var inFlightCount = 0
      var isOver = false
      while !isOver {
        let requests = runs.requests()
        let answer: Answer
        if inFlightCount == 0, requests.count == 1 {
          // Here and now: of a small directory all is known without another task.
          answer = await ask(requests[0], queries, hasFallback)
        } else {
          for request in requests {
            group.addTask { await self.ask(request, queries, hasFallback) }
          }
          inFlightCount += requests.count
          guard let next = await group.next() else { return }
          inFlightCount -= 1
          answer = next
        }
        isOver = take(answer, &runs, &course, observer, now: queries.time.now)
      }
      // What was guessed to lie behind the end.
      group.cancelAll()
    }
  }

  private func ask(
    _ request: ListingRuns.Request,
    _ queries: StoreQueries,
    _ hasFallback: Bool
  ) async -> Answer {
    let isFirst = request.token == nil && request.startAfter == nil
    let requestedAt = queries.time.now
    let result = await queries.page(
      of: prefix,
      token: request.token,
      startAfter: request.startAfter,
      hasFallback: isFirst && hasFallback
    )
    return Answer(
      request: request,
      requestedAt: requestedAt,
      latency: queries.time.now - requestedAt,
      result: result
    )
  }

  /// Takes an answer and the pages that waited for it; true if the listing has ended.
  private func take(
    _ answer: Answer,
    _ runs: inout ListingRuns,
    _ course: inout ListingCourse,
    _ observer: any Observer,
    now: Instant
  ) -> Bool {
    let page: ListPage
    switch answer.result {
    case .failure(let error):
      guard runs.failed(answer.request) else { return false }
      let isFirstPage = answer.request.token == nil && answer.request.startAfter == nil
      end(afterFailure: error, isFirstPage: isFirstPage, observer)
      return true
    case .success(let arrived): page = arrived
    }
    let piece = ListingRuns.Piece(page: page, requestedAt: answer.requestedAt)
    for piece in runs.arrived(piece, for: answer.request, after: answer.latency) {
      let token = piece.page.nextToken
      let (isNews, hasRoom) = take(piece.page, piece.requestedAt, &course, observer)
      guard course.goesOn(withToken: token, isNews: isNews) else {
        let message = "the store's listing of \"\(prefix)\" goes round in circles"
        end(.failed(FileError(.inputOutput, message)), observer)
        return true
      }
      guard token != nil else {
        if course.untoldCount > 0 { observer.listingRejected(moreCount: course.untoldCount) }
        end(.complete(at: now), observer)
        return true
      }
      guard hasRoom else {
        end(.failed(tooLarge), observer)
        return true
      }
    }
    return false
  }

  private var tooLarge: FileError {
    FileError(
      .noMemory,
      """
      the directory of "\(prefix)" has more than \(count) names, which don't fit into the \
      \(memory.limit >> 20) MiB that listings may take, half of --memory
      """
    )
  }

  /// Adds a page.
  ///
  /// - Returns: whether it had anything new, and whether there is room for more.
  private func take(
    _ page: ListPage,
    _ requestedAt: Instant,
    _ course: inout ListingCourse,
    _ observer: any Observer
  ) -> (isNews: Bool, hasRoom: Bool) {
    let before = state.withLock { ($0.contents.count, $0.contents.heldBackCount) }
    let (rejections, after, grown, byteCount) = state.withLock { state in
      let isLast = page.nextToken == nil
      let rejections = state.contents.append(page, requestedAt: requestedAt, isLast: isLast)
      let byteCount = state.contents.byteCount
      let grown = byteCount - state.countedByteCount
      state.countedByteCount = byteCount
      return (rejections, (state.contents.count, state.contents.heldBackCount), grown, byteCount)
    }
    let hasRoom = memory.grew(by: grown, to: byteCount)
    for rejection in rejections where course.tells() { observer.listingRejected(rejection) }
    for waiter in state.withLock({ $0.takeServed() }) { waiter.action() }
    return (after.0 > before.0 || after.1 > before.1, hasRoom)
  }

  private func end(
    afterFailure error: StoreError,
    isFirstPage: Bool,
    _ observer: any Observer
  ) {
    if error.isOutage, isFirstPage, let fallback = state.withLock({ $0.fallback }) {
      let (contents, status) = fallback.state.withLock { ($0.contents, $0.status) }
      if case .complete = status {
        replaceContents(contents, startedAt: startedAt)
        observer.listingFellBack(self, because: error)
        end(status, didFallBack: true, observer)
        return
      }
    }
    // Not ENOENT for a directory that is gone: the C library takes that of `readdir` for the end, and
    // what nobody could list would look empty. Source: glibc, sysdeps/unix/sysv/linux/readdir.c.
    end(.failed(FileError(error, of: .openFile).uninterrupted), observer)
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
