import Core
import Testing

@Suite struct LinkMeterTests {
  private let start = Instant(nanoseconds: 1_000_000_000)
  private let mebi = 1 << 20

  @Test func nothingIsKnownBeforeEnoughWasSeen() {
    var meter = LinkMeter()
    meter.fetchBegan(at: start)
    meter.fetchEnded(byteCount: mebi, delay: .milliseconds(5), at: start + .milliseconds(20))
    #expect(meter.link == nil)
  }

  @Test func fetchesBesideEachOtherAddUp() throws {
    var meter = LinkMeter()
    var now = start
    for _ in 0..<4 { meter.fetchBegan(at: now) }
    for _ in 0..<100 {
      now = now + .milliseconds(25)
      meter.fetchEnded(byteCount: mebi / 4, delay: .milliseconds(20), at: now)
      meter.fetchBegan(at: now)
    }
    let link = try #require(meter.link)
    #expect(abs(link.bytesPerSecond / Double(10 * mebi) - 1) < 0.1)
    #expect(link.delay == .milliseconds(20))
  }

  @Test func pausesDoNotCount() throws {
    var meter = LinkMeter()
    var now = start
    for _ in 0..<10 {
      meter.fetchBegan(at: now)
      meter.fetchEnded(byteCount: mebi, delay: .milliseconds(10), at: now + .milliseconds(100))
      now = now + .seconds(10)
    }
    let link = try #require(meter.link)
    #expect(abs(link.bytesPerSecond / Double(10 * mebi) - 1) < 0.01)
  }

  @Test func aLinkThatChangesIsMeasuredAnew() throws {
    var meter = LinkMeter()
    var now = start
    for milliseconds in [Int](repeating: 100, count: 20) + [Int](repeating: 1000, count: 10) {
      meter.fetchBegan(at: now)
      now = now + .milliseconds(milliseconds)
      meter.fetchEnded(byteCount: mebi, delay: .milliseconds(10), at: now)
    }
    let link = try #require(meter.link)
    #expect(link.bytesPerSecond < Double(mebi) * 1.1)
  }

  @Test func whatFailsAtOnceSaysNothing() {
    var meter = LinkMeter()
    for _ in 0..<100 {
      meter.fetchBegan(at: start)
      meter.fetchEnded(byteCount: 0, delay: nil, at: start + .seconds(1))
    }
    #expect(meter.link == nil)
  }
}
