package import Core
internal import HTTP
internal import StoreWire
internal import Support

extension RemoteStore {
  package func get(
    _ request: GetRequest,
    into sink: any BodySink,
    context: RequestContext
  ) async throws(StoreError) -> GetAnswer {
    let wire = try dialect.getObject(request)
    var progress = GetProgress(request)
    do throws(TryFailure) {
      let metadata = try await run(wire, context) {
        (current, machine) throws(TryFailure) -> ObjectMetadata in
        progress.tryCount += 1
        return try await fetchRest(&progress, into: sink, context, current, &machine)
      }
      return GetAnswer(metadata: metadata, retryCount: progress.tryCount - 1)
    } catch {
      throw error.error
    }
  }

  /// Makes one try for the bytes that are still missing.
  private func fetchRest(
    _ progress: inout GetProgress,
    into sink: any BodySink,
    _ context: RequestContext,
    _ current: Try,
    _ machine: inout RetryMachine
  ) async throws(TryFailure) -> ObjectMetadata {
    let rest = progress.rest
    let wire: WireRequest
    do throws(StoreError) {
      wire = try dialect.getObject(rest)
    } catch {
      throw TryFailure(error)
    }
    let route = try await route(for: wire, by: current.deadline)
    let receiver = GetReceiver(
      expectation: GetExpectation(
        request: rest,
        wire: wire,
        dialect: dialect,
        lastModified: progress.lastModified
      ),
      sink: sink,
      time: surroundings.time,
      metrics: surroundings.metrics
    )
    let sending = Sending(
      body: .empty,
      deadline: current.deadline,
      isUrgent: context.isUrgent,
      isRetry: current.isRetry,
      expectedBodySize: rest.range.count
    )
    var transport = await withTaskCancellationHandler {
      await failure(of: wire, by: route, sending, receiver)
    } onCancel: {
      receiver.cancel()
    }
    if Task.isCancelled, transport != nil {
      transport = HTTPError(.cancelled, "the caller gave up")
    }
    let outcome = receiver.outcome
    if let moment = outcome.lastProgress { machine.progressed(at: moment) }
    guard let head = outcome.head, let verdict = outcome.verdict else {
      throw transportFailure(
        transport ?? HTTPError(.invalid, "the transport brought no answer"),
        wire
      )
    }
    switch verdict {
    case .take(let metadata):
      progress.advanced(by: outcome.deliveredCount, of: metadata)
      try checkBody(outcome, progress, transport, wire)
      return metadata
    case .readError:
      if let transport, transport.kind == .cancelled { throw transportFailure(transport, wire) }
      let answer = WireAnswer(status: head.status, fields: head.fields, body: outcome.errorBody)
      throw failure(dialect.error(answer, to: wire), answer, route)
    case .refuse(let error):
      throw TryFailure(error)
    }
  }

  /// Sends the request and returns how that failed; nil if it didn't.
  private func failure(
    of wire: WireRequest,
    by route: Route,
    _ sending: Sending,
    _ receiver: GetReceiver
  ) async -> HTTPError? {
    do throws(HTTPError) {
      _ = try await send(wire, by: route, sending, receiver: receiver)
      return nil
    } catch {
      return error
    }
  }

  /// Checks that a body that was taken is whole.
  private func checkBody(
    _ outcome: GetReceiver.Outcome,
    _ progress: GetProgress,
    _ transport: HTTPError?,
    _ wire: WireRequest
  ) throws(TryFailure) {
    guard !outcome.hasExcess else {
      var failure = TryFailure(
        StoreError(
          .invalidAnswer,
          wire.operation,
          key: wire.key,
          status: outcome.head?.status,
          requestID: outcome.head?.fields[dialect.requestIDField],
          message: "the answer has more bytes than it announced"
        )
      )
      // There is nothing left to ask for.
      failure.isFinal = true
      throw failure
    }
    // What breaks after the last byte doesn't matter any more.
    guard !progress.isComplete else { return }
    throw transportFailure(
      transport ?? HTTPError(.interrupted, "the body ended early"),
      wire
    )
  }
}
