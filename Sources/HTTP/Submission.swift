internal import Core
internal import Synchronization

/// What a caller waits with, and what the driver thread needs to serve it.
struct Submission: Sendable {
  /// How the waiting call ends.
  typealias Outcome = Result<HTTPResponseHead, HTTPError>

  let ticket: Ticket
  let request: HTTPRequest
  let origin: Origin
  let receiver: any HTTPReceiver
  /// Resumed exactly once, by whoever takes the submission out of the table that holds it.
  let continuation: UnsafeContinuation<Outcome, Never>
}

/// Names one call of `perform`, from before it is submitted until it has ended.
final class Ticket: Sendable {
  /// Unique in the process; never used again.
  let id: UInt64
  private let flag = Atomic(false)

  private static let lastID = Atomic<UInt64>(0)

  init() {
    id = Self.lastID.add(1, ordering: .relaxed).newValue
  }

  /// True once the caller's task was cancelled.
  ///
  /// Set before the driver is told: if that news overtakes the submission, it is still seen here.
  var isCancelled: Bool { flag.load(ordering: .acquiring) }

  /// Notes that the caller's task was cancelled.
  func cancel() {
    flag.store(true, ordering: .releasing)
  }
}
