internal import Core
internal import HTTP
internal import StoreWire
internal import Support

extension RemoteStore {
  /// What a try is told about the call it belongs to.
  struct Try {
    let deadline: Instant
    let isRetry: Bool
  }

  /// Makes tries of `request` until one succeeds or nothing speaks for another.
  ///
  /// - Throws: the last failure; `mayHaveHappened` is true if any of the tries may have been done by
  ///   the store without our knowing.
  func run<Answer: Sendable>(
    _ request: WireRequest,
    _ context: RequestContext,
    _ attempt: (Try, inout RetryMachine) async throws(TryFailure) -> Answer
  ) async throws(TryFailure) -> Answer {
    var machine = RetryMachine(policy: policy, context: context, now: surroundings.time.now)
    var budget = CorrectionBudget(region: session.withLock { $0.region })
    var mayHaveHappened = false
    while true {
      if Task.isCancelled {
        throw TryFailure(cancelled(request), mayHaveHappened: mayHaveHappened)
      }
      let isRetry = machine.tryStarted()
      var failure: TryFailure
      do throws(TryFailure) {
        // A request that is late already must not be sent: it might be done.
        guard surroundings.time.now < machine.deadline else { throw TryFailure(late(request)) }
        return try await attempt(Try(deadline: machine.deadline, isRetry: isRetry), &machine)
      } catch {
        failure = error
      }
      mayHaveHappened = mayHaveHappened || failure.mayHaveHappened
      failure.mayHaveHappened = mayHaveHappened
      if failure.isFinal { throw failure }
      if let correction = failure.correction, budget.allows(correction) {
        switch await apply(correction, by: machine.deadline) {
        case .again: continue
        case .vain: break
        case .vainBecause(let reason): failure.error = failure.error.appending(reason)
        }
      }
      let action = machine.failed(
        failure.error,
        remedy: dialect.remedy(for: failure.error),
        at: surroundings.time.now,
        silence: failure.silence,
        random: surroundings.random()
      )
      switch action {
      case .fail(let error):
        failure.error = error
        throw failure
      case .wait(let moment):
        await surroundings.sleep(moment)
      }
    }
  }

  /// Makes `call` until it succeeds and returns what its answer means.
  ///
  /// What reading the answer throws is a failed try, and so is a body of which the store computed
  /// another checksum than we did while it went out.
  func make<Answer: Sendable>(
    _ call: WireCall<Answer>,
    body: BodySource? = nil,
    isSilent: Bool = false,
    context: RequestContext
  ) async throws(TryFailure) -> Answer {
    let request = call.request
    return try await run(request, context) { (current, _) throws(TryFailure) in
      let route = try await route(for: request, by: current.deadline)
      let checksum = body == nil || !checksBodies ? nil : SentChecksum()
      let sending = Sending(
        body: body ?? (request.document.isEmpty ? .empty : .bytes(request.document)),
        deadline: current.deadline,
        isUrgent: context.isUrgent,
        isRetry: current.isRetry,
        isSilent: isSilent,
        patience: context.retryPatience,
        watcher: checksum
      )
      let answer = try await document(request, by: route, sending)
      if let body { surroundings.metrics.sent(body.count) }
      let value: Answer
      do throws(StoreError) {
        value = try call.read(answer)
      } catch {
        throw failure(error, answer, route)
      }
      if let body, let checksum { try check(checksum, of: body, answer, request) }
      return value
    }
  }

  /// True if the store tells checksums of what it was sent.
  private var checksBodies: Bool {
    session.withLock { $0.capabilities.wholeObjectChecksum } == .crc64
  }

  /// Throws if the store has other bytes than were sent.
  private func check(
    _ checksum: SentChecksum,
    of body: BodySource,
    _ answer: WireAnswer,
    _ request: WireRequest
  ) throws(TryFailure) {
    guard let told = dialect.bodyChecksum(answer), let sent = checksum.value(of: body.count),
      told != sent
    else { return }
    var failure = TryFailure(
      StoreError(
        .invalidAnswer,
        request.operation,
        key: request.key,
        status: answer.status,
        requestID: answer.fields[dialect.requestIDField],
        message:
          "the store has other bytes than were sent: its CRC-64 is \(told) instead of \(sent)"
      ),
      mayHaveHappened: true
    )
    // A repeat would meet the damaged object and be refused for it.
    failure.isFinal = !request.isIdempotent
    throw failure
  }

  /// Sends `request` once and returns the answer with its body, whatever the status.
  private func document(
    _ request: WireRequest,
    by route: Route,
    _ sending: Sending
  ) async throws(TryFailure) -> WireAnswer {
    let receiver = CollectingReceiver()
    do throws(HTTPError) {
      let head = try await send(request, by: route, sending, receiver: receiver)
      return WireAnswer(status: head.status, fields: head.fields, body: receiver.body)
    } catch {
      // An error whose explanation broke off, or is a novel, is still that error.
      if let head = receiver.head, head.status >= 300, error.kind != .cancelled {
        return WireAnswer(status: head.status, fields: head.fields, body: receiver.body)
      }
      if receiver.isTooLarge {
        throw TryFailure(
          StoreError(
            .invalidAnswer,
            request.operation,
            key: request.key,
            message: "the answer is larger than any such answer can be"
          )
        )
      }
      var failure = transportFailure(error, request)
      if error.kind == .stalled, !sending.isSilent { failure.silence = sending.idleTimeout }
      throw failure
    }
  }

  /// Makes a failed exchange into a failed try.
  func transportFailure(_ error: HTTPError, _ request: WireRequest) -> TryFailure {
    var failure = StoreError(
      .unreachable,
      request.operation,
      key: request.key,
      message: error.message
    )
    switch error.kind {
    case .unreachable:
      // Nothing was sent, so nothing can have happened.
      return TryFailure(failure)
    case .interrupted, .stalled, .stopped:
      break
    case .untrusted:
      failure.kind = .untrusted
      return TryFailure(failure)
    case .timedOut:
      failure.kind = .timedOut
    case .refused(let disk):
      failure.kind = .sinkRefused
      failure.errno = disk.errno
      failure.message = disk.description
    case .cancelled:
      failure.kind = .cancelled
    case .invalid:
      failure.kind = .invalidAnswer
    }
    return TryFailure(failure, mayHaveHappened: true)
  }

  /// Makes an answer that is a failure into a failed try, with what it says of the cure.
  func failure(_ error: StoreError, _ answer: WireAnswer, _ route: Route) -> TryFailure {
    TryFailure(
      error,
      correction: Correction(of: error, answer, route, dialect),
      mayHaveHappened: RetryPolicy.outcomeIsUnknown(after: error)
    )
  }

  /// What came of putting something right.
  private enum Effect {
    /// The next try differs from the last.
    case again
    /// It doesn't.
    case vain
    /// It doesn't, for this reason.
    case vainBecause(String)
  }

  /// Puts right what a refusal named.
  ///
  /// - Returns: whether the next try differs from the last.
  private func apply(_ correction: Correction, by deadline: Instant) async -> Effect {
    switch correction {
    case .clock(let store, let own):
      if session.withLock({ $0.learned(storeTime: store, own: own) }) {
        surroundings.log.write(
          .warning,
          "this machine's clock differs from the store's; requests use the store's",
          ["store": store.iso8601, "own": own.iso8601]
        )
      }
      return .again
    case .region(let region):
      return session.withLock { $0.learned(region: region) } ? .again : .vain
    case .credentials(let stale):
      // Who signs nothing has nothing to renew.
      guard stale != .anonymous else { return .vain }
      let offset = session.withLock { $0.clockOffset }
      switch await credentials.renew(stale, by: deadline, clockOffset: offset) {
      case .fresh: return .again
      case .same(let reason): return .vainBecause(reason)
      }
    }
  }

  private func late(_ request: WireRequest) -> StoreError {
    StoreError(.timedOut, request.operation, key: request.key, message: "the deadline has passed")
  }

  private func cancelled(_ request: WireRequest) -> StoreError {
    StoreError(.cancelled, request.operation, key: request.key, message: "the caller gave up")
  }
}
