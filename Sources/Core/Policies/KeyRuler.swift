/// Measures how far apart keys lie, so that the place of keys that haven't been seen can be guessed.
///
/// The keys' first differing byte begins a number: each byte is a digit in the alphabet that its
/// place shows (decimal and hexadecimal digits, letters, what was seen), a few bytes before it are
/// leading digits. Counters, dates, hashes and words become numbers that grow as the keys do, and a
/// number becomes a key again. What it says of keys is a guess; their order is not.
package struct KeyRuler: Sendable {
  private struct Place {
    /// The bytes that may stand here, ascending.
    var alphabet: [UInt8]
    /// True if keys end before this place: that is the lowest digit then.
    var mayEnd: Bool
    var radix: Int { alphabet.count + (mayEnd ? 1 : 0) }
  }

  /// So many constant bytes before the first differing one are digits that may change later.
  private static let leadingCountMax = 6
  /// So many places are looked at.
  private static let placeCountMax = 64
  /// Numbers stay below this, far from overflow.
  private static let limit = 1 << 59

  private let stem: [UInt8]
  private let places: [Place]
  private let total: Int

  /// Creates a ruler from keys in ascending order; nil if they tell nothing that can be used.
  ///
  /// They have no slash behind the first `prefixCount` bytes, which all have in common.
  package init?(_ keys: [[UInt8]], prefixCount: Int) {
    guard let first = keys.first, let last = keys.last else { return nil }
    let start = zip(first, last).prefix { $0 == $1 }.count
    guard start >= prefixCount, start < last.count else { return nil }
    let longestCount = keys.reduce(0) { max($0, $1.count) }
    var seen: [(bytes: ByteSet, mayEnd: Bool)] = []
    var varying = ByteSet()
    for index in start..<min(longestCount, start + Self.placeCountMax) {
      var place = (bytes: ByteSet(), mayEnd: false)
      for key in keys {
        if index < key.count { place.bytes.insert(key[index]) } else { place.mayEnd = true }
      }
      // A piece of a character is no place to begin another key at.
      guard place.bytes.isASCII else { break }
      if place.bytes.count > 1 { varying.formUnion(place.bytes) }
      seen.append(place)
    }
    guard !seen.isEmpty, !varying.isEmpty else { return nil }
    var stemCount = start
    while stemCount > prefixCount, start - stemCount < Self.leadingCountMax,
      last[stemCount - 1] < 0x80
    {
      stemCount -= 1
      seen.insert((ByteSet([last[stemCount]]), false), at: 0)
    }
    var places: [Place] = []
    var total = 1
    for (bytes, mayEnd) in seen {
      let place = Place(alphabet: bytes.alphabet(among: varying), mayEnd: mayEnd)
      guard total < Self.limit / place.radix else { break }
      total *= place.radix
      places.append(place)
    }
    stem = Array(last[..<stemCount])
    self.places = places
    self.total = total
  }

  /// The number of a key; nil if it lies where this ruler doesn't reach.
  package func position(of key: [UInt8]) -> Int? {
    guard key.starts(with: stem) else { return nil }
    var position = 0
    var isExact = true
    for (index, place) in places.enumerated() {
      position *= place.radix
      guard isExact, stem.count + index < key.count else {
        isExact = false
        continue
      }
      let byte = key[stem.count + index]
      let digit = place.alphabet.firstIndex { $0 >= byte }
      isExact = digit.map { place.alphabet[$0] == byte } ?? false
      if !isExact, place.alphabet.count == 1 { return nil }
      position += (digit ?? place.alphabet.count - 1) + (place.mayEnd ? 1 : 0)
    }
    return position
  }

  /// The key with this number; nil if there is none, or none beyond all that can be.
  package func key(at position: Int) -> [UInt8]? {
    guard position >= 0, position < total else { return nil }
    var rest = position
    var divisor = total
    var key = stem
    for place in places {
      divisor /= place.radix
      let digit = rest / divisor - (place.mayEnd ? 1 : 0)
      rest %= divisor
      guard digit >= 0 else { return key }
      key.append(place.alphabet[digit])
    }
    return key
  }
}

/// A set of bytes.
private struct ByteSet {
  private var bits: (UInt64, UInt64) = (0, 0)
  /// False if a byte was no ASCII, which isn't kept.
  private(set) var isASCII = true

  init() {}

  init(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { insert(byte) }
  }

  var isEmpty: Bool { bits == (0, 0) }
  var count: Int { bits.0.nonzeroBitCount + bits.1.nonzeroBitCount }
  var bytes: [UInt8] { (UInt8(0)..<128).filter(contains) }

  func contains(_ byte: UInt8) -> Bool {
    guard byte < 128 else { return false }
    return (byte < 64 ? bits.0 : bits.1) & (1 << UInt64(byte & 63)) != 0
  }

  mutating func insert(_ byte: UInt8) {
    switch byte {
    case ..<64: bits.0 |= 1 << UInt64(byte)
    case ..<128: bits.1 |= 1 << UInt64(byte & 63)
    default: isASCII = false
    }
  }

  mutating func formUnion(_ other: ByteSet) {
    bits.0 |= other.bits.0
    bits.1 |= other.bits.1
  }

  func isSubset(of other: ByteSet) -> Bool {
    bits.0 & ~other.bits.0 == 0 && bits.1 & ~other.bits.1 == 0
  }

  private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
  private static let upper = UInt8(ascii: "A")...UInt8(ascii: "Z")
  private static let lower = UInt8(ascii: "a")...UInt8(ascii: "z")
  /// What names are made of, the narrowest first.
  private static let known = [
    ByteSet(digits), ByteSet(Array(digits) + lower.prefix(6)),
    ByteSet(Array(digits) + upper.prefix(6)), ByteSet(lower), ByteSet(upper),
    ByteSet(Array(digits) + lower), ByteSet(Array(digits) + upper),
    ByteSet(Array(digits) + Array(upper) + lower),
  ]

  /// What may stand where these bytes were seen, if `varying` were seen wherever anything varies.
  func alphabet(among varying: ByteSet) -> [UInt8] {
    // A place that shows few of them is written in the same digits as the others.
    if let common = Self.known.first(where: { varying.isSubset(of: $0) }), isSubset(of: common) {
      return common.bytes
    }
    guard count > 1 || isSubset(of: Self.known[0]) else { return bytes }
    return Self.known.first { isSubset(of: $0) }?.bytes ?? bytes
  }
}
