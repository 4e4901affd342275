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

  /// What was last frozen; while the store may have it unknown to us, nobody writes over its bytes.
  var frozen: Snapshot?
  /// What a try that got no clear answer sent: it may have become the object all the same.
  var unclear: Snapshot?
  /// The data file whose bytes are being sent, and those before it; 0 if none is.
  var frozenFile = 0
  /// What has changed since those were frozen.
  var changed = ByteRangeSet()
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
  /// A journal that has become larger is begun anew.
  var journalSizeMax = 4 << 20
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
    var local: [Int: ByteRangeSet]
    /// The object that the store has.
    let base: ObjectMetadata?
    let facts: ObjectFacts
    let hasNewFacts: Bool
    let needsCopy: Bool
    /// The time that a program set; nil if something was written since.
    let timeSet: Timestamp?
    /// The store has said that it didn't take it.
    var isRefused = false
  }

  /// Creates the state that so many changes lead to, the first of which begins it.
  init(_ changes: [DraftChange]) {
    for change in changes { apply(change) }
  }

  var isDirty: Bool { revision != publishedRevision && !isDiscarded }

  /// It is a new file into which nothing was written.
  var holdsNothing: Bool { base == nil && extents.size == 0 }
  /// All of its bytes are the object's that the store has.
  var hasOnlyFacts: Bool { base.map { extents.isWhole(of: $0.version) } ?? false }

  /// Some of its bytes are another object's, or another version's.
  var isOfOthers: Bool {
    extents.pieces.contains { piece in
      guard case .stored(let version, _) = piece.place else { return false }
      return base.map { !$0.version.isSameContent(as: version) } ?? true
    }
  }

  /// The fewest changes that lead to this state, in place of all that the journal lacks or has; nil if it
  /// must not be begun anew just now.
  mutating func summary() -> [DraftChange]? {
    // What was frozen is published only if the journal says when.
    guard flight == nil, !isDiscarded else { return nil }
    _ = unwritten.take(all: true)
    let isWhole = base.map { extents.isWhole(of: $0.version) } ?? false
    var changes: [DraftChange] = [
      .began(
        DraftHead(
          key: key,
          condition: condition,
          base: base?.version,
          isTruncated: !isWhole || unclear != nil,
          isDirty: isDirty,
          modified: modified
        )
      )
    ]
    if let unclear {
      changes += writing(unclear.extents)
      changes.append(.facts(unclear.facts, isNew: unclear.hasNewFacts))
      if let time = unclear.timeSet { changes.append(.timed(time)) }
      changes += [.frozen(unclear.token), .resized(0, at: modified)]
    }
    if !isWhole || unclear != nil { changes += writing(extents) }
    if knowsFacts { changes.append(.facts(facts, isNew: hasNewFacts)) }
    if isModifiedSet { changes.append(.timed(modified)) }
    return changes
  }

  /// The changes that make an empty file that of `extents`.
  private func writing(_ extents: FileExtents) -> [DraftChange] {
    extents.pieces.map { piece in
      switch piece.place {
      case .staged(let file): .wrote(piece.range, file: file, at: modified)
      case .hole: .resized(piece.range.upperBound, at: modified)
      case .stored(let version, let offset):
        .inserted(version, at: offset, as: piece.range, now: modified)
      }
    }
  }

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
    case .frozen(let token): froze(token)
    case .published(let version, let token): published(version, token)
    case .refused: frozen?.isRefused = true
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
    (frozen, unclear) = (nil, nil)
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

  private mutating func froze(_ token: String) {
    if unclear == nil { unclear = inDoubt }
    frozen = Snapshot(
      key: key,
      condition: condition,
      extents: extents,
      revision: revision,
      token: token,
      file: file,
      local: local,
      base: base,
      facts: facts,
      hasNewFacts: hasNewFacts,
      needsCopy: needsCopy,
      timeSet: isModifiedSet ? modified : nil
    )
  }

  /// What was last frozen, if nothing says what came of it.
  var inDoubt: Snapshot? {
    frozen.flatMap { $0.isRefused || $0.revision == publishedRevision ? nil : $0 }
  }

  private mutating func published(_ version: ObjectVersion, _ token: String) {
    guard let done = [frozen, unclear].compactMap({ $0 }).first(where: { $0.token == token }) else {
      return
    }
    extents = extents.rebased(onto: version, since: done.extents)
    base = ObjectMetadata(version: version)
    publishedRevision = done.revision
    if revision == done.revision {
      hasNewFacts = false
      needsCopy = false
    }
    condition = version.etag.map { .ifMatch($0) } ?? .none
    // What is frozen next is published on another condition, and from other places.
    (frozen, unclear) = (nil, nil)
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
