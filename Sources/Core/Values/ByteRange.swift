/// A half-open interval of bytes in an object: `lowerBound ..< upperBound`.
///
/// Inside the program every range is half-open; HTTP's inclusive `bytes=a-b` exists only in
/// StoreWire.
package struct ByteRange: Hashable, Sendable {
  /// The first byte's offset.
  package let lowerBound: Int
  /// One past the last byte's offset; never below `lowerBound`.
  package let upperBound: Int

  /// Creates the range `lowerBound ..< upperBound`.
  ///
  /// - Precondition: `0 <= lowerBound <= upperBound`.
  package init(_ lowerBound: Int, _ upperBound: Int) {
    precondition(
      0 <= lowerBound && lowerBound <= upperBound,
      "not a range: \(lowerBound)..<\(upperBound)"
    )
    self.lowerBound = lowerBound
    self.upperBound = upperBound
  }

  /// Creates the range of `count` bytes that starts at `offset`.
  package init(offset: Int, count: Int) {
    self.init(offset, offset + count)
  }

  /// The number of bytes.
  package var count: Int { upperBound - lowerBound }
  /// True if there are no bytes in the range.
  package var isEmpty: Bool { lowerBound == upperBound }

  /// Returns true if every byte of `other` is in this range; an empty range is in every range.
  package func contains(_ other: ByteRange) -> Bool {
    other.isEmpty || (lowerBound <= other.lowerBound && other.upperBound <= upperBound)
  }

  /// Returns true if the two share at least one byte.
  package func overlaps(_ other: ByteRange) -> Bool {
    max(lowerBound, other.lowerBound) < min(upperBound, other.upperBound)
  }

  /// Returns the bytes that are in both; empty, at the greater lower bound, if there are none.
  package func clamped(to other: ByteRange) -> ByteRange {
    let lower = max(lowerBound, other.lowerBound)
    return ByteRange(lower, max(lower, min(upperBound, other.upperBound)))
  }
}

extension ByteRange {
  /// The range for a person's sentence, its last byte included: `bytes 0 to 9`.
  package var inWords: String {
    isEmpty ? "no bytes at \(lowerBound)" : "bytes \(lowerBound) to \(upperBound - 1)"
  }
}

extension ByteRange: CustomStringConvertible {
  package var description: String { "\(lowerBound)..<\(upperBound)" }
}
