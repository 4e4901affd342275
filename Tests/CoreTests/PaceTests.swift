import Core
import Testing

@Suite struct PaceTests {
  private let start = Instant(nanoseconds: 5_000_000_000)

  @Test func piecesOfAnySizeKeepTheRate() {
    var pace = Pace(rate: 1000, now: start)
    #expect(pace.take(5000, now: start) == .zero)
    #expect(pace.take(1, now: start) == .seconds(5))
    #expect(pace.take(500, now: start + .seconds(5)) == .milliseconds(1))
    #expect(pace.take(1000, now: start + .seconds(5)) == .milliseconds(501))
  }

  @Test func aPauseSavesNothingUp() {
    var pace = Pace(rate: 1000, now: start)
    #expect(pace.take(1000, now: start + .seconds(60)) == .zero)
    #expect(pace.take(1000, now: start + .seconds(60)) == .seconds(1))
  }

  @Test func hugePiecesDoNotOverflow() {
    var pace = Pace(rate: 1, now: start)
    _ = pace.take(.max, now: start)
    #expect(pace.take(1, now: start) > .seconds(1 << 30))
  }
}

@Suite struct TagWitnessTests {
  private let right = ETag("right")

  @Test func aTagThatIsTheDigestMakesTheOthersCount() {
    var witness = TagWitness()
    #expect(witness.accepts(right, md5: right))
    #expect(!witness.accepts(ETag("wrong"), md5: right))
    #expect(witness.isWanted)
  }

  @Test func tagsThatAreNoDigestsProveNothing() {
    var witness = TagWitness()
    #expect(witness.isWanted)
    #expect(witness.accepts(ETag("opaque"), md5: right))
    #expect(!witness.isWanted)
    #expect(witness.accepts(ETag("opaque"), md5: nil))
    // One that was computed before it was known settles it the other way.
    #expect(witness.accepts(right, md5: right))
    #expect(witness.isWanted)
    #expect(!witness.accepts(ETag("wrong"), md5: right))
  }
}
