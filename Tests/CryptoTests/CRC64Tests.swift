import Crypto
import Testing

@Suite struct CRC64Tests {
  @Test(
    arguments: [
      ("", 0),
      ("123456789", 11_051_210_869_376_104_954),
      ("hello", 11_177_612_005_948_864_433),
      ("hello world", 5_981_764_153_023_615_706),
    ] as [(String, UInt64)]
  )
  func textsHaveTheirPublishedChecksums(_ text: String, _ checksum: UInt64) {
    #expect(CRC64.checksum(of: Array(text.utf8)) == checksum)
  }

  @Test func theCheckValueIsThatOfCRC64XZ() {
    #expect(CRC64.checksum(of: Array("123456789".utf8)) == 0x995D_C9BB_DF19_39FA)
  }

  @Test func binaryInputsHaveTheirPublishedChecksums() {
    #expect(CRC64.checksum(of: [0]) == 2_282_658_103_124_508_505)
    let zeros = [UInt8](repeating: 0, count: 32)
    #expect(CRC64.checksum(of: zeros) == 14_509_182_247_117_337_356)
    #expect(CRC64.checksum(of: Array(0...255)) == 8_232_944_260_754_389_680)
  }

  @Test func aLargeInputAndItsContinuationCombine() {
    // Byte i is (7i + 3) mod 256, which repeats after 256 bytes.
    let block = (0..<256).map { UInt8(truncatingIfNeeded: 7 * $0 + 3) }
    var crc = CRC64()
    for _ in 0..<(20 << 20) / block.count { crc.update(block) }
    let head = crc.value
    crc.update(Array(block[..<5]))
    let tail = CRC64.checksum(of: Array(block[..<5]))
    #expect(head == 14_592_674_634_500_426_480)
    #expect(tail == 10_887_592_737_672_578_815)
    #expect(CRC64.combine(head, tail, lengthB: 5) == 15_972_244_696_029_605_357)
    #expect(crc.value == 15_972_244_696_029_605_357)
  }

  @Test func piecesGiveTheChecksumOfTheWholeWhereverTheyAreCut() {
    let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 3)) }
    let whole = CRC64.checksum(of: bytes)
    for cut in 0...bytes.count {
      var crc = CRC64()
      crc.update(bytes.span.bytes.extracting(0..<cut))
      crc.update(bytes.span.bytes.extracting(cut..<bytes.count))
      #expect(crc.value == whole, "cut at \(cut)")
      let left = CRC64.checksum(of: Array(bytes[..<cut]))
      let right = CRC64.checksum(of: Array(bytes[cut...]))
      let combined = CRC64.combine(left, right, lengthB: bytes.count - cut)
      #expect(combined == whole, "combined at \(cut)")
    }
  }

  @Test func combiningWorksForLengthsBeyondMemory() {
    // Appending n zero bytes twice is appending 2n zero bytes; a zero tail's checksum comes from
    // the same arithmetic.
    let crc = CRC64.checksum(of: Array("hello".utf8))
    var zeros = CRC64.checksum(of: [0])
    var length = 1
    while length < 1 << 45 {
      zeros = CRC64.combine(zeros, zeros, lengthB: length)
      length *= 2
    }
    let half = CRC64.combine(zeros, zeros, lengthB: length)
    let once = CRC64.combine(crc, half, lengthB: 2 * length)
    let twice = CRC64.combine(
      CRC64.combine(crc, zeros, lengthB: length),
      zeros,
      lengthB: length
    )
    #expect(once == twice)
  }

  @Test func aCheckpointedValueGoesOn() {
    var crc = CRC64(CRC64.checksum(of: Array("hello ".utf8)))
    crc.update(Array("world".utf8))
    #expect(crc.value == 5_981_764_153_023_615_706)
  }
}
