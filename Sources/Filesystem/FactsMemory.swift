internal import Core

/// What was learned of versions' user metadata, which a listing doesn't tell, and of directories'.
///
/// Bounded: what was asked for longest ago goes first, half of it at a time.
struct FactsMemory {
  /// What is known of one version, or of a directory.
  struct Facts: Sendable {
    let posix: PosixMetadata
    let userMetadata: [String: String]
    /// All that the store said; nil if an earlier mount left the facts, or there is no such object.
    let answer: ObjectMetadata?
    /// When the store was asked; long ago for what an earlier mount left.
    let askedAt: Instant

    fileprivate init(
      _ userMetadata: [String: String],
      _ answer: ObjectMetadata?,
      askedAt: Instant
    ) {
      self.userMetadata = userMetadata
      self.answer = answer
      self.askedAt = askedAt
      posix = PosixMetadata(userMetadata)
    }
  }

  private struct Key: Hashable {
    let key: ObjectKey
    /// Nil is a directory.
    let etag: ETag?
  }

  private let byteCountMax: Int
  private var newer: [Key: Facts] = [:]
  private var older: [Key: Facts] = [:]
  /// Bytes that the newer ones take.
  private var byteCount = 0

  /// Creates an empty memory of about so many bytes.
  init(byteCountMax: Int = 8 << 20) {
    self.byteCountMax = byteCountMax
  }

  /// What is known of a version, or of a directory; nil if nothing is.
  func facts(of entry: Entry) -> Facts? {
    guard !newer.isEmpty || !older.isEmpty else { return nil }
    if entry.kind == .directory { return facts(Key(key: entry.key, etag: nil)) }
    guard let etag = entry.etag else { return nil }
    return facts(Key(key: entry.key, etag: etag))
  }

  /// What is known of the directory with a prefix; nil if nothing is.
  func facts(ofDirectory prefix: ObjectKey) -> Facts? { facts(Key(key: prefix, etag: nil)) }

  /// The store has told, asked at `askedAt`, what it has of a version.
  ///
  /// - Returns: the facts, if they are news; nil if they were known.
  mutating func note(_ object: ObjectMetadata, askedAt: Instant) -> RecordedFacts? {
    guard let etag = object.version.etag, let metadata = object.userMetadata else { return nil }
    return note(Facts(metadata, object, askedAt: askedAt), of: Key(key: object.key, etag: etag))
  }

  /// The store has told, asked at `askedAt`, what it has of a directory's marker; nil if there is none.
  ///
  /// - Returns: the facts, if they are news; nil if they were known.
  mutating func note(
    marker: ObjectMetadata?,
    of prefix: ObjectKey,
    askedAt: Instant
  ) -> RecordedFacts? {
    note(
      Facts(marker?.userMetadata ?? [:], marker, askedAt: askedAt),
      of: Key(key: prefix, etag: nil)
    )
  }

  /// An earlier mount has left facts.
  mutating func recall(_ facts: RecordedFacts) {
    guard !facts.userMetadata.isEmpty else { return }
    let key = Key(key: facts.key, etag: facts.etag)
    _ = note(Facts(facts.userMetadata, nil, askedAt: Instant(nanoseconds: .min)), of: key)
  }

  /// The store has copied a version, with all that belongs to it.
  ///
  /// - Returns: the facts of the copy; nil if nothing is known.
  mutating func copied(_ version: ObjectVersion, to copy: ObjectVersion) -> RecordedFacts? {
    guard let etag = version.etag, let copyTag = copy.etag,
      let known = facts(Key(key: version.key, etag: etag))
    else { return nil }
    // Nobody has asked at the new key.
    let facts = Facts(known.userMetadata, nil, askedAt: Instant(nanoseconds: .min))
    return note(facts, of: Key(key: copy.key, etag: copyTag))
  }

  /// The store has moved all keys below a prefix.
  ///
  /// A copy of a version has its tag, unless it was put together of parts; of such as get another nothing is
  /// known then.
  ///
  /// - Returns: the facts under their new keys.
  mutating func moved(below prefix: ObjectKey, to newPrefix: ObjectKey) -> [RecordedFacts] {
    let known = older.merging(newer) { $1 }.filter { $0.key.key.hasPrefix(prefix) }
    return known.compactMap { key, facts in
      newer[key] = nil
      older[key] = nil
      let moved = Key(
        key: ObjectKey(newPrefix.bytes + key.key.bytes.dropFirst(prefix.bytes.count)),
        etag: key.etag
      )
      // Nobody has asked at the new key.
      return note(Facts(facts.userMetadata, nil, askedAt: Instant(nanoseconds: .min)), of: moved)
    }
  }

  private func facts(_ key: Key) -> Facts? { newer[key] ?? older[key] }

  private mutating func note(_ facts: Facts, of key: Key) -> RecordedFacts? {
    let known = self.facts(key)?.userMetadata ?? [:]
    older[key] = nil
    if let known = newer[key] { byteCount -= Self.byteCount(key, known) }
    newer[key] = facts
    byteCount += Self.byteCount(key, facts)
    if byteCount > byteCountMax / 2 {
      older = newer
      newer = [:]
      byteCount = 0
    }
    guard known != facts.userMetadata else { return nil }
    return RecordedFacts(key: key.key, etag: key.etag, userMetadata: facts.userMetadata)
  }

  private static func byteCount(_ key: Key, _ facts: Facts) -> Int {
    facts.userMetadata.reduce(400 + key.key.bytes.count) {
      $0 + $1.key.utf8.count + $1.value.utf8.count + 64
    }
  }
}
