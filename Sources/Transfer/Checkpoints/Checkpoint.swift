package import Core
internal import Crypto

/// The text beside a part file that says which of its ranges are good (docs/checkpoint-format.md).
///
/// The head, which says what the bytes belong to, then a line per finished range. Only the last part grows, one write per line, so
/// a crash can tear the last line and nothing else; a torn line is ignored.
package struct Checkpoint: Hashable, Sendable {
  /// A finished range.
  package struct Unit: Hashable, Sendable {
    /// Its bytes in the object, and in the data file.
    package var range: ByteRange
    /// Their CRC-64/XZ.
    package var crc: UInt64
    /// When it was finished.
    package var time: Timestamp

    /// Creates a unit.
    package init(range: ByteRange, crc: UInt64, time: Timestamp) {
      self.range = range
      self.crc = crc
      self.time = time
    }
  }

  /// Why a text is not a checkpoint of this program.
  package enum ParseError: Error, Hashable, Sendable {
    /// Another version of the format; it is left alone.
    case unknownVersion(String)
    /// Not a checkpoint, or one whose head is damaged.
    case damaged(String)
    /// The checkpoint of another kind of task, such as `copy`.
    case otherKind(String)
  }

  /// The format's version; the first line is `dipper checkpoint 1`.
  package static let formatVersion = 1

  /// What the bytes belong to.
  package var identity: CheckpointIdentity
  /// The good ranges, sorted, without overlap.
  package private(set) var units: [Unit] = []
  /// Lines of ranges in the text, good or not; compare with `units` to see whether to write it anew.
  package private(set) var lineCount = 0
  /// The text ends inside a line, so nothing may be appended to it.
  package private(set) var isTorn = false

  /// Creates a checkpoint without ranges.
  package init(identity: CheckpointIdentity) {
    self.identity = identity
  }

  /// Reads a text.
  ///
  /// Lines of ranges that make no sense, lie outside the object or end behind `dataSize`, the size of the
  /// data file, are dropped; of two that overlap the later one counts.
  package init(parsing text: [UInt8], dataSize: Int) throws(ParseError) {
    var lines = Lines(text)
    identity = try CheckpointIdentity(readingFrom: &lines)
    guard identity.upload == nil else { throw .otherKind(identity.kind) }
    while let line = lines.next() {
      lineCount += 1
      guard let unit = Unit(parsing: line), unit.range.upperBound <= identity.version.size,
        unit.range.upperBound <= dataSize
      else { continue }
      insert(unit)
    }
    isTorn = lines.hasRest
  }

  /// What kind of task, other than a download, the text is a checkpoint of; nil if it is none.
  static func otherKind(_ text: [UInt8]) -> String? {
    do throws(ParseError) {
      _ = try Checkpoint(parsing: text, dataSize: 0)
    } catch {
      if case .otherKind(let kind) = error { return kind }
    }
    return nil
  }

  /// The bytes that the units cover.
  package var recorded: ByteRangeSet { ByteRangeSet(units.lazy.map(\.range)) }

  /// Adds a unit in the place of those that it overlaps.
  package mutating func insert(_ unit: Unit) {
    var low = units.partition(before: unit.range.lowerBound)
    if low > 0, units[low - 1].range.upperBound > unit.range.lowerBound { low -= 1 }
    var high = low
    while high < units.count, units[high].range.lowerBound < unit.range.upperBound { high += 1 }
    units.replaceSubrange(low..<high, with: CollectionOfOne(unit))
  }

  /// Removes the units that overlap `range`.
  package mutating func remove(overlapping range: ByteRange) {
    units.removeAll { $0.range.overlaps(range) }
  }

  /// Returns the units that overlap `range`, in order.
  package func units(overlapping range: ByteRange) -> ArraySlice<Unit> {
    var low = units.partition(before: range.lowerBound)
    if low > 0, units[low - 1].range.upperBound > range.lowerBound { low -= 1 }
    var high = low
    while high < units.count, units[high].range.lowerBound < range.upperBound { high += 1 }
    return units[low..<high]
  }

  /// Merges neighbours into units of at most `unitSizeMax` bytes.
  ///
  /// Larger ones would make the first read after a restart wait for the verification of bytes it does not
  /// want. A unit that is larger already stays as it is.
  package func merged(unitSizeMax: Int) -> Checkpoint {
    var result = self
    result.units = []
    for unit in units {
      guard let last = result.units.last, last.range.upperBound == unit.range.lowerBound,
        last.range.count + unit.range.count <= unitSizeMax
      else {
        result.units.append(unit)
        continue
      }
      result.units[result.units.count - 1] = Unit(
        range: ByteRange(last.range.lowerBound, unit.range.upperBound),
        crc: CRC64.combine(last.crc, unit.crc, lengthB: unit.range.count),
        time: max(last.time, unit.time)
      )
    }
    result.lineCount = result.units.count
    result.isTorn = false
    return result
  }

  /// The checksum of the whole object from those of its units; nil if they don't cover it.
  package var wholeChecksum: UInt64? {
    var position = 0
    var sum: UInt64 = 0
    for unit in units {
      guard unit.range.lowerBound == position else { return nil }
      sum = CRC64.combine(sum, unit.crc, lengthB: unit.range.count)
      position = unit.range.upperBound
    }
    return position == identity.version.size ? sum : nil
  }

  /// The whole text.
  package var text: String {
    var text = identity.text
    for unit in units { text += unit.line }
    return text
  }
}

extension [Checkpoint.Unit] {
  /// The index of the first unit that starts at or after `offset`.
  fileprivate func partition(before offset: Int) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].range.lowerBound < offset { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension Checkpoint.Unit {
  /// The unit's line, such as `0 8388608 995dc9bbdf1939fa 1796027400`, with its end.
  package var line: String {
    "\(range.lowerBound) \(range.count) \(crc.sixteenDigits) \(time.seconds)\n"
  }

  /// Reads a line without its end; nil if it is not one.
  init?(parsing line: ArraySlice<UInt8>) {
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard words.count == 4, words[2].count == 16,
      let offset = words[0].decimal, let count = words[1].decimal, count > 0,
      let crc = UInt64(String(decoding: words[2], as: UTF8.self), radix: 16),
      let seconds = words[3].decimal
    else { return nil }
    let (end, overflow) = offset.addingReportingOverflow(count)
    guard !overflow else { return nil }
    self.init(range: ByteRange(offset, end), crc: crc, time: Timestamp(seconds: seconds))
  }
}

extension UInt64 {
  /// The value in hexadecimal, with leading zeros.
  var sixteenDigits: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

extension ArraySlice<UInt8> {
  /// The number that these ASCII digits spell; nil if there is anything else or it does not fit.
  var decimal: Int? {
    guard let first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else { return nil }
    return Int(String(decoding: self, as: UTF8.self))
  }
}

/// The whole lines of a text, without their ends.
struct Lines {
  private var rest: ArraySlice<UInt8>

  init(_ text: [UInt8]) {
    rest = text[...]
  }

  /// There is text left that no line's end follows, or that has not been read.
  var hasRest: Bool { !rest.isEmpty }

  mutating func next() -> ArraySlice<UInt8>? {
    guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { rest = rest[(end + 1)...] }
    return rest[..<end]
  }
}
