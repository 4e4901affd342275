internal import CISAL

/// A CRC-32C in the making: the Castagnoli polynomial, reflected, begun with all ones and inverted.
///
/// Source: RFC 3720, section 12.1.
package struct CRC32C: Hashable, Sendable {
  // The register, which ISA-L neither inverts before nor after.
  private var register: UInt32 = .max

  /// Begins; the checksum of no bytes is 0.
  package init() {}

  /// The checksum of the bytes so far.
  package var value: UInt32 { ~register }

  /// Takes the next bytes.
  package mutating func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { buffer in
      var rest = buffer
      // The length that ISA-L takes is an Int32, and it reads only, although it doesn't say so.
      while let start = rest.baseAddress, !rest.isEmpty {
        let count = min(rest.count, 1 << 30)
        let pointer = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
        register = crc32_iscsi(pointer, Int32(count), register)
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }
  }
}
