/// The right, and the duty, to answer one request exactly once.
///
/// Answering consumes it, so a second answer does not compile; dropped unanswered it answers `EIO`,
/// so that no caller hangs. It may be answered from any thread. To let a task or a table hold it, park it
/// (`ParkedReply` in Support), since a closure can't consume what it captured.
package struct Reply<Answer: Sendable>: ~Copyable, Sendable {
  private let port: any ReplyPort
  private var request: RequestToken?
  private let deliver: @Sendable (any ReplyPort, RequestToken, Answer) -> Bool

  /// Creates the duty to answer `request` through `port`.
  package init(
    _ request: RequestToken,
    port: any ReplyPort,
    deliver: @escaping @Sendable (any ReplyPort, RequestToken, Answer) -> Bool
  ) {
    self.request = request
    self.port = port
    self.deliver = deliver
  }

  /// Answers with success.
  ///
  /// - Returns: false if nobody took the answer, because the request had been given up. Whoever
  ///   handed out a handle or counted a lookup with it must then take that back.
  @discardableResult
  package consuming func succeed(_ answer: Answer) -> Bool {
    guard let token = request.take() else { return false }
    return deliver(port, token, answer)
  }

  /// Answers with a failure.
  package consuming func fail(_ error: FileError) {
    guard let token = request.take() else { return }
    port.fail(token, error)
  }

  /// Registers what to run, on another thread and at most once, when the caller is interrupted
  /// before the answer.
  ///
  /// It runs at once if that has happened. Call it once, before anybody else can
  /// answer, and only for a request that will wait.
  package var interruptHook: (@escaping @Sendable () -> Void) -> Void {
    let (port, request) = (port, request)
    return { action in
      if let request { port.whenInterrupted(request, action) }
    }
  }

  deinit {
    if let request {
      port.fail(request, FileError(.inputOutput, "the request was dropped without an answer"))
    }
  }
}

/// A request of the kernel, as the bridge names it.
package struct RequestToken: Hashable, Sendable {
  /// The bridge's own value.
  package let rawValue: UInt
  /// Creates a token.
  package init(_ rawValue: UInt) { self.rawValue = rawValue }
}

/// Carries failures and interrupts between a `Reply` and whoever answers the kernel.
package protocol ReplyPort: AnyObject, Sendable {
  /// Answers `request` with a failure.
  func fail(_ request: RequestToken, _ error: FileError)
  /// Runs `action` once if the caller of `request` is interrupted before its answer.
  func whenInterrupted(_ request: RequestToken, _ action: @escaping @Sendable () -> Void)
}
