/// Which checksum of a body goes along with it, so that the store refuses a body that isn't that.
package enum ChecksumKind: String, Hashable, Sendable, CaseIterable {
  /// CRC-64/NVME, which Amazon recommends.
  case crc64nvme
  /// CRC-32C (Castagnoli).
  case crc32c
  /// MD5, in the field that every store knows.
  case md5
}

/// Which checksum of a body is sent.
package enum ChecksumChoice: Hashable, Sendable {
  /// The best that the store is known to take.
  case automatic
  /// None; what the store tells of what it got is compared all the same.
  case none
  /// This one, unless the store refuses it.
  case always(ChecksumKind)
}
