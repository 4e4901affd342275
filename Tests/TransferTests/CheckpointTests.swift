import Core
import Crypto
import Simulation
import Testing
import Transfer

@Suite struct CheckpointTests {
  static let version = ObjectVersion(
    key: ObjectKey([0x61, 0x2F, 0x20, 0xFF, 0x0A, 0x25]),
    etag: ETag("\"a b%\""),
    size: 1000,
    lastModified: Timestamp(nanoseconds: 1_796_027_400_123_456_789),
    versionID: "v 1"
  )

  static let identity = CheckpointIdentity(
    store: "s3://bucket @ http://127.0.0.1:9000",
    version: version,
    task: ["target": "/home/a b/\u{fc}.bin", "part-size": "5242880"]
  )

  private func sample() -> Checkpoint {
    var checkpoint = Checkpoint(identity: Self.identity)
    for lower in [500, 0, 100, 900] {
      checkpoint.insert(
        Checkpoint.Unit(
          range: ByteRange(offset: lower, count: 100),
          crc: UInt64(lower) &* 0x0123_4567_89AB_CDEF,
          time: Timestamp(seconds: 1_796_027_400 + lower)
        )
      )
    }
    return checkpoint
  }

  @Test func whatIsWrittenIsReadBack() throws {
    let checkpoint = sample()
    let read = try Checkpoint(parsing: Array(checkpoint.text.utf8), dataSize: 1000)
    #expect(read.identity == checkpoint.identity)
    #expect(read.units == checkpoint.units)
    #expect(read.units.map(\.range.lowerBound) == [0, 100, 500, 900])
    #expect(!read.isTorn)
  }

  @Test func theTextIsTheDocumentedOne() {
    let expected = """
      dipper checkpoint 1
      store s3://bucket%20@%20http://127.0.0.1:9000
      key a/%20%FF%0A%25
      etag a%20b%25
      size 1000
      last-modified 1796027400123456789
      version-id v%201
      task.part-size 5242880
      task.target /home/a%20b/%C3%BC.bin
      ranges
      0 100 0000000000000000 1796027400

      """
    var checkpoint = Checkpoint(identity: Self.identity)
    checkpoint.insert(
      Checkpoint.Unit(range: ByteRange(0, 100), crc: 0, time: Timestamp(seconds: 1_796_027_400))
    )
    #expect(checkpoint.text == expected)
  }

  @Test func cutAnywhereItHoldsOnlyWholeLines() throws {
    let checkpoint = sample()
    let text = Array(checkpoint.text.utf8)
    for length in 0...text.count {
      guard let read = try? Checkpoint(parsing: Array(text[..<length]), dataSize: 1000) else {
        continue
      }
      #expect(read.identity == checkpoint.identity)
      #expect(read.units.allSatisfy { checkpoint.units.contains($0) }, "cut at \(length)")
      #expect(read.isTorn == (length > 0 && text[length - 1] != UInt8(ascii: "\n")))
    }
  }

  @Test func anotherFormatVersionIsNotGarbage() {
    #expect(throws: Checkpoint.ParseError.unknownVersion("2")) {
      _ = try Checkpoint(parsing: Array("dipper checkpoint 2\nwhatever\n".utf8), dataSize: 0)
    }
  }

  @Test func rangesOutsideTheDataOrTheObjectAreDropped() throws {
    let text =
      Checkpoint(identity: Self.identity).text
        + """
        0 100 0000000000000001 5
        800 300 0000000000000001 5
        600 100 0000000000000001 5
        -1 100 0000000000000001 5
        0 0 0000000000000001 5
        9223372036854775807 9223372036854775807 0000000000000001 5
        10 10 01 5
        10 10 0000000000000001
        10 10 000000000000000g 5

        """
    let read = try Checkpoint(parsing: Array(text.utf8), dataSize: 650)
    #expect(read.units.map(\.range) == [ByteRange(0, 100)])
    #expect(read.lineCount == 9)
    // What lies in the data and not in the object is nobody's.
    let longer = try Checkpoint(parsing: Array(text.utf8), dataSize: 5000)
    #expect(longer.units.map(\.range) == [ByteRange(0, 100), ByteRange(600, 700)])
  }

  @Test func ofTwoLinesThatOverlapTheLaterCounts() throws {
    let text =
      Checkpoint(identity: Self.identity).text
      + "0 100 0000000000000001 5\n50 100 0000000000000002 6\n"
    let read = try Checkpoint(parsing: Array(text.utf8), dataSize: 1000)
    #expect(read.units.map(\.crc) == [2])
  }

  @Test func mergedUnitsHaveTheChecksumOfTheirBytes() {
    let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var checkpoint = Checkpoint(identity: Self.identity)
    for lower in stride(from: 0, to: 1000, by: 100) {
      checkpoint.insert(
        Checkpoint.Unit(
          range: ByteRange(offset: lower, count: 100),
          crc: CRC64.checksum(of: Array(bytes[lower..<lower + 100])),
          time: Timestamp(seconds: lower)
        )
      )
    }
    let merged = checkpoint.merged(unitSizeMax: 400)
    #expect(merged.units.map(\.range.count) == [400, 400, 200])
    for unit in merged.units {
      let piece = Array(bytes[unit.range.lowerBound..<unit.range.upperBound])
      #expect(unit.crc == CRC64.checksum(of: piece))
    }
    #expect(checkpoint.wholeChecksum == CRC64.checksum(of: bytes))
    checkpoint.remove(overlapping: ByteRange(150, 151))
    #expect(checkpoint.wholeChecksum == nil)
  }

  @Test(arguments: 0..<300) func garbageNeverTraps(seed: UInt64) {
    var random = Seeded(seed)
    var text = Array(sample().text.utf8)
    for _ in 0..<Int.random(in: 1...20, using: &random) {
      let index = Int.random(in: 0..<text.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: text[index] = UInt8.random(in: 0...255, using: &random)
      case 1: text.remove(at: index)
      case 2: text.insert(UInt8(ascii: "\n"), at: index)
      default: text.insert(contentsOf: text.suffix(30), at: index)
      }
    }
    guard let read = try? Checkpoint(parsing: text, dataSize: 1000) else { return }
    var last = 0
    for unit in read.units {
      #expect(unit.range.lowerBound >= last && unit.range.upperBound <= 1000, "seed \(seed)")
      last = unit.range.upperBound
    }
  }
}
