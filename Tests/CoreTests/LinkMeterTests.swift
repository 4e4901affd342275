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

  @Test func aFetchThatJoinsAnotherTakesNoTimeFromIt() throws {
    var meter = LinkMeter()
    meter.fetchBegan(at: start)
    meter.fetchBegan(at: start + .milliseconds(900))
    for _ in 0..<2 {
      meter.fetchEnded(byteCount: mebi, delay: .milliseconds(10), at: start + .seconds(1))
    }
    let link = try #require(meter.link)
    #expect(abs(link.bytesPerSecond / Double(mebi) - 1) < 0.01, "the first of them, in a second")
  }

  @Test func theDelayIsThatOfQuickAnswers() throws {
    var meter = LinkMeter()
    var now = start
    for (delay, expected) in [(100, 100), (20, 20), (100, 30), (10, 10)] {
      meter.fetchBegan(at: now)
      now = now + .milliseconds(300)
      meter.fetchEnded(byteCount: mebi, delay: .milliseconds(delay), at: now)
      #expect(meter.link?.delay == .milliseconds(expected))
    }
  }

  @Test func crumbsSayNothingOfTheSpeed() {
    var meter = LinkMeter()
    meter.fetchBegan(at: start)
    meter.fetchEnded(byteCount: 65_535, delay: .milliseconds(5), at: start + .seconds(1))
    #expect(meter.link == nil)
    meter.fetchBegan(at: start + .seconds(1))
    meter.fetchEnded(byteCount: 1, delay: .milliseconds(5), at: start + .seconds(2))
    #expect(meter.link?.bytesPerSecond == 32_768)
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
