/// What is known of the way to the store.
package struct Link: Hashable, Sendable {
  /// What all fetches together bring.
  package var bytesPerSecond: Double
  /// From asking to the first byte.
  package var delay: Duration

  /// Creates an estimate.
  package init(bytesPerSecond: Double, delay: Duration) {
    self.bytesPerSecond = bytesPerSecond
    self.delay = delay
  }

  /// What the link brings in `duration`.
  package func byteCount(in duration: Duration) -> Int {
    Int(min(bytesPerSecond * duration.seconds, 1e15))
  }
}

/// Measures the link from the fetches that go over it.
///
/// Time in which nothing is fetched says nothing about the link and isn't counted. Samples are taken over
/// spans of at least a quarter of a second, so that one fetch's end doesn't count for what came before.
package struct LinkMeter: Sendable {
  /// The estimate; nil before the first sample.
  package private(set) var link: Link?

  private static let spanMin = Duration.milliseconds(250)
  private static let sampleSizeMin = 64 << 10

  private var runningCount = 0
  /// Since when something has been running without a pause, or since the last look at it.
  private var busySince: Instant?
  private var busyTime = Duration.zero
  private var byteCount = 0
  private var delay: Duration?

  /// Creates a meter that has seen nothing.
  package init() {}

  /// A fetch has its turn.
  package mutating func fetchBegan(at now: Instant) {
    if runningCount == 0 { busySince = now }
    runningCount += 1
  }

  /// A fetch is over: it had its first byte after `delay`, nil if there was none.
  package mutating func fetchEnded(byteCount count: Int, delay: Duration?, at now: Instant) {
    runningCount = max(0, runningCount - 1)
    if let busySince { busyTime = busyTime + (now - busySince) }
    busySince = runningCount > 0 ? now : nil
    byteCount += count
    if let delay {
      // Quick answers tell the link's delay, slow ones a queue's.
      self.delay = self.delay.map { delay < $0 ? delay : ($0 * 7 + delay) / 8 } ?? delay
    }
    guard busyTime >= Self.spanMin, byteCount >= Self.sampleSizeMin, let known = self.delay else {
      return
    }
    let speed = Double(byteCount) / busyTime.seconds
    link = Link(
      bytesPerSecond: link.map { ($0.bytesPerSecond + speed) / 2 } ?? speed,
      delay: known
    )
    busyTime = .zero
    byteCount = 0
  }
}

extension Duration {
  /// The duration in seconds.
  fileprivate var seconds: Double { Double(wholeNanoseconds) / 1e9 }
}
