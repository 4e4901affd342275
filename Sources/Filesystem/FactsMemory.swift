internal import Core

/// What was learned of versions' user metadata, which a listing doesn't tell.
///
/// Bounded: what was asked for longest ago goes first, half of it at a time.
struct FactsMemory {
  /// What is known of one version.
  struct Facts: Hashable, Sendable {
    let posix: PosixMetadata
    let userMetadata: [String: String]

    init(_ userMetadata: [String: String]) {
      self.userMetadata = userMetadata
      posix = PosixMetadata(userMetadata)
    }
  }

  private struct Key: Hashable {
    let key: ObjectKey
    let etag: ETag
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

  /// What is known of a version; nil if nothing is, or it has no user metadata.
  func facts(of entry: Entry) -> Facts? {
    guard !newer.isEmpty || !older.isEmpty, let etag = entry.etag else { return nil }
    let key = Key(key: entry.key, etag: etag)
    return newer[key] ?? older[key]
  }

  /// The store has told what it has of a version.
  mutating func note(_ metadata: [String: String], of version: ObjectVersion) {
    guard let etag = version.etag else { return }
    let key = Key(key: version.key, etag: etag)
    older[key] = nil
    if let known = newer.removeValue(forKey: key) { byteCount -= Self.byteCount(key, known) }
    guard !metadata.isEmpty else { return }
    let facts = Facts(metadata)
    newer[key] = facts
    byteCount += Self.byteCount(key, facts)
    guard byteCount > byteCountMax / 2 else { return }
    older = newer
    newer = [:]
    byteCount = 0
  }

  /// The store has copied a version, with all that belongs to it.
  mutating func copied(_ version: ObjectVersion, to copy: ObjectVersion) {
    guard let etag = version.etag else { return }
    let key = Key(key: version.key, etag: etag)
    if let known = newer[key] ?? older[key] { note(known.userMetadata, of: copy) }
  }

  private static func byteCount(_ key: Key, _ facts: Facts) -> Int {
    facts.userMetadata.reduce(200 + key.key.bytes.count) {
      $0 + $1.key.utf8.count + $1.value.utf8.count + 64
    }
  }
}
