/// The spelling of bytes in URLs.
///
/// Only the unreserved set stands for itself; everything else is `%XX` with upper-case digits, as
/// both signatures demand. Nothing is encoded twice or normalised.
///
/// Source: RFC 3986 section 2; AWS Signature Version 4, "Create a canonical request".
package enum PercentEncoding {
  /// Returns `bytes` for the path of a URL: slashes stay.
  package static func path(_ bytes: some Sequence<UInt8>) -> String {
    encode(bytes, keepsSlash: true)
  }

  /// Returns `bytes` for the query of a URL: a slash is `%2F`, a space `%20`, a plus sign `%2B`.
  package static func query(_ bytes: some Sequence<UInt8>) -> String {
    encode(bytes, keepsSlash: false)
  }

  /// Returns the text's UTF-8 for the query of a URL.
  package static func query(_ text: String) -> String {
    encode(text.utf8, keepsSlash: false)
  }

  /// Returns pairs as a form, `name=value` between ampersands, sorted by name.
  static func form(_ pairs: [String: String]) -> String {
    pairs.sorted { $0.key < $1.key }.map { "\(query($0.key))=\(query($0.value))" }
      .joined(separator: "&")
  }

  /// Returns the bytes that a percent-encoded text stands for; nil if a `%` is not followed by two
  /// hexadecimal digits.
  package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    decode(text, plusIsSpace: false)
  }

  /// Returns the bytes that a form-encoded text stands for, in which `+` is a space; nil if a `%`
  /// is not followed by two hexadecimal digits.
  package static func decodeForm(_ text: some Sequence<UInt8>) -> [UInt8]? {
    decode(text, plusIsSpace: true)
  }

  private static func encode(_ bytes: some Sequence<UInt8>, keepsSlash: Bool) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.underestimatedCount)
    for byte in bytes {
      if byte.isUnreserved || (keepsSlash && byte == UInt8(ascii: "/")) {
        text.append(byte)
      } else {
        text.append(UInt8(ascii: "%"))
        text.append(digit(byte >> 4))
        text.append(digit(byte & 15))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.underestimatedCount)
    var iterator = text.makeIterator()
    while let byte = iterator.next() {
      if byte == UInt8(ascii: "%") {
        guard let high = iterator.next()?.hexadecimalValue,
          let low = iterator.next()?.hexadecimalValue
        else { return nil }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return bytes
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}

extension UInt8 {
  /// True for the bytes that stand for themselves everywhere in a URL.
  fileprivate var isUnreserved: Bool {
    switch self {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// The value of a hexadecimal digit in either case.
  fileprivate var hexadecimalValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
