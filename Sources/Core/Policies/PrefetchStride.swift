/// A reader's reads at equal distances, such as those of one column of a table.
struct PrefetchStride: Sendable {
  /// Steps that must have been equal before anything is expected.
  private static let proofCount = 3

  private var last: ByteRange?
  private var step = 0
  /// How many steps in a row were `step`.
  private var stepCount = 0
  /// What was asked for and not read yet.
  private(set) var planned: [ByteRange] = []

  /// The reader reads `range` and not where a stream runs.
  ///
  /// - Returns: where it is expected next, nearest first, at most `countMax` places; and what is not
  ///   expected any more.
  mutating func advance(
    to range: ByteRange,
    in objectSize: Int,
    countMax: Int
  ) -> (expected: [ByteRange], abandoned: [ByteRange]) {
    defer { last = range }
    guard let last, range.lowerBound != last.lowerBound else { return ([], []) }
    let step = range.lowerBound - last.lowerBound
    guard step == self.step else {
      self.step = step
      stepCount = 1
      defer { planned = [] }
      return ([], planned)
    }
    stepCount += 1
    planned.removeAll {
      $0.overlaps(range) || (step > 0) == ($0.lowerBound < range.lowerBound)
    }
    guard stepCount >= Self.proofCount else { return ([], []) }
    // Each right guess doubles them.
    let count = min(countMax, 1 << min(stepCount - Self.proofCount, 30))
    return (places(count, from: range, in: objectSize), [])
  }

  /// These were asked for.
  mutating func asked(for ranges: [ByteRange]) { planned += ranges }

  private func places(_ count: Int, from range: ByteRange, in objectSize: Int) -> [ByteRange] {
    // Steps within a block would lead to the same block again.
    let stride =
      abs(step) >= PrefetchPolicy.unitMin ? step : step.signum() * PrefetchPolicy.unitMin
    var places: [ByteRange] = []
    var lower = range.lowerBound
    for _ in 0..<count {
      let (next, overflow) = lower.addingReportingOverflow(stride)
      guard !overflow, next >= 0, next < objectSize else { break }
      places.append(ByteRange(next, min(objectSize, next + range.count)))
      lower = next
    }
    return places
  }
}
