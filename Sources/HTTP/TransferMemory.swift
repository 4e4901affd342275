internal import Core

/// Decides how much memory transfers get, and when to give it back.
///
/// libcurl frees a transfer's buffers at its end, but malloc keeps what it has freed: after a burst
/// of 64 transfers 32 MiB stayed resident. So the buffers get smaller while many transfers run, and
/// the heap is trimmed when a burst is over and has stayed so for a while.
struct TransferMemory {
  /// libcurl's own buffer size; enough where no large body is expected.
  static let smallBufferSize = 16 * 1024
  /// The most that libcurl allows.
  ///
  /// A GiB costs 0.60 s of CPU at 16 KiB, 0.34 at 100 KiB and 0.30 at 512 KiB.
  static let largeBufferSize = 512 * 1024
  /// What running transfers share; 64 of them, of which the last get the least, have 14 MiB.
  private static let budget = 4 << 20
  /// So few transfers leave nothing behind that is worth a trim.
  private static let burstCountMin = 4
  /// How long nothing must run before the heap is trimmed.
  private static let patience = Duration.seconds(1)

  private var largestCount = 0
  private(set) var nextTrim = Instant.distantFuture

  /// The buffer for a transfer that starts while `runningCount` others run.
  ///
  /// `expectedSize` is the size of the answer's body, nil if it may be large.
  static func bufferSize(expectedSize: Int?, runningCount: Int) -> Int {
    let share = budget / (runningCount + 1)
    let size = min(share, expectedSize ?? .max)
    // 128 KiB is the least for a large body, however many there are.
    let least = min(128 * 1024, max(expectedSize ?? .max, smallBufferSize))
    return min(max(size, least), largeBufferSize)
  }

  /// A transfer started; `runningCount` run now.
  mutating func started(runningCount: Int) {
    largestCount = max(largestCount, runningCount)
    nextTrim = .distantFuture
  }

  /// The last transfer ended, and no request waits.
  mutating func becameIdle(at now: Instant) {
    guard largestCount >= Self.burstCountMin else { return }
    nextTrim = now + Self.patience
  }

  /// Returns true if the heap is to be trimmed now.
  mutating func isTrimDue(at now: Instant) -> Bool {
    guard now >= nextTrim else { return false }
    largestCount = 0
    nextTrim = .distantFuture
    return true
  }
}
