package import Core
internal import Crypto

/// The bytes of a simulated object: real ones, or a rule that makes them, so that an object of any
/// size costs nothing.
package struct SimulatedContent: Sendable {
  fileprivate enum Source: Sendable {
    case bytes([UInt8])
    case words(seed: UInt64)
    case generated(@Sendable (Int) -> UInt8)
  }

  /// A run of bytes that starts at `sourceOffset` of its source.
  fileprivate struct Piece: Sendable {
    var source: Source
    var sourceOffset: Int
    var count: Int
  }

  private var pieces: [Piece]

  /// The number of bytes.
  package private(set) var size: Int

  private init(pieces: [Piece]) {
    self.pieces = pieces.filter { $0.count > 0 }
    size = pieces.reduce(0) { $0 + $1.count }
  }

  /// These bytes.
  package static func bytes(_ bytes: [UInt8]) -> SimulatedContent {
    SimulatedContent(pieces: [Piece(source: .bytes(bytes), sourceOffset: 0, count: bytes.count)])
  }

  /// The text's UTF-8.
  package static func text(_ text: String) -> SimulatedContent { bytes(Array(text.utf8)) }

  /// `size` bytes in 8-byte little-endian words, each its own index mixed with `seed` (0: the index).
  ///
  /// Any misplaced byte shows.
  package static func words(size: Int, seed: UInt64 = 0) -> SimulatedContent {
    SimulatedContent(pieces: [Piece(source: .words(seed: seed), sourceOffset: 0, count: size)])
  }

  /// `size` bytes, each made from its offset.
  package static func generated(
    size: Int,
    _ byte: @escaping @Sendable (Int) -> UInt8
  ) -> SimulatedContent {
    SimulatedContent(pieces: [Piece(source: .generated(byte), sourceOffset: 0, count: size)])
  }

  /// One content behind the other.
  package static func joined(_ contents: [SimulatedContent]) -> SimulatedContent {
    SimulatedContent(pieces: contents.flatMap(\.pieces))
  }

  /// A range of the content, without making its bytes.
  ///
  /// - Precondition: the range lies inside the content.
  package func slice(_ range: Range<Int>) -> SimulatedContent {
    precondition(range.lowerBound >= 0 && range.upperBound <= size, "outside the content")
    var result: [Piece] = []
    var start = 0
    for piece in pieces {
      let lower = max(range.lowerBound, start)
      let upper = min(range.upperBound, start + piece.count)
      if lower < upper {
        var part = piece
        part.sourceOffset += lower - start
        part.count = upper - lower
        result.append(part)
      }
      start += piece.count
    }
    return SimulatedContent(pieces: result)
  }

  /// The bytes of a range.
  package func bytes(_ range: Range<Int>) -> [UInt8] {
    slice(range).allBytes
  }

  /// CRC-64/XZ of all bytes, made piece by piece in bounded memory.
  package var crc64: UInt64 {
    var crc = CRC64()
    var offset = 0
    while offset < size {
      let end = min(offset + (1 << 20), size)
      crc.update(bytes(offset..<end))
      offset = end
    }
    return crc.value
  }

  /// The tag that most stores give these bytes in one piece: their MD5.
  package var digest: ETag? { MD5.digest(of: allBytes).map { ETag($0.hexadecimal) } }

  /// All bytes.
  package var allBytes: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(size)
    for piece in pieces { piece.append(to: &result) }
    return result
  }
}

extension SimulatedContent.Piece {
  fileprivate func append(to result: inout [UInt8]) {
    switch source {
    case .bytes(let bytes):
      result.append(contentsOf: bytes[sourceOffset..<sourceOffset + count])
    case .generated(let byte):
      for offset in sourceOffset..<sourceOffset + count { result.append(byte(offset)) }
    case .words(let seed):
      var offset = sourceOffset
      while offset < sourceOffset + count {
        let end = min(sourceOffset + count, (offset / 8 + 1) * 8)
        let word = UInt64(offset / 8) ^ (seed &* 0x9E37_79B9_7F4A_7C15)
        withUnsafeBytes(of: word.littleEndian) { bytes in
          result.append(contentsOf: bytes[offset % 8..<offset % 8 + end - offset])
        }
        offset = end
      }
    }
  }
}
