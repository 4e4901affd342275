internal import CCurl
internal import Core
internal import Glibc
internal import Support

/// The thread behind a `CurlClient`: it alone touches the transfers and their handles.
///
/// Each turn takes the mail, starts what has a connection, lets libcurl move bytes, resumes the
/// callers of what has finished and looks after the deadlines. It sleeps when a turn had nothing to
/// do, without a timeout while no request is there.
final class CurlDriver {
  /// How many handles are kept for later; each holds about 6 KiB while it waits.
  static let idleHandleCountMax = 16

  private let mailbox: Mailbox
  private let configuration: CurlClient.Configuration
  private let clock = SystemClock()
  private var multi: MultiHandle { mailbox.multi }
  private var queue: AdmissionQueue<UInt64>
  private var waiting: [UInt64: Submission] = [:]
  private var running: [UInt64: CurlTransfer] = [:]
  private var idleHandles: [EasyHandle] = []
  private var memory = TransferMemory()
  private let sockets = ConnectionSockets()
  private let bodies = BodyBuffer()
  /// No deadline and no idle time ends before this; it may be too early, never too late.
  private var nextCheck = Instant.distantFuture

  init(_ mailbox: Mailbox, _ configuration: CurlClient.Configuration) {
    self.mailbox = mailbox
    self.configuration = configuration
    queue = AdmissionQueue(
      countMax: configuration.connectionCountMax,
      hostCountMax: configuration.hostConnectionCountMax
    )
  }

  /// Runs until the mailbox is closed.
  func run() {
    blockSignals()
    var isClosed = false
    while !isClosed {
      isClosed = turn()
    }
    for id in Array(waiting.keys) + Array(running.keys) { end(id, .failure(.shutDown)) }
    idleHandles = []
    mailbox.ended.open()
  }

  /// Does what there is to do, or sleeps until there is something; true at the end of all.
  private func turn() -> Bool {
    let mail = mailbox.collect()
    for submission in mail.submissions { accept(submission) }
    for id in mail.cancelledIDs { end(id, .failure(.taskCancelled)) }
    guard !mail.isClosed else { return true }
    startWaiting()
    do throws(HTTPError) {
      try multi.perform()
      bodies.flush()
      if memory.isTrimDue(at: clock.now) { ccurl_trim_heap() }
      // What has finished leaves connections for others: they start before the thread sleeps.
      if finishDone() + endRefused() + endExpired() > 0 { return false }
      try multi.poll(milliseconds: sleepMilliseconds)
    } catch {
      // Out of memory or descriptors: nothing that runs can be trusted to end.
      for id in Array(running.keys) { end(id, .failure(error)) }
      usleep(10_000)
    }
    return false
  }

  private func accept(_ submission: Submission) {
    let ticket = submission.ticket
    waiting[ticket.id] = submission
    queue.arrived(
      ticket.id,
      origin: submission.origin,
      isUrgent: submission.request.isUrgent
    )
    nextCheck = min(nextCheck, submission.request.deadline)
    // The news of its cancellation may have come before it.
    if ticket.isCancelled { end(ticket.id, .failure(.taskCancelled)) }
  }

  private func startWaiting() {
    while let id = queue.next() {
      guard let submission = waiting.removeValue(forKey: id) else { continue }
      do throws(HTTPError) {
        guard clock.now < submission.request.deadline else {
          throw .deadlinePassed(submission.origin)
        }
        try start(submission)
      } catch {
        queue.ended(origin: submission.origin)
        submission.continuation.resume(returning: .failure(error))
      }
    }
  }

  private func start(_ submission: Submission) throws(HTTPError) {
    let easy = if let idle = idleHandles.popLast() { idle } else { try EasyHandle() }
    let transfer = CurlTransfer(
      submission,
      easy: easy,
      sockets: sockets,
      bodies: bodies,
      idleTimeout: configuration.idleTimeout
    )
    // Kept alive by `running` until the handle has been removed and reset.
    let context = Unmanaged.passUnretained(transfer).toOpaque()
    try easy.prepare(
      submission.request,
      configuration,
      runningCount: running.count,
      context: context
    )
    try multi.add(easy)
    running[submission.ticket.id] = transfer
    shareRate()
    memory.started(runningCount: running.count)
    nextCheck = min(nextCheck, transfer.nextCheck)
  }

  /// Resumes the callers of what libcurl has finished; returns how many.
  private func finishDone() -> Int {
    var count = 0
    while let (transfer, code) = multi.nextFinished() {
      count += 1
      do throws(HTTPError) {
        if transfer.mayStartAgain(code) {
          // libcurl has closed the connection, so this ends with a new one at the latest.
          multi.remove(transfer.easy)
          try multi.add(transfer.easy)
        } else {
          end(transfer.submission.ticket.id, transfer.outcome(code))
        }
      } catch {
        end(transfer.submission.ticket.id, .failure(error))
      }
    }
    return count
  }

  /// Ends what its receiver refused after libcurl had handed it over; returns how many.
  private func endRefused() -> Int {
    let refused = bodies.takeRefused().filter { running[$0.submission.ticket.id] === $0 }
    for transfer in refused {
      end(transfer.submission.ticket.id, transfer.outcome(CURLE_WRITE_ERROR))
    }
    return refused.count
  }

  /// Ends what is past its deadline or has not moved for too long; returns how many.
  private func endExpired() -> Int {
    let now = clock.now
    guard now >= nextCheck else { return 0 }
    var expired: [(UInt64, HTTPError)] = []
    nextCheck = .distantFuture
    for (id, submission) in waiting {
      if now >= submission.request.deadline {
        expired.append((id, .deadlinePassed(submission.origin)))
      } else {
        nextCheck = min(nextCheck, submission.request.deadline)
      }
    }
    for (id, transfer) in running {
      if let error = transfer.expired(at: now) {
        expired.append((id, error))
      } else {
        nextCheck = min(nextCheck, transfer.nextCheck)
      }
    }
    for (id, error) in expired { end(id, .failure(error)) }
    return expired.count
  }

  /// Takes a request out of the tables and resumes its caller; nothing happens if it has ended.
  private func end(_ id: UInt64, _ outcome: Submission.Outcome) {
    if let submission = waiting.removeValue(forKey: id) {
      queue.left(id)
      submission.continuation.resume(returning: outcome)
    } else if let transfer = running[id] {
      multi.remove(transfer.easy)
      // Nothing of it may be left for a turn in which it isn't there any more.
      bodies.flush()
      transfer.easy.reset()
      // One that failed before it had a connection keeps its buffer, and libcurl 7.88 then refuses
      // another buffer size (CURLE_BAD_FUNCTION_ARGUMENT).
      if case .success = outcome, idleHandles.count < Self.idleHandleCountMax {
        idleHandles.append(transfer.easy)
      }
      running[id] = nil
      shareRate()
      queue.ended(origin: transfer.submission.origin)
      if running.isEmpty, waiting.isEmpty { memory.becameIdle(at: clock.now) }
      transfer.submission.continuation.resume(returning: outcome)
    }
  }

  /// Gives each transfer its part of what all may move.
  private func shareRate() {
    guard let rateMax = configuration.rateMax, !running.isEmpty else { return }
    let share = max(1, rateMax / running.count)
    for transfer in running.values { transfer.easy.limitRate(to: share) }
  }

  /// How long to sleep if nothing happens.
  private var sleepMilliseconds: Int32 {
    let next = min(nextCheck, memory.nextTrim)
    guard next < .distantFuture else { return .max }
    return Int32(clamping: (next - clock.now).wholeMilliseconds)
  }

  /// Signals are for other threads; SIGPIPE, which a broken connection may send, for nobody.
  private func blockSignals() {
    var signals = sigset_t()
    sigfillset(&signals)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }
}

extension CurlTransfer {
  /// How the transfer ended, as its caller is told.
  fileprivate func outcome(_ code: CURLcode) -> Submission.Outcome {
    if let failure { return .failure(failure) }
    guard code == CURLE_OK else {
      let kind = HTTPError.Kind(code, wasSent: easy.wasSent)
      return .failure(error(kind, easy.reason(for: code)))
    }
    guard let head else { return .failure(error(.interrupted, "the answer has no head")) }
    if let shortfall { return .failure(shortfall) }
    return .success(head)
  }
}

extension HTTPError {
  /// The caller's task was cancelled.
  fileprivate static let taskCancelled = HTTPError(.cancelled, "the request was cancelled")
}
