internal import Core

/// Ids by deadline, the earliest first: a binary heap.
struct DeadlineQueue {
  private var entries: [(deadline: Instant, id: UInt64)] = []

  /// The number of ids.
  var count: Int { entries.count }
  /// The earliest deadline.
  var earliest: Instant? { entries.first?.deadline }
  /// The id with the earliest deadline.
  var first: UInt64? { entries.first?.id }

  /// Adds an id.
  mutating func insert(_ id: UInt64, at deadline: Instant) {
    entries.append((deadline, id))
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].deadline < entries[parent].deadline else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  /// Removes and returns the id with the earliest deadline.
  @discardableResult
  mutating func removeFirst() -> UInt64? {
    guard let first = entries.first else { return nil }
    let last = entries.removeLast()
    if !entries.isEmpty {
      entries[0] = last
      sink(from: 0)
    }
    return first.id
  }

  /// Removes the ids that `isKept` is false of.
  mutating func keep(where isKept: (UInt64) -> Bool) {
    entries.removeAll { !isKept($0.id) }
    for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { sink(from: index) }
  }

  private mutating func sink(from start: Int) {
    var parent = start
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
        if entries[child].deadline < entries[least].deadline { least = child }
      }
      guard least != parent else { return }
      entries.swapAt(parent, least)
      parent = least
    }
  }
}
