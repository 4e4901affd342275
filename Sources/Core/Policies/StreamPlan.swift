/// How large each part of a stream is whose end isn't known before it comes.
///
/// Parts are held in memory, so they begin at the size asked for, and grow only as the stream proves
/// long: doubled after every thousand parts, up to `partSizeMax`. With the usual 20 MiB that takes
/// 1.7 TiB within 10,000 parts.
package struct StreamPlan: Hashable, Sendable {
  /// No part grows beyond this.
  ///
  /// 256 MiB: the usual memory budget; with larger ones a program's memory would follow its input.
  package static let partSizeMax = 256 << 20
  /// After so many parts the next ones are twice as large.
  private static let step = 1000

  /// The bytes of the first parts.
  package let firstPartSize: Int
  /// The most parts.
  package let countMax: Int

  /// Creates a plan whose first parts have `partSize` bytes, which is within `limits` or 0.
  package init(
    partSize: Int,
    limits: PartLimits = PartLimits()
  ) throws(PartLimits.Violation) {
    firstPartSize = try limits.partSize(partSize)
    countMax = limits.countMax
  }

  /// Returns the bytes of part `number`; nil if there are no more parts.
  package func size(ofPart number: Int) -> Int? {
    guard (1...countMax).contains(number) else { return nil }
    // A shift of 63 or more would lose the bits; the cap comes long before.
    let doublings = min((number - 1) / Self.step, 16)
    return max(firstPartSize, min(firstPartSize << doublings, Self.partSizeMax))
  }

  /// Returns how many parts of `size` may be held at a time, at least one, in `budget` bytes.
  package static func parallel(_ wanted: Int, partSize: Int, budget: Int) -> Int {
    max(1, min(PartLimits.parallel(wanted), budget / max(partSize, 1)))
  }
}
