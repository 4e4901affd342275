internal import Core
internal import HTTP
internal import Support

/// Takes one try's answer to a ranged request: the head is judged before a byte reaches the sink.
///
/// Not one byte beyond the range asked for is handed on, whatever arrives.
final class GetReceiver: HTTPReceiver {
  /// What one try brought.
  struct Outcome: Sendable {
    /// The head, once it came.
    var head: HTTPResponseHead?
    /// What the head means.
    var verdict: GetExpectation.Verdict?
    /// Bytes that the sink took.
    var deliveredCount = 0
    /// True if more came than was asked for.
    var hasExcess = false
    /// When the last bytes came.
    var lastProgress: Instant?
    /// The body of an error, as far as it is kept.
    var errorBody: [UInt8] = []
  }

  private let expectation: GetExpectation
  private let sink: any BodySink
  private let time: any TimeSource
  private let metrics: Metrics
  private let state = Lock(Outcome())
  private let isCancelled = Lock(false)

  init(
    expectation: GetExpectation,
    sink: any BodySink,
    time: any TimeSource,
    metrics: Metrics
  ) {
    self.expectation = expectation
    self.sink = sink
    self.time = time
    self.metrics = metrics
  }

  /// What came so far; final once the transfer has ended.
  var outcome: Outcome { state.withLock { $0 } }

  /// Lets no more bytes through: the caller gave up.
  ///
  /// The transport learns of it too, but hands over first what it has read already, which on a fast
  /// line is megabytes.
  func cancel() {
    isCancelled.withLock { $0 = true }
  }

  func receive(head: HTTPResponseHead) -> Bool {
    let verdict = expectation.verdict(on: head)
    state.withLock { state in
      state.head = head
      state.verdict = verdict
    }
    if case .refuse = verdict { return false }
    return true
  }

  func receive(body: RawSpan) throws(DiskFailure) {
    let (verdict, done) = state.withLock { ($0.verdict, $0.deliveredCount) }
    switch verdict {
    case .take:
      // What arrived counts, also if nobody wants it any more.
      metrics.received(body.byteCount)
      try hand(body, alreadyDone: done)
    case .readError:
      let isFull = state.withLock {
        $0.errorBody.append(body, limit: CollectingReceiver.errorSizeMax)
      }
      if isFull { throw CollectingReceiver.fullFailure }
    case .refuse, nil:
      // The transfer was told to stop at the head.
      throw CollectingReceiver.fullFailure
    }
  }

  /// Hands bytes on, up to the end of the range.
  private func hand(_ body: RawSpan, alreadyDone done: Int) throws(DiskFailure) {
    guard !isCancelled.withLock({ $0 }) else { throw CollectingReceiver.fullFailure }
    let wanted = min(body.byteCount, expectation.request.range.count - done)
    if wanted > 0 {
      try sink.receive(
        body.extracting(first: wanted),
        at: expectation.request.range.lowerBound + done
      )
      let now = time.now
      state.withLock { state in
        state.deliveredCount += wanted
        state.lastProgress = now
      }
    }
    guard wanted < body.byteCount else { return }
    state.withLock { $0.hasExcess = true }
    throw CollectingReceiver.fullFailure
  }
}
