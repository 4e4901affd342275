import Crypto
import Testing

/// The checksums that go along with uploads.
@Suite struct ChecksumTests {
  private let digits = Array("123456789".utf8)

  @Test func theCheckValuesArePublished() {
    var crc32 = CRC32C()
    crc32.update(digits.span.bytes)
    #expect(crc32.value == 0xE306_9283)
    var crc64 = CRC64NVME()
    crc64.update(digits.span.bytes)
    #expect(crc64.value == 0xAE8B_1486_0A79_9888)
  }

  @Test func nothingSumsUpToZero() {
    #expect(CRC32C().value == 0)
    #expect(CRC64NVME().value == 0)
  }

  /// NVM Command Set Specification 1.0, section 5.2.1.3.4: 4 KiB of zeros, and 4 KiB of ones.
  @Test func blocksHaveTheirPublishedChecksums() {
    var zeros = CRC64NVME()
    zeros.update([UInt8](repeating: 0, count: 4096).span.bytes)
    #expect(zeros.value == 0x6482_D367_EB22_B64E)
    var ones = CRC64NVME()
    ones.update([UInt8](repeating: 0xFF, count: 4096).span.bytes)
    #expect(ones.value == 0xC0DD_BA73_02EC_A3AC)
  }

  @Test func piecesGiveTheChecksumOfTheWholeWhereverTheyAreCut() {
    let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 3)) }
    var whole32 = CRC32C()
    var whole64 = CRC64NVME()
    whole32.update(bytes.span.bytes)
    whole64.update(bytes.span.bytes)
    for cut in 0...bytes.count {
      var crc32 = CRC32C()
      var crc64 = CRC64NVME()
      for part in [0..<cut, cut..<bytes.count] {
        crc32.update(bytes.span.bytes.extracting(part))
        crc64.update(bytes.span.bytes.extracting(part))
      }
      #expect(crc32 == whole32, "cut at \(cut)")
      #expect(crc64 == whole64, "cut at \(cut)")
    }
  }
}
