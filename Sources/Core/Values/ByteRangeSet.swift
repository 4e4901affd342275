/// A set of byte offsets, kept as sorted ranges that neither overlap nor touch.
///
/// Look-ups are binary searches; insertion and removal move the ranges behind the place they
/// change. A file has few ranges, since neighbours merge.
package struct ByteRangeSet: Hashable, Sendable {
  /// The ranges: sorted, non-empty, with a gap between each two.
  package private(set) var ranges: [ByteRange] = []

  /// Creates an empty set.
  package init() {}

  /// Creates a set that holds the bytes of `ranges`, in any order.
  package init(_ ranges: some Sequence<ByteRange>) {
    for range in ranges { insert(range) }
  }

  /// True if no byte is in the set.
  package var isEmpty: Bool { ranges.isEmpty }

  /// The number of bytes in the set.
  package var byteCount: Int { ranges.reduce(0) { $0 + $1.count } }

  /// Returns true if every byte of `range` is in the set.
  package func contains(_ range: ByteRange) -> Bool {
    guard !range.isEmpty else { return true }
    let index = firstIndex(endingAfter: range.lowerBound)
    return index < ranges.count && ranges[index].contains(range)
  }

  /// Returns true if some byte of `range` is in the set.
  package func intersects(_ range: ByteRange) -> Bool {
    let index = firstIndex(endingAfter: range.lowerBound)
    return index < ranges.count && ranges[index].overlaps(range)
  }

  /// Adds every byte of `range`.
  package mutating func insert(_ range: ByteRange) {
    guard !range.isEmpty else { return }
    // The first range that ends at or after ours starts: touching ranges merge too.
    let first = firstIndex(endingAfter: range.lowerBound - 1)
    var lower = range.lowerBound
    var upper = range.upperBound
    var end = first
    while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
      lower = min(lower, ranges[end].lowerBound)
      upper = max(upper, ranges[end].upperBound)
      end += 1
    }
    ranges.replaceSubrange(first..<end, with: CollectionOfOne(ByteRange(lower, upper)))
  }

  /// Removes every byte of `range`.
  package mutating func remove(_ range: ByteRange) {
    guard !range.isEmpty else { return }
    let first = firstIndex(endingAfter: range.lowerBound)
    var kept: [ByteRange] = []
    var end = first
    while end < ranges.count, ranges[end].lowerBound < range.upperBound {
      let old = ranges[end]
      if old.lowerBound < range.lowerBound {
        kept.append(ByteRange(old.lowerBound, range.lowerBound))
      }
      if range.upperBound < old.upperBound {
        kept.append(ByteRange(range.upperBound, old.upperBound))
      }
      end += 1
    }
    ranges.replaceSubrange(first..<end, with: kept)
  }

  /// Returns the parts of `range` that are not in the set, in order.
  package func gaps(in range: ByteRange) -> [ByteRange] {
    var gaps: [ByteRange] = []
    var position = range.lowerBound
    var index = firstIndex(endingAfter: range.lowerBound)
    while position < range.upperBound {
      guard index < ranges.count, ranges[index].lowerBound < range.upperBound else {
        gaps.append(ByteRange(position, range.upperBound))
        break
      }
      if position < ranges[index].lowerBound {
        gaps.append(ByteRange(position, ranges[index].lowerBound))
      }
      position = ranges[index].upperBound
      index += 1
    }
    return gaps
  }

  /// Returns the index of the first range whose upper bound is above `offset`.
  private func firstIndex(endingAfter offset: Int) -> Int {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound > offset {
        high = middle
      } else {
        low = middle + 1
      }
    }
    return low
  }
}
