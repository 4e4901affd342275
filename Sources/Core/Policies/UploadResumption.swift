/// Which parts of an interrupted upload need not be sent again.
///
/// A part counts only if the checkpoint and the store agree: this program recorded it, and the store
/// lists it with the same tag and with the size that the plan gives it. Whatever one of them doesn't
/// know, or knows otherwise, is sent again, which is always right.
package struct UploadResumption: Hashable, Sendable {
  /// The parts that are there, by ascending number.
  package let kept: [UploadedPart]
  /// The numbers of the parts to send, ascending.
  package let missing: [Int]

  /// Compares what was recorded with what the store lists; both in any order.
  package init(plan: PartPlan, recorded: [UploadedPart], listed: [UploadedPart]) {
    let stored = Dictionary(
      listed.map { ($0.partNumber, $0) },
      uniquingKeysWith: { first, _ in first }
    )
    var kept: [Int: UploadedPart] = [:]
    for part in recorded where plan.numbers.contains(part.partNumber) {
      let size = plan.range(ofPart: part.partNumber).count
      guard let found = stored[part.partNumber], found.etag == part.etag,
        found.size == nil || found.size == size, part.size == nil || part.size == size,
        found.crc64 == nil || part.crc64 == nil || found.crc64 == part.crc64
      else { continue }
      kept[part.partNumber] = UploadedPart(
        partNumber: part.partNumber,
        etag: part.etag,
        size: size,
        crc64: part.crc64 ?? found.crc64
      )
    }
    self.kept = kept.values.sorted { $0.partNumber < $1.partNumber }
    missing = plan.numbers.filter { kept[$0] == nil }
  }

  /// The bytes of the parts that are there.
  package var keptByteCount: Int { kept.reduce(0) { $0 + ($1.size ?? 0) } }
}
