/// A hash table from tags to small numbers, 8 bytes a bucket, for tables of a hundred thousand names.
///
/// It knows only the 32-bit tag of each entry; whether an entry is the one that is looked for is
/// for the caller to say, who knows where the entry's bytes are. Tags must come from a hash with a
/// secret seed, such as Swift's own, since the names come from strangers.
struct CompactIndex: Sendable {
  private struct Bucket {
    var tag: UInt32
    var value: UInt32
  }

  private static let free = Bucket(tag: 0, value: .max)
  private static let bucketCountMin = 16

  private var buckets: [Bucket] = []
  /// The number of entries.
  private(set) var count = 0

  /// The bytes of memory that it takes.
  var byteCount: Int { buckets.capacity * MemoryLayout<Bucket>.stride }

  /// Returns the first value under `tag` that `isMatch` accepts.
  func first(tag: UInt32, where isMatch: (UInt32) -> Bool) -> UInt32? {
    guard !buckets.isEmpty else { return nil }
    var position = home(tag)
    while buckets[position].value != Self.free.value {
      let bucket = buckets[position]
      if bucket.tag == tag, isMatch(bucket.value) { return bucket.value }
      position = (position + 1) & mask
    }
    return nil
  }

  /// Adds `value` under `tag`.
  ///
  /// - Precondition: `value` is not `UInt32.max`, and is not there yet.
  mutating func insert(tag: UInt32, value: UInt32) {
    precondition(value != Self.free.value, "this value marks a free bucket")
    // At most three quarters full, so that probes stay short.
    if (count + 1) * 4 > buckets.count * 3 { grow() }
    place(Bucket(tag: tag, value: value))
    count += 1
  }

  /// Removes `value` from under `tag`; nothing happens if it isn't there.
  mutating func remove(tag: UInt32, value: UInt32) {
    guard !buckets.isEmpty else { return }
    var hole = home(tag)
    while buckets[hole].tag != tag || buckets[hole].value != value {
      if buckets[hole].value == Self.free.value { return }
      hole = (hole + 1) & mask
    }
    // What follows moves up, so that no probe ends at the hole before it has found its entry.
    var position = hole
    while true {
      position = (position + 1) & mask
      let bucket = buckets[position]
      guard bucket.value != Self.free.value else { break }
      let distance = (position - home(bucket.tag)) & mask
      if distance >= (position - hole) & mask {
        buckets[hole] = bucket
        hole = position
      }
    }
    buckets[hole] = Self.free
    count -= 1
  }

  private var mask: Int { buckets.count - 1 }

  private func home(_ tag: UInt32) -> Int { Int(tag) & mask }

  private mutating func place(_ bucket: Bucket) {
    var position = home(bucket.tag)
    while buckets[position].value != Self.free.value { position = (position + 1) & mask }
    buckets[position] = bucket
  }

  private mutating func grow() {
    let old = buckets
    buckets = Array(repeating: Self.free, count: max(Self.bucketCountMin, old.count * 2))
    for bucket in old where bucket.value != Self.free.value { place(bucket) }
  }
}
