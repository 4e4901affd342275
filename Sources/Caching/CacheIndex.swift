internal import Core

/// What the cache knows of its entries without looking at the disk: sizes, last uses, and which of
/// them must stay; decides what to evict.
struct CacheIndex: Sendable {
  /// What is known of one entry.
  struct Entry: Hashable, Sendable {
    /// Bytes that it takes on the disk, about.
    var byteCount: Int
    /// When it was last opened or closed.
    var lastUsed: Timestamp
    /// Somebody has it open.
    var isOpen: Bool
    /// It is of another format version, or can't be removed: not ours to evict.
    var isKept = false
  }

  private(set) var entries: [EntryID: Entry] = [:]
  /// Bytes of all entries together.
  private(set) var byteCount = 0

  /// An entry was found on the disk; one that is known already is left as it is.
  mutating func found(_ id: EntryID, byteCount: Int, lastUsed: Timestamp) {
    guard entries[id] == nil else { return }
    entries[id] = Entry(byteCount: byteCount, lastUsed: lastUsed, isOpen: false)
    self.byteCount += byteCount
  }

  /// An entry was opened; `byteCount` is what it takes now.
  mutating func opened(_ id: EntryID, byteCount: Int, at time: Timestamp) {
    forget(id)
    entries[id] = Entry(byteCount: byteCount, lastUsed: time, isOpen: true)
    self.byteCount += byteCount
  }

  /// An open entry has grown.
  mutating func grew(_ id: EntryID, by count: Int) {
    guard entries[id] != nil else { return }
    entries[id]?.byteCount += count
    byteCount += count
  }

  /// Nobody has the entry open any more.
  mutating func closed(_ id: EntryID, at time: Timestamp) {
    entries[id]?.isOpen = false
    entries[id]?.lastUsed = time
  }

  /// The entry turned out not to be ours to remove.
  mutating func kept(_ id: EntryID) {
    entries[id]?.isKept = true
  }

  /// The entry is gone.
  mutating func forget(_ id: EntryID) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    byteCount -= entry.byteCount
  }

  /// The entries to evict to free `count` bytes: least recently used first, none that is open.
  ///
  /// - Complexity: O(n log n); called seldom, since whoever evicts frees more than it must.
  func victims(toFree count: Int) -> [EntryID] {
    guard count > 0 else { return [] }
    let candidates = entries.filter { !$0.value.isOpen && !$0.value.isKept }
      .sorted { $0.value.lastUsed < $1.value.lastUsed }
    var freed = 0
    var victims: [EntryID] = []
    for (id, entry) in candidates {
      guard freed < count else { break }
      victims.append(id)
      freed += entry.byteCount
    }
    return victims
  }
}
