/// Decides, for one directory, which of its files are fetched before they are opened.
///
/// Whoever reads a directory from one end to the other (`tar`, `cat *`, `grep -r`, `rsync`) opens one
/// small file after the other, and each costs a round trip. Files that are opened in the listing's order
/// are a *run*. A run proves itself with its third file; then the files behind it are guessed, four
/// of them at first and with each right guess more. A guess that was passed over ends the run, and so
/// do two files in a row from elsewhere: then it must prove itself anew.
package struct SiblingPolicy: Sendable {
  /// What bounds the guesses.
  package struct Limits: Hashable, Sendable {
    /// Larger files aren't fetched ahead; their own reads do that.
    package var fileSizeMax = 1 << 20
    /// Files that are ahead of the reader, at most.
    ///
    /// 64: at 20 ms a round trip that is 3,000 files a second, more than a reader opens.
    package var fileCountMax = 64
    /// Bytes of them together, at most.
    package var byteCountMax = 16 << 20
    /// Rows of the listing that are looked at for one guess, at most.
    package var rowCountMax = 256

    /// Creates the default limits.
    package init() {}
  }

  /// Rows of a listing that may be worth fetching.
  package struct Search: Hashable, Sendable {
    /// The position of the first row.
    package var start: Int
    /// How many rows to look at, at most.
    package var rowCount: Int
    /// How many files to take, at most.
    package var fileCount: Int
    /// How many bytes to take, at most.
    package var byteCount: Int
  }

  /// What follows from an open.
  package struct Decision: Hashable, Sendable {
    /// Where to look for files to fetch; what is found is to be told to `guessed`.
    package var search: Search?
    /// Guesses that are not kept any more, and those that were wrong among them.
    package var released: [Int] = []
  }

  /// A run must have come to this many files before anything is guessed.
  private static let proofCount = 3
  /// The next file of a run may be this far on: there may be directories and large files between.
  private static let stepMax = 4
  /// Several readers beside each other may pass a file this far before one of them opens it.
  private static let reorderMax = 8
  /// A run ends with this many files from elsewhere in a row.
  private static let strayCountMax = 2
  private static let firstWindow = 4

  private let limits: Limits
  /// The furthest file of the run.
  private var last: Int?
  /// Files that were opened in the run.
  private var runCount = 0
  private var strayCount = 0
  /// Files that may be ahead.
  private var window = 0
  /// One past the furthest row that was looked at.
  private var looked = 0
  /// What was guessed and not opened, by position, and its size.
  private var guesses: [Int: Int] = [:]
  /// Guesses that were right, kept until the reader is past them.
  private var opened: Set<Int> = []

  /// Creates the policy of a directory that nothing was opened in.
  package init(limits: Limits = Limits()) {
    self.limits = limits
  }

  /// The number of files that were guessed and aren't released.
  package var keptCount: Int { guesses.count + opened.count }

  /// A file is opened that the listing has at `position`.
  package mutating func fileOpened(at position: Int) -> Decision {
    if guesses.removeValue(forKey: position) != nil {
      opened.insert(position)
      // Not while others are passed over: they may have been wrong.
      if !guesses.keys.contains(where: { $0 < position }) {
        window = min(2 * window, limits.fileCountMax)
      }
    } else if let last, position == last || opened.contains(position) {
      return Decision()
    } else if let last, position < last || position > last + Self.stepMax {
      // The first file of all begins a run; a later one from elsewhere has to be followed by another.
      strayCount += 1
      guard strayCount >= Self.strayCountMax || runCount < Self.proofCount else {
        return Decision()
      }
      return begin(at: position)
    }
    guard let last else { return begin(at: position) }
    strayCount = 0
    runCount += 1
    self.last = max(last, position)
    if guesses.keys.contains(where: { $0 < position - Self.reorderMax }) {
      return begin(at: position)
    }
    let passed = opened.filter { $0 < position - Self.reorderMax }
    opened.subtract(passed)
    return Decision(search: nextSearch(), released: passed.sorted())
  }

  /// The files that a search found, by position, and their sizes; `end` is one past the last row that
  /// was looked at.
  package mutating func guessed(_ found: [(position: Int, size: Int)], end: Int) {
    looked = max(looked, end)
    for file in found { guesses[file.position] = file.size }
  }

  /// Nobody has opened anything for a while.
  ///
  /// - Returns: the guesses that are not kept any more.
  package mutating func wentQuiet() -> [Int] {
    defer { self = SiblingPolicy(limits: limits) }
    return (Array(guesses.keys) + opened).sorted()
  }

  /// Begins a run.
  private mutating func begin(at position: Int) -> Decision {
    let released = wentQuiet()
    last = position
    runCount = 1
    return Decision(released: released)
  }

  private mutating func nextSearch() -> Search? {
    guard runCount >= Self.proofCount, let last else { return nil }
    if window == 0 { window = min(Self.firstWindow, limits.fileCountMax) }
    let fileCount = window - guesses.count
    let byteCount = limits.byteCountMax - guesses.values.reduce(0, +)
    guard fileCount > 0, byteCount > 0 else { return nil }
    looked = max(looked, last + 1)
    let rowCount = min(limits.rowCountMax, last + 1 + limits.rowCountMax - looked)
    guard rowCount > 0 else { return nil }
    return Search(start: looked, rowCount: rowCount, fileCount: fileCount, byteCount: byteCount)
  }

  /// Returns true if a guess isn't released.
  package func isKept(_ position: Int) -> Bool {
    guesses[position] != nil || opened.contains(position)
  }

  /// Returns true if a file of this size is worth fetching ahead.
  package func isSmall(_ size: Int) -> Bool { size > 0 && size <= limits.fileSizeMax }
}
