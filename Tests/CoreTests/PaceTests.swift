import Core
import Testing

@Suite struct PaceTests {
  private let start = Instant(nanoseconds: 5_000_000_000)

  /// How long each of some pieces waits, given when it comes and how large it is.
  private func waits(rate: Int, _ pieces: [(after: Duration, byteCount: Int)]) -> [Duration] {
    var pace = Pace(rate: rate, now: start)
    return pieces.map { pace.take($0.byteCount, now: start + $0.after) }
  }

  @Test func piecesOfAnySizeKeepTheRate() {
    let pieces: [(Duration, Int)] = [
      (.zero, 5000), (.zero, 1), (.seconds(5), 500), (.seconds(5), 1000),
    ]
    #expect(
      waits(rate: 1000, pieces) == [
        .zero, .seconds(5), .milliseconds(1), .milliseconds(501),
      ]
    )
  }

  @Test func aPauseSavesNothingUp() {
    let pieces: [(Duration, Int)] = [(.seconds(60), 1000), (.seconds(60), 1000)]
    #expect(waits(rate: 1000, pieces) == [.zero, .seconds(1)])
  }

  @Test func hugePiecesDoNotOverflow() {
    let found = waits(rate: 1, [(.zero, .max), (.zero, 1)])
    #expect(found[1] > .seconds(1 << 30))
  }
}

@Suite struct TagWitnessTests {
  private let right = ETag("right")

  /// Which of some tags are accepted, given what their parts' digests are, and whether one more digest
  /// is wanted then.
  private func judged(_ tags: [(tag: String, md5: ETag?)]) -> (accepted: [Bool], isWanted: Bool) {
    var witness = TagWitness()
    let accepted = tags.map { witness.accepts(ETag($0.tag), md5: $0.md5) }
    return (accepted, witness.isWanted)
  }

  @Test func aTagThatIsTheDigestMakesTheOthersCount() {
    #expect(judged([("right", right), ("wrong", right)]) == ([true, false], true))
  }

  @Test func tagsThatAreNoDigestsProveNothing() {
    #expect(judged([]) == ([], true))
    #expect(judged([("opaque", right)]) == ([true], false))
    #expect(judged([("opaque", right), ("opaque", nil)]) == ([true, true], false))
  }

  @Test func aDigestThatWasComputedBeforeSettlesItTheOtherWay() {
    #expect(
      judged([("opaque", right), ("right", right), ("wrong", right)])
        == ([true, true, false], true)
    )
  }
}
