internal import Core

/// The range in an answer's `Content-Range`, half-open.
///
/// Source: RFC 9110 section 14.4.
struct ContentRange: Hashable {
  /// The bytes that follow.
  let range: ByteRange
  /// The object's size; nil if the store doesn't know it.
  let size: Int?

  /// Reads `bytes 0-99/1234` or `bytes 0-99/*`; nil if it is anything else or contradicts itself.
  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let pieces = words[1].utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard pieces.count == 2 else { return nil }
    let bounds = pieces[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard bounds.count == 2, let first = bounds[0].sizeValue, let last = bounds[1].sizeValue,
      first <= last
    else { return nil }
    range = ByteRange(first, last + 1)
    if pieces[1].elementsEqual("*".utf8) {
      size = nil
    } else {
      guard let size = pieces[1].sizeValue, last < size else { return nil }
      self.size = size
    }
  }
}

extension Sequence<UInt8> {
  /// The bytes as an object's size or a position in it: at most 64 PiB.
  ///
  /// No store keeps larger objects, and sums of a few such numbers can't overflow anywhere.
  var sizeValue: Int? {
    decimalValue.flatMap { $0 <= 1 << 56 ? $0 : nil }
  }
}
