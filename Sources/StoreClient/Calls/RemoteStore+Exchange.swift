internal import Core
internal import HTTP
internal import StoreWire
internal import Support

extension RemoteStore {
  /// How one request was addressed and signed.
  struct Route: Sendable {
    let identity: Identity
    let endpoint: Endpoint
    let region: String
    /// This machine's time when it was signed.
    let signedAt: Timestamp
    /// The store's time as far as it is known.
    let storeTime: Timestamp
  }

  /// What one request is sent with, beside itself.
  struct Sending {
    var body: BodySource
    var deadline: Instant
    var isUrgent: Bool
    var isRetry: Bool
    /// True if the store may work for minutes before it says anything.
    var isSilent = false
    /// How long a store that doesn't answer is waited for; nil is as long as for any request.
    var patience: Duration?
    var expectedBodySize: Int?
    /// Sees the body as it goes out.
    var watcher: (any BodyWatcher)?

    /// How long nothing may move, for a store that isn't silent at work.
    var idleTimeout: Duration {
      let usual = CurlClient.Configuration().idleTimeout
      return patience.map { min($0, usual) } ?? usual
    }
  }

  /// Returns how the next request goes, by what is known now.
  ///
  /// Looking for credentials takes from the call's own time.
  func route(
    for request: WireRequest,
    by deadline: Instant
  ) async throws(TryFailure) -> Route {
    let identity: Identity
    do throws(ConfigurationError) {
      let offset = session.withLock { $0.clockOffset }
      identity = try await credentials.identity(by: deadline, clockOffset: offset)
    } catch {
      let isLate = surroundings.time.now >= deadline
      throw TryFailure(
        StoreError(
          Task.isCancelled ? .cancelled : isLate ? .timedOut : .badCredentials,
          request.operation,
          key: request.key,
          message: error.description
        )
      )
    }
    let own = surroundings.time.wallTime
    return session.withLock { session in
      Route(
        identity: identity,
        endpoint: session.endpoint,
        region: session.region,
        signedAt: own,
        storeTime: session.storeTime(own)
      )
    }
  }

  /// Signs `request` and sends it once.
  func send(
    _ request: WireRequest,
    by route: Route,
    _ sending: Sending,
    receiver: any HTTPReceiver
  ) async throws(HTTPError) -> HTTPResponseHead {
    let target = route.endpoint.target(of: request, bucket: bucket)
    var fields = request.fields
    if let keys = route.identity.credentials {
      fields = Signer(dialect: dialect.signature, region: route.region)
        .fields(of: request, to: target, credentials: keys, at: route.storeTime)
    }
    let http = HTTPRequest(
      method: request.method.rawValue,
      url: target.url,
      fields: fields,
      body: sending.body,
      deadline: sending.deadline,
      idleTimeout: sending.isSilent
        ? sending.deadline - surroundings.time.now
        : sending.patience.map { _ in sending.idleTimeout },
      isUrgent: sending.isUrgent,
      expectedBodySize: sending.expectedBodySize,
      watcher: sending.watcher
    )
    surroundings.metrics.requestStarted(request.operation, isRetry: sending.isRetry)
    let start = surroundings.time.now
    do throws(HTTPError) {
      let head = try await surroundings.client.perform(http, receiver: receiver)
      if let date = head.fields["date"] {
        let own = surroundings.time.wallTime
        session.withLock { $0.lastDate = (date, own) }
      }
      log(request, start, "\(head.status)", head.fields[dialect.requestIDField])
      return head
    } catch {
      log(request, start, "\(error.kind)", nil)
      throw error
    }
  }

  private func log(
    _ request: WireRequest,
    _ start: Instant,
    _ outcome: String,
    _ requestID: String?
  ) {
    surroundings.log.write(
      .debug,
      "\(request.operation)",
      [
        "bucket": bucket,
        "key": request.key?.description ?? "",
        "outcome": outcome,
        "milliseconds":
          "\((surroundings.time.now - start).wholeNanoseconds / 1_000_000)",
        "request_id": requestID ?? "",
      ]
    )
  }
}
