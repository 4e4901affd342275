internal import Caching
internal import Core

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
      hasWholeFacts: hasWholeFacts,
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

  /// The draft is what the store has, as if its facts had never been changed.
  ///
  /// - Returns: false if it isn't.
  mutating func withdraw(to facts: ObjectFacts, modified time: Timestamp) -> Bool {
    guard flight == nil, snapshot == nil, writerCount == 0, !isDiscarded, let base,
      extents.isWhole(of: base.version)
    else { return false }
    record(.facts(facts, isNew: false))
    freeze()
    published(base)
    thaw()
    (modified, isModifiedSet) = (time, false)
    return true
  }

  /// Data files may be written into again.
  mutating func thaw() {
    isFreezing = false
    frozenFile = 0
    snapshot = nil
    changed = ByteRangeSet()
  }
}
