internal import Core
internal import Support

/// Holds what a store says of the parts of one upload against what was sent.
final class PartProof: Sendable {
  private let witness = Lock(TagWitness())
  private let tellsChecksums: Bool

  /// Creates the proof of an upload to a store with these capabilities.
  init(_ capabilities: StoreCapabilities) {
    tellsChecksums = capabilities.wholeObjectChecksum == .crc64
  }

  /// What to compute of the next part.
  var kinds: ChecksumKinds {
    ChecksumKinds(crc64: tellsChecksums, md5: !tellsChecksums && witness.withLock(\.isWanted))
  }

  /// Returns the part with the checksum of what was sent, if the store has that.
  ///
  /// - Throws: `.invalidAnswer` if it has something else.
  func checked(
    _ part: UploadedPart,
    _ sums: PartChecksums,
    of key: ObjectKey
  ) throws(StoreError) -> UploadedPart {
    let isSame =
      if let told = part.crc64, let crc64 = sums.crc64 {
        told == crc64
      } else {
        witness.withLock { $0.accepts(part.etag, md5: sums.md5) }
      }
    guard isSame else {
      throw StoreError(
        .invalidAnswer,
        .uploadPart,
        key: key,
        message: "the store has other bytes of part \(part.partNumber) than were sent"
      )
    }
    var part = part
    part.crc64 = sums.crc64 ?? part.crc64
    return part
  }
}
