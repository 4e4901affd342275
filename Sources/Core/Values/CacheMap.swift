/// Where the bytes of one object version are.
package struct CacheMap: Hashable, Sendable {
  /// The object's size in bytes.
  package let size: Int
  /// On the disk; not all of it needs to have been verified since the start.
  package let cached: ByteRangeSet
  /// Asked for, and not there yet.
  package let underWay: ByteRangeSet

  /// Creates a map.
  package init(size: Int, cached: ByteRangeSet, underWay: ByteRangeSet = ByteRangeSet()) {
    self.size = size
    self.cached = cached
    self.underWay = underWay
  }

  /// Neither on the disk nor on its way, in order.
  package var absent: [ByteRange] {
    var known = cached
    for range in underWay.ranges { known.insert(range) }
    return known.gaps(in: ByteRange(0, size))
  }

  /// True if every byte is on the disk.
  package var isWhole: Bool { cached.contains(ByteRange(0, size)) }
}
