internal import Core
internal import ObjectFiles
internal import Support

/// Tells of failed operations once: a record for `status`, a line in the log, and the words for
/// `user.dipper.last-error`.
final class FailureReporter: Sendable {
  /// What failed.
  struct Operation: Sendable {
    /// In the file system's words, such as `read`.
    var name: StaticString
    /// The path in the mount.
    var path: String
    /// The node it was about, if the kernel has one.
    var node: NodeID?
  }

  private struct State {
    var filter = RepetitionFilter(interval: .seconds(10))
    // What the kernel asks a second time, because the first answer was a failure.
    var repetitions = RepetitionFilter(interval: ObjectFile.repetitionSpan)
    var lastErrors: [NodeID: String] = [:]
    var toldKeys: Set<ObjectKey> = []
  }

  /// Nodes whose last failure is remembered, at most.
  private static let lastErrorCountMax = 1024
  /// Keys that are told of once, at most; a bucket may be full of them.
  private static let toldKeyCountMax = 1000

  private let log: Log
  private let errors: ErrorRing
  private let time: any TimeSource
  private let state = Lock(State())

  init(log: Log, errors: ErrorRing, time: any TimeSource) {
    self.log = log
    self.errors = errors
    self.time = time
  }

  /// The operation failed, and its caller is told `error`.
  ///
  /// The kernel asks for some things again before it tells the program of a failure; the same failure
  /// of the same operation on the same path within half a second is one.
  func report(_ error: FileError, _ operation: Operation) {
    let errno = error.code.errnoName
    let now = time.now
    let isRepeated = state.withLock { state in
      if let node = operation.node {
        if state.lastErrors.count >= Self.lastErrorCountMax { state.lastErrors = [:] }
        state.lastErrors[node] = "\(operation.name): \(errno): \(error.message)"
      }
      let kind = "\(operation.name) \(errno) \(operation.path)"
      return state.repetitions.occurred(kind, at: now) == .suppress
    }
    guard !isRepeated else { return }
    errors.append(
      ErrorRing.Record(
        time: time.wallTime,
        operation: "\(operation.name)",
        path: operation.path,
        error: error
      )
    )
    let code = error.cause?.code ?? ""
    let verdict = state.withLock {
      $0.filter.occurred("\(operation.name) \(errno) \(code)", at: now)
    }
    guard case .tell(let suppressedCount) = verdict else { return }
    let more = suppressedCount > 0 ? " (and \(suppressedCount) more like it before)" : ""
    log.write(
      .warning,
      error.message + more,
      [
        "operation": "\(operation.name)", "path": operation.path, "errno": errno, "code": code,
        "request_id": error.cause?.requestID ?? "",
      ]
    )
  }

  /// Something that is worth a line but failed nobody's operation; `kind` groups what repeats.
  func note(_ level: Log.Level, kind: String, _ message: @autoclosure () -> String) {
    let now = time.now
    let verdict = state.withLock { $0.filter.occurred(kind, at: now) }
    guard case .tell = verdict else { return }
    log.write(level, message())
  }

  /// Something about a key that is worth one line; of a thousand keys at most.
  func noteOnce(_ level: Log.Level, about key: ObjectKey, _ message: () -> String) {
    let isNew = state.withLock { state in
      state.toldKeys.count < Self.toldKeyCountMax && state.toldKeys.insert(key).inserted
    }
    if isNew { log.write(level, message()) }
  }

  /// What the last failed operation on a node said; empty if none failed.
  func lastError(of node: NodeID) -> String { state.withLock { $0.lastErrors[node] ?? "" } }

  /// The kernel has forgotten a node.
  func forget(_ node: NodeID) {
    state.withLock { state in
      if !state.lastErrors.isEmpty { state.lastErrors[node] = nil }
    }
  }
}

/// Lets the first of equal events through and counts those that follow soon.
struct RepetitionFilter: Sendable {
  /// What to do with an event.
  enum Verdict: Equatable, Sendable {
    /// Tell of it, and that this many were kept back since the last time.
    case tell(suppressedCount: Int)
    /// Keep it back.
    case suppress
  }

  private struct Series {
    var toldAt: Instant
    var suppressedCount = 0
  }

  /// Kinds of events that are told apart, at most.
  private static let kindCountMax = 256

  private let interval: Duration
  private var series: [String: Series] = [:]

  /// Creates a filter that lets one event of a kind through per `interval`.
  init(interval: Duration) {
    self.interval = interval
  }

  /// An event of this kind occurred.
  mutating func occurred(_ kind: String, at now: Instant) -> Verdict {
    if let known = series[kind], known.toldAt + interval > now {
      series[kind]?.suppressedCount += 1
      return .suppress
    }
    let suppressedCount = series[kind]?.suppressedCount ?? 0
    if series.count >= Self.kindCountMax { series = [:] }
    series[kind] = Series(toldAt: now)
    return .tell(suppressedCount: suppressedCount)
  }
}
