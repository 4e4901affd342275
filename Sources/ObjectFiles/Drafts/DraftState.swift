internal import Core
internal import Support

/// What a draft knows of itself: its bytes' places, what the store has of it, and who writes.
struct DraftState: Sendable {
  /// The key that it is to be the object of.
  var key: ObjectKey
  /// On what condition it may become the object.
  var condition: WriteCondition
  /// The object that the store has of it; nil if it has none.
  var base: ObjectMetadata?
  var extents: FileExtents
  /// Where data files have the bytes that the extents stand for, by the files' numbers.
  var local: [Int: ByteRangeSet] = [:]
  /// The data file that is written into.
  var file = 1
  /// The data file whose bytes are being sent, and those before it; 0 if none is.
  var frozenFile = 0
  /// What has changed since those were frozen.
  var changed = ByteRangeSet()
  /// Counts changes; the store has all up to `publishedRevision`.
  var revision = 0
  var publishedRevision = 0
  var facts = ObjectFacts()
  /// False while only the store knows them.
  var knowsFacts = true
  /// The facts have changed since the store had them.
  var hasNewFacts = false
  var modified: Timestamp
  /// A program has set the time, and nothing was written since.
  var isModifiedSet = false
  /// Its name was removed: it is never published any more.
  var isDiscarded = false
  /// The changes that the last try covered, if it may have been done though no answer said so.
  var triedRevision: Int?
  /// Why the last try to publish it failed.
  var failure: FileError?
  var flight: DraftFlight?
  /// Writes under way.
  var writerCount = 0
  /// Whoever wants to write waits until those who do have ended: the file is to be frozen.
  var isFreezing = false
  /// What was frozen.
  var snapshot: Snapshot?
  /// Opened when it is.
  var frozen: Gate?

  /// A draft at the moment from which it is published.
  struct Snapshot: Sendable {
    let key: ObjectKey
    let condition: WriteCondition
    let extents: FileExtents
    let revision: Int
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
    /// The time that a program set; nil if something was written since.
    let timeSet: Timestamp?
  }

  init(key: ObjectKey, condition: WriteCondition, extents: FileExtents, modified: Timestamp) {
    self.key = key
    self.condition = condition
    self.extents = extents
    self.modified = modified
  }

  var isDirty: Bool { revision != publishedRevision && !isDiscarded }

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
    if !range.isEmpty {
      forget(range)
      local[file, default: ByteRangeSet()].insert(range)
      extents.write(range, file: file)
      contentChanged(range, at: now)
    }
    if isFreezing { freeze() }
  }

  /// The file gets another size.
  mutating func resized(to size: Int, at now: Timestamp) {
    let kept = min(size, extents.size)
    extents.resize(to: size)
    forget(ByteRange(kept, .max))
    contentChanged(ByteRange(kept, .max), at: now)
  }

  /// A range is zeros.
  mutating func punched(_ range: ByteRange, at now: Timestamp) {
    extents.punch(range)
    forget(range)
    contentChanged(range, at: now)
  }

  /// A range is that of an object.
  mutating func inserted(
    _ version: ObjectVersion,
    at offset: Int,
    as range: ByteRange,
    now: Timestamp
  ) {
    extents.insert(version, at: offset, as: range)
    forget(range)
    contentChanged(range, at: now)
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
    snapshot = Snapshot(
      key: key,
      condition: condition,
      extents: extents,
      revision: revision,
      file: file,
      local: local,
      base: base,
      isRepeated: triedRevision == revision,
      facts: facts,
      hasNewFacts: hasNewFacts,
      timeSet: isModifiedSet ? modified : nil
    )
  }

  /// The store has `snapshot` as `object`.
  mutating func published(_ object: ObjectMetadata, _ snapshot: Snapshot) {
    extents = extents.rebased(onto: object.version, since: snapshot.extents)
    base = object
    publishedRevision = snapshot.revision
    if revision == snapshot.revision { hasNewFacts = false }
    failure = nil
    triedRevision = nil
    condition = object.version.etag.map { .ifMatch($0) } ?? .none
    thaw()
  }

  /// Data files may be written into again.
  mutating func thaw() {
    frozenFile = 0
    snapshot = nil
    changed = ByteRangeSet()
  }

  private mutating func forget(_ range: ByteRange) {
    for number in local.keys { local[number]?.remove(range) }
  }

  private mutating func contentChanged(_ range: ByteRange, at now: Timestamp) {
    if frozenFile > 0 { changed.insert(range) }
    revision += 1
    modified = now
    isModifiedSet = false
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
