internal import Caching
internal import Core
internal import Support
internal import Transfer

/// What a draft knows of itself: its bytes' places, what the store has of it, and who writes.
///
/// Whatever changes what is published is a `DraftChange`: `apply` makes it while programs write, and again
/// when the journal is read after a crash.
struct DraftState: Sendable {
  /// The key that it is to be the object of.
  var key = ObjectKey("")
  /// On what condition it may become the object.
  var condition = WriteCondition.none
  /// The object that the store has of it; nil if it has none.
  var base: ObjectMetadata?
  var extents = FileExtents()
  /// Where data files have the bytes that the extents stand for, by the files' numbers.
  var local: [Int: ByteRangeSet] = [:]
  /// The data file that is written into.
  var file = 1
  /// Counts changes; the store has all up to `publishedRevision`.
  var revision = 0
  var publishedRevision = 0
  var facts = ObjectFacts()
  /// False while only the store knows them.
  var knowsFacts = true
  /// The facts have changed since the store had them.
  var hasNewFacts = false
  var modified = Timestamp(nanoseconds: 0)
  /// A program has set the time, and nothing was written since.
  var isModifiedSet = false
  /// Its name was removed: it is never published any more.
  var isDiscarded = false

  /// What was last frozen: its token, which tells it from all other states, its extents and its revision.
  private var frozen: (token: String, extents: FileExtents, revision: Int)?
  /// The data file whose bytes are being sent, and those before it; 0 if none is.
  var frozenFile = 0
  /// What has changed since those were frozen.
  var changed = ByteRangeSet()
  /// The changes that the last try covered, if it may have been done though no answer said so.
  var triedRevision: Int?
  /// Why the last try to publish it failed, and how many have failed.
  var failure: FileError?
  var failureCount = 0
  var flight: DraftFlight?
  /// Writes under way.
  var writerCount = 0
  /// Whoever wants to write waits until those who do have ended: the file is to be frozen.
  var isFreezing = false
  /// What was frozen.
  var snapshot: Snapshot?
  /// Opened when it is.
  var whenFrozen: Gate?
  /// Parts that are sent while it is written, and the upload that they are in.
  var early: (parts: EarlyParts, upload: EarlyUpload)?
  /// Opened when none is on its way.
  var whenEarlyIdle: Gate?
  /// Tags or storage class have changed since the store had them, which only a copy can bring there.
  var needsCopy = false
  /// What the journal doesn't say yet.
  var unwritten = DraftChangeQueue()
  /// The disk didn't take it, and that was said.
  var isJournalBehind = false

  /// A draft at the moment from which it is published.
  struct Snapshot: Sendable {
    let key: ObjectKey
    let condition: WriteCondition
    let extents: FileExtents
    let revision: Int
    /// Tells this state of the draft from all others.
    let token: String
    /// The last data file that it has bytes in.
    let file: Int
    /// Where data files have its bytes.
    let local: [Int: ByteRangeSet]
    /// The object that the store has.
    let base: ObjectMetadata?
    /// An earlier try may have been done though no answer said so.
    let isRepeated: Bool
    let facts: ObjectFacts
    let hasNewFacts: Bool
    let needsCopy: Bool
    /// The time that a program set; nil if something was written since.
    let timeSet: Timestamp?
  }

  /// Creates the state that so many changes lead to, the first of which begins it.
  init(_ changes: [DraftChange]) {
    for change in changes { apply(change) }
  }

  var isDirty: Bool { revision != publishedRevision && !isDiscarded }

  /// Makes a change and has it journaled.
  mutating func record(_ change: DraftChange) {
    apply(change)
    unwritten.append(change)
  }

  private mutating func apply(_ change: DraftChange) {
    switch change {
    case .began(let head): begin(head)
    case .wrote(let range, let file, let time):
      forget(range)
      local[file, default: ByteRangeSet()].insert(range)
      self.file = max(self.file, file)
      extents.write(range, file: file)
      contentChanged(range, at: time)
    case .resized(let size, let time):
      let changed = ByteRange(min(size, extents.size), .max)
      extents.resize(to: size)
      forget(changed)
      contentChanged(changed, at: time)
    case .punched(let range, let time):
      extents.punch(range)
      forget(range)
      contentChanged(range, at: time)
    case .inserted(let version, let offset, let range, let time):
      extents.insert(version, at: offset, as: range)
      forget(range)
      contentChanged(range, at: time)
    case .facts(let facts, let isNew):
      if isNew, facts.tags != self.facts.tags || facts.storageClass != self.facts.storageClass {
        needsCopy = true
      }
      self.facts = facts
      knowsFacts = true
      if isNew { factsChanged() }
    case .timed(let time):
      modified = time
      isModifiedSet = true
      factsChanged()
    case .moved(let key, let condition, let version): move(to: key, condition, version)
    case .frozen(let token): frozen = (token, extents, revision)
    case .published(let version): published(version)
    case .discarded: isDiscarded = true
    }
  }

  private mutating func begin(_ head: DraftHead) {
    key = head.key
    condition = head.condition
    base = head.base.map { ObjectMetadata(version: $0) }
    extents = head.isTruncated ? FileExtents() : head.base.map { FileExtents($0) } ?? FileExtents()
    knowsFacts = head.base == nil
    modified = head.modified
    if head.isDirty { revision += 1 }
  }

  private mutating func move(
    to key: ObjectKey,
    _ condition: WriteCondition,
    _ version: ObjectVersion?
  ) {
    self.key = key
    guard let version, let old = base?.version else {
      self.condition = condition
      base = nil
      revision += 1
      return
    }
    extents = extents.renamed(old, to: version)
    base = ObjectMetadata(version: version)
    self.condition = version.etag.map { .ifMatch($0) } ?? .none
  }

  private mutating func published(_ version: ObjectVersion) {
    guard let frozen else { return }
    extents = extents.rebased(onto: version, since: frozen.extents)
    base = ObjectMetadata(version: version)
    publishedRevision = frozen.revision
    if revision == frozen.revision {
      hasNewFacts = false
      needsCopy = false
    }
    condition = version.etag.map { .ifMatch($0) } ?? .none
  }

  private mutating func factsChanged() {
    hasNewFacts = true
    revision += 1
  }

  private mutating func contentChanged(_ range: ByteRange, at now: Timestamp) {
    if frozenFile > 0 { changed.insert(range) }
    early?.parts.changed(range)
    revision += 1
    modified = now
    isModifiedSet = false
  }

  private mutating func forget(_ range: ByteRange) {
    for number in local.keys { local[number]?.remove(range) }
  }
}

// Those who write, and the one who publishes.
extension DraftState {
  /// A write begins.
  ///
  /// - Returns: the number of the file that it goes to; nil if it must wait until the file is frozen.
  mutating func writeBegan() -> Int? {
    guard !isFreezing else { return nil }
    if file <= frozenFile { file = frozenFile + 1 }
    writerCount += 1
    return file
  }

  /// A write is over; `range` is what it wrote, empty if nothing.
  mutating func writeEnded(_ range: ByteRange, file: Int, at now: Timestamp) {
    writerCount -= 1
    if !range.isEmpty { record(.wrote(range, file: file, at: now)) }
    if isFreezing { freeze() }
  }

  /// A data file has been given the bytes that a range has, as of when it was frozen.
  mutating func materialized(_ range: ByteRange, in file: Int) {
    for part in changed.gaps(in: range) { local[file, default: ByteRangeSet()].insert(part) }
  }

  /// The data file that holds all of a range; nil if none does.
  func file(holding range: ByteRange) -> Int? {
    local.first { $0.value.contains(range) }?.key
  }

  /// Takes the snapshot that is published, as soon as nobody writes.
  mutating func freeze() {
    isFreezing = writerCount > 0
    guard !isFreezing else { return }
    frozenFile = file
    changed = ByteRangeSet()
    let known = frozen.flatMap { $0.revision == revision ? $0.token : nil }
    let token = known ?? String(UInt64.random(in: .min ... .max), radix: 16)
    if known == nil { record(.frozen(token)) }
    snapshot = Snapshot(
      key: key,
      condition: condition,
      extents: extents,
      revision: revision,
      token: token,
      file: file,
      local: local,
      base: base,
      isRepeated: triedRevision == revision,
      facts: facts,
      hasNewFacts: hasNewFacts,
      needsCopy: needsCopy,
      timeSet: isModifiedSet ? modified : nil
    )
  }

  /// The store has the snapshot as `object`.
  mutating func published(_ object: ObjectMetadata) {
    record(.published(object.version))
    base = object
    failure = nil
    failureCount = 0
    triedRevision = nil
  }

  /// Data files may be written into again.
  mutating func thaw() {
    isFreezing = false
    frozenFile = 0
    snapshot = nil
    changed = ByteRangeSet()
  }
}

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

/// One try to publish a draft, which all who ask meanwhile share.
final class DraftFlight: Sendable {
  /// What comes of it.
  typealias Outcome = Result<ObjectMetadata?, FileError>

  private let outcome = Lock(Outcome?.none)
  private let gate = Gate()
  /// The changes that it covers; nil before it is known.
  let revision = Lock(Int?.none)
  /// Ends it.
  let task = Lock(Task<Void, Never>?.none)

  func end(_ outcome: Outcome) {
    self.outcome.withLock { $0 = outcome }
    gate.open()
  }

  /// Waits until it is over.
  func result() async -> Outcome {
    await gate.wait()
    return outcome.withLock { $0 }
      ?? .failure(FileError(.inputOutput, "publishing ended without an outcome"))
  }
}
