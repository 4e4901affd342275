internal import Core
internal import Support

/// A listing of everything below a directory, without a delimiter, that answers for the directories
/// in it while a program walks them.
///
/// It is fetched a few pages ahead of the walk, as `WalkPolicy` allows. A directory is answered
/// from it once all of it has come; whatever it can't answer is listed on its own.
final class FlatListing: Sendable {
  private typealias Waiter = CheckedContinuation<FlatPart?, Never>

  private struct State {
    var policy: WalkPolicy
    /// Nil while a page is being sorted.
    var sorter: FlatSorter?
    var course = ListingCourse()
    var token: String?
    /// Directories that have come and wait to be asked for.
    var ready: [ObjectKey: FlatPart] = [:]
    var waiters: [ObjectKey: [Waiter]] = [:]
    var isFetching = false
    var isOver = false
    /// The store's order is none in which directories are told apart.
    var isUnordered = false

    func isPast(_ directory: ObjectKey) -> Bool { sorter?.isPast(directory) ?? false }

    var step: WalkPolicy.Step {
      isOver ? .giveUp : policy.step(isAwaited: !waiters.isEmpty, readyCount: ready.count)
    }

    /// True if the caller must start to fetch.
    mutating func startsFetching() -> Bool {
      guard !isFetching, !isOver, step != .pause else { return false }
      isFetching = true
      return true
    }

    /// Ends it; returns those who wait in vain.
    mutating func end() -> [Waiter] {
      isOver = true
      policy.ended()
      let vain = waiters.values.flatMap { $0 }
      waiters = [:]
      return vain
    }
  }

  /// The directory above all that it answers for.
  let prefix: ObjectKey
  private let queries: StoreQueries
  private let state: Lock<State>

  /// Creates a listing that begins when it is first asked.
  init(prefix: ObjectKey, policy: WalkPolicy, queries: StoreQueries, memory: ListingMemory) {
    self.prefix = prefix
    self.queries = queries
    let sorter = FlatSorter(prefix: prefix, memory: memory, digest: queries.digest)
    state = Lock(State(policy: policy, sorter: sorter))
  }

  /// True if it will answer nothing more.
  var isSpent: Bool { state.withLock { $0.isOver && $0.ready.isEmpty } }

  /// True if the store's order turned out to be none in which directories can be told apart.
  var isUnordered: Bool { state.withLock { $0.isUnordered } }

  /// What it says of a directory, of which nothing is believed that came before `oldest`; nil if
  /// it doesn't say.
  func part(of directory: ObjectKey, completedAfter oldest: Instant) async -> FlatPart? {
    guard directory.hasPrefix(prefix), directory.bytes.count > prefix.bytes.count else {
      return nil
    }
    let part = await withCheckedContinuation { (waiter: Waiter) in
      let (answer, starts) = state.withLock { state -> (FlatPart??, Bool) in
        if state.ready.count >= WalkPolicy.readyCountMax {
          state.ready = state.ready.filter { $0.value.completedAt > oldest }
        }
        if let part = state.ready.removeValue(forKey: directory) {
          state.policy.answered()
          return (.some(part), state.startsFetching())
        }
        guard !state.isOver, !state.isPast(directory) else { return (.some(nil), false) }
        if state.waiters.isEmpty { state.policy.asked() }
        state.waiters[directory, default: []].append(waiter)
        return (nil, state.startsFetching())
      }
      if starts { _ = startControlTask { [self] in await fetch() } }
      if let answer { waiter.resume(returning: answer) }
    }
    return part.flatMap { $0.completedAt > oldest ? $0 : nil }
  }

  private func fetch() async {
    while true {
      let (token, vain) = state.withLock { state -> (token: String??, vain: [Waiter]) in
        switch state.step {
        case .fetch: return (.some(state.token), [])
        case .pause:
          state.isFetching = false
          return (nil, [])
        case .giveUp:
          state.isFetching = false
          return (nil, state.end())
        }
      }
      for waiter in vain { waiter.resume(returning: nil) }
      guard let token else { return }
      let requestedAt = queries.time.now
      let answer = await queries.page(
        of: prefix,
        token: token,
        isDelimited: false,
        hasFallback: true
      )
      take(answer, requestedAt)
    }
  }

  private func take(_ answer: Result<ListPage, StoreError>, _ requestedAt: Instant) {
    // Sorted outside of the lock, because making room for it reaches far.
    guard case .success(let page) = answer, var sorter = state.withLock({ $0.sorter.take() }) else {
      for waiter in state.withLock({ $0.end() }) { waiter.resume(returning: nil) }
      return
    }
    let sorted = sorter.take(page, requestedAt: requestedAt, now: queries.time.now)
    let served = state.withLock { state -> [(Waiter, FlatPart?)] in
      guard case .parts(let parts) = sorted,
        state.course.goesOn(withToken: page.nextToken, isNews: !page.objects.isEmpty)
      else {
        if case .unordered = sorted {
          state.isUnordered = true
          state.ready = [:]
        }
        return state.end().map { ($0, nil) }
      }
      state.sorter = sorter
      state.policy.pageArrived()
      state.token = page.nextToken
      var served: [(Waiter, FlatPart?)] = []
      for part in parts {
        guard let waiters = state.waiters.removeValue(forKey: part.prefix) else {
          state.ready[part.prefix] = part
          continue
        }
        state.policy.answered()
        served += waiters.map { ($0, part) }
      }
      // Whoever asked for something that can't come any more.
      for directory in state.waiters.keys where state.isPast(directory) {
        served += (state.waiters.removeValue(forKey: directory) ?? []).map { ($0, nil) }
      }
      if page.nextToken == nil { served += state.end().map { ($0, nil) } }
      return served
    }
    for (waiter, part) in served { waiter.resume(returning: part) }
  }
}
