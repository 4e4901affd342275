internal import Support

/// Where callers leave work for the driver thread.
///
/// The driver sleeps in `MultiHandle.poll`; it is woken when the first letter comes in and not for
/// those that lie there already.
final class Mailbox: Sendable {
  /// What has come in.
  struct Mail {
    var submissions: [Submission] = []
    var cancelledIDs: [UInt64] = []
    var isClosed = false
  }

  /// The handle on which the driver sleeps.
  ///
  /// Of its methods other threads call `wakeUp` alone.
  let multi: MultiHandle
  /// Opens when the driver thread has ended.
  let ended = Gate()
  private let mail = Lock(Mail())

  init(multi: MultiHandle) {
    self.multi = multi
  }

  /// Leaves a request; it ends at once if the box is closed.
  func post(_ submission: Submission) {
    let (needsWaking, isClosed) = mail.withLock { mail in
      guard !mail.isClosed else { return (false, true) }
      defer { mail.submissions.append(submission) }
      return (mail.submissions.isEmpty && mail.cancelledIDs.isEmpty, false)
    }
    if needsWaking { multi.wakeUp() }
    if isClosed { submission.continuation.resume(returning: .failure(.shutDown)) }
  }

  /// Asks to end a request; nothing happens if it has ended.
  func cancel(_ ticket: Ticket) {
    ticket.cancel()
    let needsWaking = mail.withLock { mail in
      guard !mail.isClosed else { return false }
      defer { mail.cancelledIDs.append(ticket.id) }
      return mail.submissions.isEmpty && mail.cancelledIDs.isEmpty
    }
    if needsWaking { multi.wakeUp() }
  }

  /// Ends the driver thread; what it has not finished fails.
  func close() {
    let wasClosed = mail.withLock { mail in
      defer { mail.isClosed = true }
      return mail.isClosed
    }
    if !wasClosed { multi.wakeUp() }
  }

  /// Takes everything out; for the driver.
  func collect() -> Mail {
    mail.withLock { mail in
      defer {
        mail.submissions = []
        mail.cancelledIDs = []
      }
      return mail
    }
  }
}

extension HTTPError {
  /// The client has been shut down.
  static let shutDown = HTTPError(.cancelled, "the HTTP client has been shut down")
}
