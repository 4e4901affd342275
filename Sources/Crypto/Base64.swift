/// Base64 with the standard alphabet and padding.
///
/// Source: RFC 4648 section 4.
package enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
  )

  /// The value of each byte as a digit; 0xFF for those that are none.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 0xFF, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()

  /// Returns the bytes as text.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let group = bytes[index..<min(index + 3, bytes.count)]
      var bits = 0
      for offset in 0..<3 {
        bits = bits << 8 | (offset < group.count ? Int(bytes[index + offset]) : 0)
      }
      for digit in 0..<4 {
        text.append(
          digit <= group.count ? alphabet[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "=")
        )
      }
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the bytes that `text` stands for, or nil if it is not exactly that: a foreign
  /// character, wrong padding, or bits left over.
  package static func decode(_ text: String) -> [UInt8]? {
    let characters = Array(text.utf8)
    guard characters.count.isMultiple(of: 4) else { return nil }
    let paddingCount = characters.suffix(2).count { $0 == UInt8(ascii: "=") }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(characters.count / 4 * 3)
    var bits = 0
    var bitCount = 0
    for character in characters.dropLast(paddingCount) {
      let value = values[Int(character)]
      guard value != 0xFF else { return nil }
      bits = (bits << 6 | Int(value)) & 0xFFFF
      bitCount += 6
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(bits >> bitCount & 0xFF))
      }
    }
    guard bits & ((1 << bitCount) - 1) == 0 else { return nil }
    return bytes
  }
}
