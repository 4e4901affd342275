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
    log.write(
      .warning,
      error.message,
      [
        "operation": "\(operation.name)", "path": operation.path, "errno": errno, "code": code,
        "request_id": error.cause?.requestID ?? "",
      ],
      kind: "\(operation.name) \(errno) \(code)"
    )
  }

  /// Something that is worth a line but failed nobody's operation; `kind` groups what repeats.
  func note(_ level: Log.Level, kind: String, _ message: @autoclosure () -> String) {
    log.write(level, message(), kind: kind)
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
