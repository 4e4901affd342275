import Core
import Simulation
import Testing

@Suite struct ByteRangeTests {
  @Test func aPersonReadsTheLastByteToo() {
    #expect(ByteRange(0, 10).inWords == "bytes 0 to 9")
    #expect(ByteRange(7, 8).inWords == "bytes 7 to 7")
    #expect(ByteRange(7, 7).inWords == "no bytes at 7")
  }

  @Test func clampingNeverLeavesTheOther() {
    let range = ByteRange(10, 20)
    #expect(range.clamped(to: ByteRange(0, 15)) == ByteRange(10, 15))
    #expect(range.clamped(to: ByteRange(12, 13)) == ByteRange(12, 13))
    #expect(range.clamped(to: ByteRange(30, 40)).isEmpty)
    #expect(range.clamped(to: ByteRange(0, 5)).isEmpty)
  }

  @Test func touchingIsNotOverlapping() {
    #expect(!ByteRange(0, 5).overlaps(ByteRange(5, 9)))
    #expect(ByteRange(0, 6).overlaps(ByteRange(5, 9)))
    #expect(!ByteRange(5, 5).overlaps(ByteRange(0, 9)))
    #expect(ByteRange(0, 5).contains(ByteRange(7, 7)))
    #expect(!ByteRange(0, 5).contains(ByteRange(4, 6)))
  }
}

@Suite struct ByteRangeSetTests {
  private func range(_ generator: inout Seeded) -> ByteRange {
    let lower = Int.random(in: 0..<64, using: &generator)
    return ByteRange(lower, lower + Int.random(in: 0..<16, using: &generator))
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func itBehavesAsASetOfNumbers(seed: UInt64) {
    var generator = Seeded(seed)
    var set = ByteRangeSet()
    var model: Set<Int> = []
    for _ in 0..<60 {
      let change = range(&generator)
      let numbers = change.lowerBound..<change.upperBound
      if Int.random(in: 0..<3, using: &generator) > 0 {
        set.insert(change)
        model.formUnion(numbers)
      } else {
        set.remove(change)
        model.subtract(numbers)
      }
      #expect(set.byteCount == model.count, "seed \(seed)")
      for (left, right) in zip(set.ranges, set.ranges.dropFirst()) {
        #expect(left.upperBound < right.lowerBound, "seed \(seed): sorted, with gaps")
      }
      let probe = range(&generator)
      let wanted = Set(probe.lowerBound..<probe.upperBound)
      #expect(set.contains(probe) == wanted.isSubset(of: model), "seed \(seed)")
      #expect(set.intersects(probe) == !wanted.isDisjoint(with: model), "seed \(seed)")
      let gaps = set.gaps(in: probe).flatMap { Array($0.lowerBound..<$0.upperBound) }
      #expect(gaps == wanted.subtracting(model).sorted(), "seed \(seed)")
    }
    #expect(ByteRangeSet(set.ranges.reversed()) == set)
  }
}

@Suite struct ObjectKeyTests {
  @Test func keysAreShownWithoutWhatATerminalActsOn() {
    #expect(ObjectKey("plain/\u{FC}\u{1F600}").description == "plain/\u{FC}\u{1F600}")
    #expect(ObjectKey("a\u{1B}[2J\nb").description == "a\\x1B[2J\\x0Ab")
    #expect(ObjectKey([0x61, 0xFF, 0xC3]).description == "a\\xFF\\xC3")
    #expect(ObjectKey("\u{202E}x").description == "\\xE2\\x80\\xAEx")
    #expect(ObjectKey("").description.isEmpty)
  }

  @Test func keysAreOrderedByTheirBytes() {
    #expect(ObjectKey("a") < ObjectKey("a-") && ObjectKey("a-") < ObjectKey("a/"))
    #expect(ObjectKey("Z") < ObjectKey("a") && ObjectKey("z") < ObjectKey("\u{E9}"))
    #expect(ObjectKey("a/").isDirectoryMarker && !ObjectKey("a").isDirectoryMarker)
    #expect(ObjectKey("ab").hasPrefix(ObjectKey("")) && !ObjectKey("ab").hasPrefix(ObjectKey("b")))
  }
}

@Suite struct CalendarTimeTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00Z", 4), (951_782_400, "2000-02-29T00:00:00Z", 2),
    (1_796_027_400, "2026-11-30T08:30:00Z", 1), (-1, "1969-12-31T23:59:59Z", 3),
    (-2_203_891_200, "1900-03-01T00:00:00Z", 4), (4_107_542_400, "2100-03-01T00:00:00Z", 1),
  ])
  func momentsHaveTheirDates(seconds: Int, text: String, weekday: Int) {
    let moment = Timestamp(seconds: seconds)
    #expect(moment.iso8601 == text)
    #expect(CalendarTime(moment).weekday == weekday)
  }

  @Test func daysComeBack() {
    for day in stride(from: -80_000, to: 90_000, by: 17) {
      let moment = Timestamp(seconds: day * 86_400 + 12_345)
      #expect(CalendarTime(moment).timestamp == moment)
    }
  }
}

@Suite struct ETagTests {
  @Test func quotesDoNotMatterButWeaknessDoes() {
    #expect(ETag("\"abc\"") == ETag("abc"))
    #expect(ETag("abc").quoted == "\"abc\"")
    #expect(ETag("W/\"abc\"") != ETag("abc"))
    #expect(ETag("W/\"abc\"").quoted == "W/\"abc\"")
    #expect(ETag("\"").value == "\"" && ETag("").value.isEmpty && ETag("\"\"").value.isEmpty)
  }
}

@Suite struct HeaderFieldsTests {
  @Test func namesCompareWithoutCaseAndOrderIsKept() {
    var fields = HeaderFields(["Host": "a", "X-One": "1", "x-one": "2"])
    #expect(fields["x-ONE"] == "1")
    fields["X-ONE"] = "3"
    #expect(fields.fields.map(\.value) == ["a", "3"])
    fields["host"] = nil
    #expect(fields.fields.map(\.name) == ["X-ONE"])
    #expect(fields["absent"] == nil)
    #expect(!"k".equalsIgnoringASCIICase("\u{212A}"), "only ASCII letters have no case")
  }
}

@Suite struct ObjectVersionTests {
  private func version(_ etag: String?, size: Int = 1, second: Int = 0) -> ObjectVersion {
    ObjectVersion(
      key: ObjectKey("k"),
      etag: etag.map { ETag($0) },
      size: size,
      lastModified: Timestamp(nanoseconds: Int64(second) * 1_000_000_000 + 5)
    )
  }

  @Test func theTagDecidesAndTheTimeOnlyWithoutOne() {
    #expect(version("a").isSameContent(as: version("a", second: 9)))
    #expect(!version("a").isSameContent(as: version("b")))
    #expect(!version("a").isSameContent(as: version("a", size: 2)))
    #expect(version(nil).isSameContent(as: version(nil)))
    #expect(!version(nil).isSameContent(as: version(nil, second: 9)))
    #expect(!version(nil).isSameContent(as: version("a")))
    #expect(!version("a").isSameContent(as: version(nil)))
  }
}

@Suite struct TimeTests {
  @Test func sumsStayInsideTheClock() {
    #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
    #expect(Instant(nanoseconds: 5) + .nanoseconds(-3) == Instant(nanoseconds: 2))
    #expect(Instant(nanoseconds: 5) - Instant(nanoseconds: 7) == .nanoseconds(-2))
    #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
    #expect(Timestamp(seconds: .max).nanoseconds == .max)
    #expect(Timestamp(nanoseconds: -1).wholeSecond == Timestamp(seconds: -1))
  }
}

@Suite struct FileErrorTests {
  @Test func everyCodeHasAnErrnoOfItsOwn() {
    #expect(Set(FileError.Code.allCases.map(\.errnoName)).count == FileError.Code.allCases.count)
  }
}
