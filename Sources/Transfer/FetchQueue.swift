/// Whose turn it is to fetch: two lines, each first come first served, and a number of slots.
///
/// Urgent entries (a reader waits) go before those ahead of a reader, which never take the last
/// slots: a guess must not delay a demand.
///
/// A small fetch is over after about a round trip, whatever the line's speed, so a slot holds several of
/// them: what bounds small files is how many are asked for at a time.
package struct FetchQueue: Sendable {
  /// One that waits for its turn or has it.
  package struct Entry: Hashable, Sendable {
    /// Its name.
    package var id: UInt64
    /// Memory that it holds while it has a slot, in bytes.
    package var byteCount: Int
    /// It fetches little.
    package var isSmall: Bool

    /// Creates an entry.
    package init(id: UInt64, byteCount: Int, isSmall: Bool = false) {
      self.id = id
      self.byteCount = byteCount
      self.isSmall = isSmall
    }

    /// What it takes of `smallPerSlot`.
    fileprivate var share: Int { isSmall ? 1 : FetchQueue.smallPerSlot }
  }

  /// Small fetches in one slot.
  ///
  /// 3: with the default of 8 slots 18 small files are on their way ahead of a reader, 900 a second at
  /// 20 ms a round trip, and a store is asked for no more than 24 objects at a time.
  package static let smallPerSlot = 3

  private let slotCount: Int
  private let reservedCount: Int
  /// The sum of the running entries' shares.
  private var takenCount = 0
  private var urgent: [Entry] = []
  private var ahead: [Entry] = []
  private var running: [UInt64: Entry] = [:]

  /// Creates a queue with `slotCount` slots, of which the last two, if there are as many, are kept for
  /// urgent entries.
  package init(slotCount: Int) {
    self.slotCount = max(1, slotCount)
    reservedCount = min(2, self.slotCount - 1)
  }

  /// The number of slots taken.
  package var runningCount: Int { running.count }
  /// The number of entries that wait.
  package var waitingCount: Int { urgent.count + ahead.count }

  /// An entry has come.
  package mutating func enqueued(_ entry: Entry, isUrgent: Bool) {
    if isUrgent { urgent.append(entry) } else { ahead.append(entry) }
  }

  /// An entry has become urgent.
  package mutating func promoted(_ id: UInt64) {
    guard let index = ahead.firstIndex(where: { $0.id == id }) else { return }
    urgent.append(ahead.remove(at: index))
  }

  /// An entry that waits has gone.
  ///
  /// - Returns: false if it does not wait here.
  package mutating func cancelled(_ id: UInt64) -> Bool {
    if let index = urgent.firstIndex(where: { $0.id == id }) {
      urgent.remove(at: index)
      return true
    }
    if let index = ahead.firstIndex(where: { $0.id == id }) {
      ahead.remove(at: index)
      return true
    }
    return false
  }

  /// The entry whose turn it is; nil if none waits or no slot is free for it.
  package var next: Entry? {
    let first = urgent.first ?? ahead.first
    guard let first else { return nil }
    let count = urgent.isEmpty ? slotCount - reservedCount : slotCount
    return takenCount + first.share <= count * Self.smallPerSlot ? first : nil
  }

  /// Gives `next` its slot.
  package mutating func startedNext() {
    guard let entry = next else { return }
    if urgent.isEmpty { ahead.removeFirst() } else { urgent.removeFirst() }
    running[entry.id] = entry
    takenCount += entry.share
  }

  /// An entry gives its slot back.
  ///
  /// - Returns: the entry; nil if it had no slot.
  package mutating func ended(_ id: UInt64) -> Entry? {
    let entry = running.removeValue(forKey: id)
    takenCount -= entry?.share ?? 0
    return entry
  }
}
