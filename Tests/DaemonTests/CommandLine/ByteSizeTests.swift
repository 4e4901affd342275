import Daemon
import Testing

@Suite
struct ByteSizeTests {
  @Test(
    arguments: [
      ("0", 0), ("123", 123), ("7B", 7), ("2k", 2048), ("2KB", 2048), ("2KiB", 2048),
      ("20M", 20_971_520), ("8mib", 8_388_608), ("5G", 5_368_709_120), ("1T", 1_099_511_627_776),
    ]
  )
  func unitsArePowersOf1024(text: String, size: Int) {
    #expect(ByteSize.parse(text) == size)
  }

  @Test(
    arguments: [
      "", "M", "1.5M", "-1", "+1", "1P", "1 M", "0x10", "9999999999999999999", "8388608T",
      "\u{0661}",
    ]
  )
  func whatIsNotAWholeNumberWithAUnitIsNoSize(text: String) {
    #expect(ByteSize.parse(text) == nil)
  }

  @Test
  func aRateMaySayPerSecond() {
    #expect(ByteSize.parseRate("50M") == 52_428_800)
    #expect(ByteSize.parseRate("50MiB/s") == 52_428_800)
    #expect(ByteSize.parseRate("50M/m") == nil)
  }

  @Test(
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (20_971_520, "20 MiB"),
      (1_048_575, "1023 KiB"), (107_374_182_400, "100 GiB"), (1_610_612_736, "1.5 GiB"),
    ]
  )
  func sizesAreShownRoundedDown(size: Int, text: String) {
    #expect(ByteSize.describe(size) == text)
  }
}
