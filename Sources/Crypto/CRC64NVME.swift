/// A CRC-64/NVME in the making, the checksum that Amazon S3 keeps of whole objects.
///
/// Polynomial 0xAD93D23594C93659, reflected, begun with all ones and inverted. Eight bytes are taken at a
/// time with eight tables. The ISA-L of Debian 12 doesn't know this polynomial.
///
/// Source: NVM Express, NVM Command Set Specification 1.0, section 5.2.1.3.4.
package struct CRC64NVME: Hashable, Sendable {
  private var register: UInt64 = .max

  /// Begins; the checksum of no bytes is 0.
  package init() {}

  /// The checksum of the bytes so far.
  package var value: UInt64 { ~register }

  /// Takes the next bytes.
  package mutating func update(_ bytes: RawSpan) {
    let table = Self.tables.span
    var register = register
    var index = 0
    let wordCount = bytes.byteCount / 8
    for _ in 0..<wordCount {
      let word = bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self)
      let mixed = UInt64(littleEndian: word) ^ register
      // The lowest byte has seven more behind it, the highest none.
      register = table[0x700 | Int(mixed & 0xFF)] ^ table[0x600 | Int(mixed >> 8 & 0xFF)]
      register ^= table[0x500 | Int(mixed >> 16 & 0xFF)] ^ table[0x400 | Int(mixed >> 24 & 0xFF)]
      register ^= table[0x300 | Int(mixed >> 32 & 0xFF)] ^ table[0x200 | Int(mixed >> 40 & 0xFF)]
      register ^= table[0x100 | Int(mixed >> 48 & 0xFF)] ^ table[Int(mixed >> 56)]
      index += 8
    }
    while index < bytes.byteCount {
      let byte = bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      register = table[Int((register ^ UInt64(byte)) & 0xFF)] ^ register >> 8
      index += 1
    }
    self.register = register
  }

  /// What a byte becomes with none to seven zero bytes behind it.
  ///
  /// Eight tables of 256, one after the other.
  private static let tables: [UInt64] = {
    var tables = [UInt64](repeating: 0, count: 8 * 256)
    for byte in 0..<256 {
      var register = UInt64(byte)
      for _ in 0..<8 {
        // The polynomial with its bits in reverse order.
        register = register & 1 == 1 ? register >> 1 ^ 0x9A6C_9329_AC4B_C9B5 : register >> 1
      }
      tables[byte] = register
    }
    for index in 256..<tables.count {
      let before = tables[index - 256]
      tables[index] = tables[Int(before & 0xFF)] ^ before >> 8
    }
    return tables
  }()
}
