import Core
import Daemon
import Testing

@Suite
struct ProgressLineTests {
  private func instant(_ seconds: Int) -> Instant {
    Instant(nanoseconds: Int64(seconds) * 1_000_000_000)
  }

  @Test
  func rateAndTimeLeftComeFromTheRecentPast() {
    var line = ProgressLine(name: "big.tar", total: 1000 << 20)
    #expect(line.rate == nil)
    line.note(0, at: instant(0))
    line.note(900 << 20, at: instant(1))
    // Long after the quick start, only the slow end counts.
    for second in 20...30 { line.note((900 + second - 20) << 20, at: instant(second)) }
    #expect(line.rate == 1 << 20)
    #expect(
      line.text(width: 100)
        == "big.tar   91 %  [###########################...]  910 MiB of 1000 MiB  1 MiB/s  1:30 left"
    )
  }

  @Test(arguments: [10, 20, 40, 60, 80, 200])
  func theLineFitsTheTerminal(width: Int) {
    var line = ProgressLine(name: String(repeating: "long", count: 50), total: 1 << 40)
    line.note(5 << 30, at: instant(1))
    line.note(6 << 30, at: instant(2))
    #expect(line.text(width: width).count <= width)
  }

  @Test
  func anEmptyObjectIsComplete() {
    var line = ProgressLine(name: "e", total: 0)
    line.note(0, at: instant(0))
    #expect(line.text(width: 80).contains("100 %"))
  }

  @Test
  func timesAreShownAsAClockDoes() {
    #expect(ProgressLine.clock(7) == "0:07")
    #expect(ProgressLine.clock(754) == "12:34")
    #expect(ProgressLine.clock(3723) == "1:02:03")
  }
}
