internal import CISAL

/// A CRC-64/XZ in the making, which is also the checksum that TOS keeps of each object.
///
/// ECMA-182 polynomial, reflected, begun with all ones and inverted at the end; the empty input's
/// is 0. ISA-L inverts on the way in and out itself, so that the value between two updates is the
/// finished checksum of all bytes so far.
package struct CRC64: Hashable, Sendable {
  /// The checksum of the bytes so far.
  package private(set) var value: UInt64

  /// Goes on from the checksum of the bytes before; 0 if there are none.
  package init(_ value: UInt64 = 0) {
    self.value = value
  }

  /// Takes the next bytes.
  package mutating func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// Takes the next bytes.
  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  private mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    value = crc64_ecma_refl(value, start.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
  }

  /// Returns the checksum of `bytes`.
  package static func checksum(of bytes: [UInt8]) -> UInt64 {
    var crc = CRC64()
    crc.update(bytes)
    return crc.value
  }

  /// Returns the checksum of A followed by B from the checksum of each and the length of B in bytes.
  ///
  /// - Complexity: at most 64 squarings of a 64 by 64 bit matrix, about 50 microseconds.
  /// - Precondition: `lengthB >= 0`.
  package static func combine(_ crcA: UInt64, _ crcB: UInt64, lengthB: Int) -> UInt64 {
    precondition(lengthB >= 0, "a length can't be negative")
    // Appending one zero bit is a linear map of the checksum over GF(2). Its powers by repeated
    // squaring move `crcA` past `lengthB` bytes; the inversions at both ends cancel each other.
    var shift = BitMatrix.oneZeroBit.squared().squared().squared()
    var result = crcA
    var remaining = lengthB
    while remaining > 0 {
      if remaining & 1 == 1 { result = shift * result }
      remaining >>= 1
      if remaining > 0 { shift = shift.squared() }
    }
    return result ^ crcB
  }
}

/// A linear map of 64 bits over GF(2): column `n` is what bit `n` becomes.
private struct BitMatrix {
  // Invariant: 64 columns.
  fileprivate var columns: [UInt64]

  /// What one more zero bit of input does to a reflected CRC register.
  static let oneZeroBit = BitMatrix(
    // The polynomial 0x42F0E1EBA9EA3693 with its bits in reverse order.
    // Source: ECMA-182, annex B; the XZ file format, section 6.
    columns: [0xC96C_5795_D787_0F42] + (0..<63).map { 1 << $0 }
  )

  static func * (matrix: BitMatrix, vector: UInt64) -> UInt64 {
    var sum: UInt64 = 0
    var rest = vector
    while rest != 0 {
      sum ^= matrix.columns[rest.trailingZeroBitCount]
      rest &= rest - 1
    }
    return sum
  }

  func squared() -> BitMatrix {
    BitMatrix(columns: columns.map { self * $0 })
  }
}
