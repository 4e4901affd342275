/// How one object is cut into the parts of a transfer, which are numbered from 1.
///
/// Parts tile the object. Usually each has `partSize` bytes, but the last, which has the rest; the part size
/// is the one asked for, or as much more as keeps the number of parts within its limit, and follows from
/// the object's size alone, so that a resumed transfer cuts alike. Parts may also be given one by one. An
/// empty object has no parts.
package struct PartPlan: Hashable, Sendable {
  /// The object's bytes.
  package let size: Int
  /// The bytes of every part but the last; of parts given one by one, the most that one has.
  package let partSize: Int
  /// Where parts given one by one end.
  private let ends: [Int]?

  /// What a part size that had to grow is a multiple of.
  ///
  /// 1 MiB: disks and stores like round offsets, and it costs at most 1 MiB a part.
  private static let grain = 1 << 20

  /// Cuts an object of `size` bytes into parts of `partSize`, which is within `limits` or 0.
  package init(
    size: Int,
    partSize wanted: Int,
    limits: PartLimits = PartLimits()
  ) throws(PartLimits.Violation) {
    precondition(size >= 0, "an object can't have \(size) bytes")
    self.size = size
    ends = nil
    var partSize = try limits.partSize(wanted)
    let least = size.dividedRoundingUp(by: limits.countMax)
    if least > partSize {
      let grown = least.dividedRoundingUp(by: Self.grain) * Self.grain
      partSize = grown <= limits.sizeMax ? grown : least
    }
    guard partSize <= limits.sizeMax else {
      throw .objectSize(size, max: limits.sizeMax * limits.countMax)
    }
    self.partSize = partSize
  }

  /// Cuts an object into these parts.
  ///
  /// - Precondition: they are in order, none is empty, and they begin with the object's first byte and have
  ///   no gaps.
  package init(tiling ranges: [ByteRange]) {
    var end = 0
    for range in ranges {
      precondition(range.lowerBound == end && !range.isEmpty, "parts must tile the object")
      end = range.upperBound
    }
    size = end
    partSize = max(1, ranges.reduce(0) { max($0, $1.count) })
    ends = ranges.map(\.upperBound)
  }

  /// The number of parts.
  package var count: Int { ends?.count ?? size.dividedRoundingUp(by: partSize) }

  /// The parts' numbers, which begin with 1.
  package var numbers: Range<Int> { 1..<count + 1 }

  /// Returns the bytes of a part.
  ///
  /// - Precondition: there is a part with this number.
  package func range(ofPart number: Int) -> ByteRange {
    precondition(numbers.contains(number), "there is no part \(number) of \(count)")
    if let ends { return ByteRange(number == 1 ? 0 : ends[number - 2], ends[number - 1]) }
    let start = (number - 1) * partSize
    return ByteRange(start, min(size, start + partSize))
  }

  /// The bytes of each part, in order.
  package var ranges: [ByteRange] { numbers.map(range(ofPart:)) }
}

extension Int {
  /// The quotient, rounded up; both are positive or 0.
  fileprivate func dividedRoundingUp(by divisor: Int) -> Int {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder == 0 ? quotient : quotient + 1
  }
}
