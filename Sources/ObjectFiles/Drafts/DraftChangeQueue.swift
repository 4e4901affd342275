internal import Caching
internal import Core

/// Changes on their way to the journal.
///
/// What is written in order becomes one change, up to 1 MiB: a line per write would cost as much as the
/// write.
struct DraftChangeQueue: Sendable {
  private static let runSizeMax = 1 << 20

  private var changes: [DraftChange] = []
  /// What was written last, which the next write may go on with.
  private var run: (range: ByteRange, file: Int, time: Timestamp)?

  var count: Int { changes.count }

  mutating func append(_ change: DraftChange) {
    guard case .wrote(let range, let file, let time) = change else {
      endRun()
      changes.append(change)
      return
    }
    if let last = run, last.file == file, last.range.upperBound == range.lowerBound,
      last.range.count + range.count <= Self.runSizeMax
    {
      run = (ByteRange(last.range.lowerBound, range.upperBound), file, time)
    } else {
      endRun()
      run = (range, file, time)
    }
  }

  /// Takes what is to be written now; `all` includes what the next write may go on with.
  mutating func take(all: Bool) -> [DraftChange] {
    if all { endRun() }
    defer { changes = [] }
    return changes
  }

  /// Puts back what could not be written.
  mutating func putBack(_ taken: [DraftChange]) { changes.insert(contentsOf: taken, at: 0) }

  private mutating func endRun() {
    if let run { changes.append(.wrote(run.range, file: run.file, at: run.time)) }
    run = nil
  }
}
