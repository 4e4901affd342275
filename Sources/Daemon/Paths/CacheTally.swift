/// What `warm` or `evict` has done so far, over all its files.
package struct CacheTally: Hashable, Sendable {
  /// Files that the walk found.
  package private(set) var foundCount = 0
  /// Bytes of these.
  package private(set) var foundByteCount = 0
  /// Files that are through, well or not.
  package private(set) var endedCount = 0
  /// Files that are warmed, or of which something was freed.
  package private(set) var doneCount = 0
  /// Bytes of the files that are warmed, or bytes freed.
  package private(set) var doneByteCount = 0
  /// Bytes that were fetched.
  package private(set) var fetchedByteCount = 0
  /// Paths that failed.
  package private(set) var failureCount = 0
  private var failedByteCount = 0
  private var underWay: [Int: Int] = [:]

  /// Creates a tally of nothing.
  package init() {}

  /// The walk found a file.
  ///
  /// - Returns: its number.
  package mutating func found(byteCount: Int) -> Int {
    foundCount += 1
    foundByteCount += byteCount
    return foundCount
  }

  /// So many bytes of a file are there.
  package mutating func progressed(_ number: Int, to byteCount: Int) {
    underWay[number] = byteCount
  }

  /// A file is wholly in the cache.
  package mutating func warmed(_ number: Int, byteCount: Int, fetchedByteCount: Int) {
    underWay[number] = nil
    endedCount += 1
    doneCount += 1
    doneByteCount += byteCount
    self.fetchedByteCount += fetchedByteCount
  }

  /// Nothing of a file is in the cache any more.
  package mutating func evicted(freedByteCount: Int) {
    endedCount += 1
    if freedByteCount > 0 { doneCount += 1 }
    doneByteCount += freedByteCount
  }

  /// A file could not be done; its bytes are waited for no longer.
  package mutating func failed(_ number: Int, byteCount: Int) {
    underWay[number] = nil
    endedCount += 1
    failureCount += 1
    failedByteCount += byteCount
  }

  /// A path could not be looked at.
  package mutating func failed() { failureCount += 1 }

  /// Bytes that are there, also of files under way.
  package var presentByteCount: Int { doneByteCount + underWay.values.reduce(0, +) }
  /// Bytes that there will be, of what was found so far.
  package var expectedByteCount: Int { foundByteCount - failedByteCount }

  /// The last line of `warm`.
  package func warmingSummary(seconds: Int) -> String {
    let fetched =
      fetchedByteCount == 0
      ? "nothing had to be fetched"
      : "\(ByteSize.describe(fetchedByteCount)) fetched in \(ProgressLine.clock(seconds))"
    return "\(Self.files(doneCount)) in the cache, \(ByteSize.describe(doneByteCount)); \(fetched)"
      + failures
  }

  /// The last line of `evict`.
  package var evictionSummary: String {
    "\(ByteSize.describe(doneByteCount)) freed, \(Self.files(doneCount)) of \(foundCount)"
      + failures
  }

  /// What to say if the cache can't hold all that was warmed; nil if it can.
  package func overflow(limitByteCount: Int) -> String? {
    guard doneByteCount > limitByteCount else { return nil }
    return "the cache may take \(ByteSize.describe(limitByteCount)) and these files have "
      + "\(ByteSize.describe(doneByteCount)), so the first of them have left it again; "
      + "mount with a larger --cache-size"
  }

  private var failures: String { failureCount == 0 ? "" : "; \(failureCount) failed" }

  private static func files(_ count: Int) -> String { count == 1 ? "1 file" : "\(count) files" }
}
