/// An object's full name in its bucket: bytes, not a path and not necessarily UTF-8.
///
/// Keys are ordered by their bytes, as S3 lists them.
package struct ObjectKey: Hashable, Sendable {
  /// The key's bytes; 1 to 1,024 of them in a real store, empty for "the whole bucket".
  package let bytes: [UInt8]

  /// The most bytes that a key can have.
  ///
  /// Source: Amazon S3 user guide, "Naming Amazon S3 objects".
  package static let byteCountMax = 1024

  /// Creates a key of these bytes.
  package init(_ bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// Creates a key of the text's UTF-8.
  package init(_ text: String) {
    bytes = Array(text.utf8)
  }

  /// Returns true if the key starts with `prefix`.
  package func hasPrefix(_ prefix: ObjectKey) -> Bool {
    bytes.starts(with: prefix.bytes)
  }

  /// True if the key ends in a slash, as the markers of directories do.
  package var isDirectoryMarker: Bool { bytes.last == UInt8(ascii: "/") }
}

extension ObjectKey: Comparable {
  package static func < (left: ObjectKey, right: ObjectKey) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

extension ObjectKey: CustomStringConvertible {
  /// The key for messages: control characters and bytes that are not UTF-8 as `\xNN`, so that a
  /// hostile key can neither break a log line nor move a terminal's cursor.
  package var description: String { bytes.printable }
}

extension Sequence<UInt8> {
  /// The bytes as text for a message: valid UTF-8 as it is, everything else as `\xNN`.
  package var printable: String {
    var text = ""
    var decoder = UTF8()
    var pending = Array(self)[...]
    while !pending.isEmpty {
      var iterator = pending.makeIterator()
      let before = pending.count
      switch decoder.decode(&iterator) {
      case .scalarValue(let scalar) where !scalar.properties.isControl:
        text.unicodeScalars.append(scalar)
        pending = pending.dropFirst(UTF8.width(scalar))
      case .scalarValue, .error, .emptyInput:
        if let byte = pending.first { text += byte.hexEscape }
        pending = pending.dropFirst()
      }
      decoder = UTF8()
      precondition(pending.count < before, "no progress")
    }
    return text
  }
}

extension Unicode.Scalar.Properties {
  /// True for what a terminal or a log reader would act on instead of showing.
  fileprivate var isControl: Bool {
    switch generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
    default: false
    }
  }
}

extension UTF8 {
  /// The number of bytes a scalar takes.
  fileprivate static func width(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.value {
    case ..<0x80: 1
    case ..<0x800: 2
    case ..<0x1_0000: 3
    default: 4
    }
  }
}

extension UInt8 {
  /// The byte as `\xNN`.
  fileprivate var hexEscape: String {
    let digits = String(self, radix: 16, uppercase: true)
    return "\\x" + (digits.count < 2 ? "0" + digits : digits)
  }
}
