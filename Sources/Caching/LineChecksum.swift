internal import Crypto

/// The checksum at the end of a line: a space, and CRC-64/XZ of what stands before it in 16 hex digits.
enum LineChecksum {
  /// The line of a text, with its end.
  static func line(_ text: String) -> String { text + " " + digits(of: Array(text.utf8)) + "\n" }

  /// The text of a line without its end; nil if it is not as it was written.
  static func text(of line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard line.count > 17, line[line.endIndex - 17] == UInt8(ascii: " ") else { return nil }
    let text = line.dropLast(17)
    return line.suffix(16).elementsEqual(digits(of: Array(text)).utf8) ? text : nil
  }

  private static func digits(of text: [UInt8]) -> String {
    let digits = String(CRC64.checksum(of: text), radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
