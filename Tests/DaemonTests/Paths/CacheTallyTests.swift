import Daemon
import Testing

@Suite
struct CacheTallyTests {
  @Test
  func bytesUnderWayCountAndFailedOnesAreNotWaitedFor() {
    var tally = CacheTally()
    let numbers = [100, 200, 300].map { tally.found(byteCount: $0) }
    tally.warmed(numbers[0], byteCount: 100, fetchedByteCount: 40)
    tally.progressed(numbers[1], to: 50)
    #expect(tally.presentByteCount == 150)
    #expect(tally.expectedByteCount == 600)
    tally.failed(numbers[1], byteCount: 200)
    #expect(tally.presentByteCount == 100)
    #expect(tally.expectedByteCount == 400)
    #expect(tally.endedCount == 2)
    #expect(
      tally.warmingSummary(seconds: 65)
        == "1 file in the cache, 100 B; 40 B fetched in 1:05; 1 failed"
    )
  }

  @Test
  func aSummaryOfNothingToDoSaysSo() {
    var tally = CacheTally()
    let number = tally.found(byteCount: 1 << 20)
    tally.warmed(number, byteCount: 1 << 20, fetchedByteCount: 0)
    #expect(
      tally.warmingSummary(seconds: 0) == "1 file in the cache, 1 MiB; nothing had to be fetched"
    )
  }

  @Test
  func onlyFilesThatHadSomethingAreCountedAsEvicted() {
    var tally = CacheTally()
    for _ in 0..<3 { _ = tally.found(byteCount: 10) }
    tally.evicted(freedByteCount: 4096)
    tally.evicted(freedByteCount: 0)
    tally.failed(3, byteCount: 10)
    #expect(tally.evictionSummary == "4 KiB freed, 1 file of 3; 1 failed")
  }

  @Test
  func moreThanTheCacheHoldsIsTold() {
    var tally = CacheTally()
    let number = tally.found(byteCount: 300)
    tally.warmed(number, byteCount: 300, fetchedByteCount: 300)
    #expect(tally.overflow(limitByteCount: 300) == nil)
    #expect(tally.overflow(limitByteCount: 299)?.contains("--cache-size") == true)
  }
}
