package import Core
internal import Support

/// The daemon's part in `dipper warm`, `evict` and `map`: one file a request.
///
/// Nothing here touches the mount: the caller has looked at the file through it, and its path is found
/// in the tables. A daemon that waited for its own mount could not be killed.
package struct CacheRequests: Sendable {
  private let cache: any PartCache
  private let partSize: Int
  private let version: @Sendable ([[UInt8]]) -> Result<ObjectVersion, FileError>
  private let isOpen: @Sendable (ObjectVersion) -> Bool
  private let warmingCount = Lock(0)

  // Below the number of connections, so that `status` and `unmount` get through beside them.
  private static let warmingCountMax = 48
  // How soon a caller that has gone is noticed, and how often progress is told.
  private static let tick = Duration.milliseconds(200)
  // A caller that hears nothing for longer takes the daemon for dead.
  private static let quietTickCountMax = 5
  // The report of so many is far below the longest line.
  private static let rangeCountMax = 60_000

  /// Creates the requests of one mount.
  ///
  /// - Parameters:
  ///   - cache: where the bytes are.
  ///   - partSize: what counts as a part in a map.
  ///   - version: finds the object behind the names of a path.
  ///   - isOpen: tells whether something has the cached bytes of an object open.
  package init(
    cache: any PartCache,
    partSize: Int,
    version: @escaping @Sendable ([[UInt8]]) -> Result<ObjectVersion, FileError>,
    isOpen: @escaping @Sendable (ObjectVersion) -> Bool
  ) {
    self.cache = cache
    self.partSize = partSize
    self.version = version
    self.isOpen = isOpen
  }

  /// Carries out a request, on a thread that may wait.
  package func carryOut(_ request: ControlRequest, for caller: ControlCaller) {
    guard let names = request.names else {
      caller(ControlAnswer(error: "the request names no file"))
      return
    }
    let version: ObjectVersion
    switch self.version(names) {
    case .success(let found): version = found
    case .failure(let error):
      caller(ControlAnswer(error: error.message))
      return
    }
    switch request.command {
    case .warm: warm(version, for: caller)
    case .evict: evict(version, for: caller)
    case .map: map(version, for: caller)
    case .status, .unmount, .renamings, .finishRenamings:
      caller(ControlAnswer(error: "this is no request about a file"))
    }
  }

  private func evict(_ version: ObjectVersion, for caller: ControlCaller) {
    if let count = cache.evict(version) {
      caller(ControlAnswer(evicted: ControlAnswer.Evicted(freedBytes: count)))
    } else if isOpen(version) {
      caller(
        ControlAnswer(error: "it is open or being fetched, and kept", isBusy: true)
      )
    } else {
      caller(ControlAnswer(error: "its entry can't be removed; the mount's log says why"))
    }
  }

  private func map(_ version: ObjectVersion, for caller: ControlCaller) {
    let map = cache.map(of: version)
    guard map.cached.ranges.count + map.underWay.ranges.count < Self.rangeCountMax / 2 else {
      caller(ControlAnswer(error: "it is cached in more pieces than can be shown"))
      return
    }
    caller(
      ControlAnswer(map: CacheMapReport(map, key: version.key.description, partSize: partSize))
    )
  }
}

extension CacheRequests {
  private struct Warming {
    var byteCount: Int
    var outcome: Result<Void, FetchError>?
  }

  private func warm(_ version: ObjectVersion, for caller: ControlCaller) {
    let isAdmitted = warmingCount.withLock { count in
      guard count < Self.warmingCountMax else { return false }
      count += 1
      return true
    }
    guard isAdmitted else {
      caller(ControlAnswer(error: "too many files are being warmed at once; try again later"))
      return
    }
    defer { warmingCount.withLock { $0 -= 1 } }
    let byteCount = cache.cachedByteCount(of: version)
    let state = Monitor(Warming(byteCount: byteCount))
    let task = Task { [cache] in
      let outcome: Result<Void, FetchError>
      do throws(FetchError) {
        outcome = .success(
          try await cache.warm(version) { count in state.withLock { $0.byteCount = count } }
        )
      } catch {
        outcome = .failure(error)
      }
      state.withLock(wakingAll: true) { $0.outcome = outcome }
    }
    switch follow(state, of: version, task, for: caller) {
    case .success:
      let fetchedCount = max(0, version.size - byteCount)
      caller(
        ControlAnswer(
          warmed: ControlAnswer.Warmed(bytes: version.size, fetchedBytes: fetchedCount)
        )
      )
    case .failure(let error):
      caller(ControlAnswer(error: Self.sentence(error)))
    }
  }

  /// Tells the caller how it goes until it is over; cancels it when the caller has gone.
  private func follow(
    _ state: Monitor<Warming>,
    of version: ObjectVersion,
    _ task: Task<Void, Never>,
    for caller: ControlCaller
  ) -> Result<Void, FetchError> {
    var toldCount: Int?
    var quietTickCount = 0
    while true {
      let end = SystemClock().now + Self.tick
      let (count, outcome) = state.wait { state, deadline -> (Int, Result<Void, FetchError>?)? in
        deadline = end.nanoseconds
        guard state.outcome != nil || SystemClock().now >= end else {
          return nil
        }
        return (state.byteCount, state.outcome)
      }
      if let outcome { return outcome }
      if caller.isGone { task.cancel() }
      quietTickCount += 1
      guard count != toldCount || quietTickCount >= Self.quietTickCountMax else { continue }
      toldCount = count
      quietTickCount = 0
      caller(
        ControlAnswer(
          progress: ControlAnswer.Progress(bytesDone: count, bytesTotal: version.size)
        )
      )
    }
  }

  private static func sentence(_ error: FetchError) -> String {
    switch error {
    case .changed: "it was replaced or removed at the store meanwhile; try again"
    case .store(let cause): cause.description
    case .disk(let failure): failure.description
    case .deadline(let words): words
    case .cancelled: "it was given up"
    }
  }
}
