/// How large the parts of a transfer may be, and how many there may be.
package struct PartLimits: Hashable, Sendable {
  /// The part size that is taken if none is asked for.
  ///
  /// Source: TOS iOS SDK v2.1.8, "Resumable transfer": 0 means 20 MiB.
  package static let usualPartSize = 20 << 20
  /// How many parts of one task may be in flight.
  ///
  /// Source: the same.
  package static let parallelRange = 1...1000

  /// The fewest bytes of a part, an object's last one apart.
  package var sizeMin = 5 << 20
  /// The most bytes of a part.
  ///
  /// Source: Amazon S3 User Guide, "Multipart upload limits"; TOS API reference, "UploadPart".
  package var sizeMax = 5 << 30
  /// The most parts of an object.
  package var countMax = 10_000

  /// Creates the limits that S3 and TOS share.
  package init() {}

  /// Why parts can't be made as asked.
  package enum Violation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The part size lies outside the limits.
    case partSize(Int, allowed: ClosedRange<Int>)
    /// The object is larger than all parts together can be.
    case objectSize(Int, max: Int)

    package var description: String {
      switch self {
      case .partSize(let size, let allowed):
        "the part size must be from \(allowed.lowerBound) to \(allowed.upperBound) bytes, or 0 for the "
          + "default, not \(size)"
      case .objectSize(let size, let max):
        "an object of \(size) bytes can't be sent in parts: \(max) bytes are the most"
      }
    }
  }

  /// Returns the part size that `wanted` means: 0 is the usual one.
  package func partSize(_ wanted: Int) throws(Violation) -> Int {
    guard wanted != 0 else { return min(max(Self.usualPartSize, sizeMin), sizeMax) }
    guard sizeMin <= wanted, wanted <= sizeMax else {
      throw .partSize(wanted, allowed: sizeMin...sizeMax)
    }
    return wanted
  }

  /// Returns the number of parts in flight that `wanted` means: the nearest that is allowed.
  package static func parallel(_ wanted: Int) -> Int {
    min(max(wanted, parallelRange.lowerBound), parallelRange.upperBound)
  }
}
