import Core
import Simulation

/// Keys that a bucket may have and a file system would rather not.
struct HostileKeys {
  private var generator: Seeded
  private var longPieces: [[UInt8]] = []

  /// 1 to 1,024 bytes.
  private static let lengthMax = 1024

  init(seed: UInt64) {
    generator = Seeded(seed)
    // With the same beginning, long components are told apart by their digests alone.
    for _ in 0..<2 { longPieces.append(longPiece()) }
  }

  private static let pieces: [[UInt8]] = [
    Array(".".utf8), Array("..".utf8), Array("%".utf8), Array("%2".utf8), Array("a".utf8),
    Array("abc".utf8), Array(" ".utf8), [0x0A], [0x00], [0x7F], [0xC2, 0x85], [0xFF], [0xC0, 0xAF],
    [0xE2, 0x82], [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x98, 0x80], [0xC3, 0xA9],
    NameCodec.escapePrefix, NameCodec.objectPrefix, NameCodec.longPrefix,
  ]

  /// The keys of a bucket.
  mutating func bucket(count: Int) -> Set<ObjectKey> {
    var keys: Set<ObjectKey> = []
    while keys.count < count {
      let key = key()
      keys.insert(key)
      // Neighbours: something below it, a marker beside it, an object in place of its directory.
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: keys.insert(ObjectKey((key.bytes + Array("/x".utf8)).suffix(Self.lengthMax)))
      case 1: keys.insert(ObjectKey((key.bytes + Array("/".utf8)).suffix(Self.lengthMax)))
      case 2:
        let parent = key.bytes.dropLast().prefix(
          upTo: key.bytes.dropLast().lastIndex(of: 0x2F) ?? 0
        )
        if !parent.isEmpty { keys.insert(ObjectKey(parent)) }
      default: break
      }
    }
    return keys
  }

  private mutating func key() -> ObjectKey {
    var bytes: [UInt8] = []
    for index in 0..<Int.random(in: 1...4, using: &generator) {
      if index > 0 { bytes.append(0x2F) }
      bytes += component()
    }
    // Cut anywhere, also inside a character.
    bytes = Array(bytes.prefix(Self.lengthMax))
    return bytes.isEmpty ? ObjectKey("/") : ObjectKey(bytes)
  }

  private mutating func component() -> [UInt8] {
    switch Int.random(in: 0..<8, using: &generator) {
    case 0: return []
    case 1, 2:
      let base = longPieces.randomElement(using: &generator) ?? []
      return base.prefix(Int.random(in: 0...base.count, using: &generator)) + shortPiece()
    case 3:
      // Around the longest name, with and without a prefix.
      return Array(repeating: 0x6E, count: Int.random(in: 238...258, using: &generator))
    default: return shortPiece()
    }
  }

  private mutating func shortPiece() -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 0..<4, using: &generator) {
      bytes += Self.pieces.randomElement(using: &generator) ?? []
    }
    return bytes
  }

  private mutating func longPiece() -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < 900 {
      let piece = shortPiece()
      for _ in 0..<Int.random(in: 0..<40, using: &generator) { bytes += piece }
    }
    return bytes
  }
}
