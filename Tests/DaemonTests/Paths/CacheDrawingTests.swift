import Core
import Daemon
import Testing

@Suite
struct CacheDrawingTests {
  private func report(
    size: Int,
    cached: [ByteRange] = [],
    underWay: [ByteRange] = [],
    dirty: [ByteRange] = [],
    partSize: Int = 10
  ) -> CacheMapReport {
    CacheMapReport(
      CacheMap(size: size, cached: ByteRangeSet(cached), underWay: ByteRangeSet(underWay)),
      dirty: ByteRangeSet(dirty),
      key: "k",
      partSize: partSize
    )
  }

  private func line(_ report: CacheMapReport, _ width: Int) -> String {
    CacheDrawing.line(report, width: width)
  }

  @Test
  func eachColumnShowsItsShareOfTheFile() {
    let some = report(
      size: 100,
      cached: [ByteRange(0, 25), ByteRange(60, 70)],
      underWay: [ByteRange(30, 40)],
      dirty: [ByteRange(95, 96)]
    )
    #expect(line(some, 10) == "##+>..#..~")
    #expect(line(report(size: 100), 10) == "..........")
    #expect(line(report(size: 100, cached: [ByteRange(0, 100)]), 10) == "##########")
  }

  @Test
  func oneMissingByteIsSeen() {
    let size = 5 << 40
    let almost = report(
      size: size,
      cached: [ByteRange(0, size / 2), ByteRange(size / 2 + 1, size)],
      partSize: 1 << 30
    )
    #expect(line(almost, 64).count { $0 == "+" } == 1)
    #expect(CacheDrawing.text(almost, width: 64).contains("(99 %)"))
  }

  @Test
  func aSmallFileHasNoMoreColumnsThanBytes() {
    #expect(line(report(size: 3, cached: [ByteRange(1, 2)]), 64) == ".#.")
    #expect(line(report(size: 0), 64) == "")
    #expect(CacheDrawing.text(report(size: 0), width: 64) == "the file is empty\n")
  }

  @Test(arguments: [1, 2, 7, 63, 64, 65, 1000])
  func everyColumnIsDrawnWhateverTheWidth(width: Int) {
    let some = report(size: 1_000_003, cached: [ByteRange(0, 500_000)], partSize: 1000)
    #expect(line(some, width).count == width)
    let (first, last) = (line(some, width).first, line(some, width).last)
    #expect(first == (width <= 2 ? "+" : "#") && (width == 1 || last == "."))
  }

  @Test
  func theLargestFileDoesNotOverflow() {
    let size = Int.max
    let some = report(size: size, cached: [ByteRange(0, 10)], partSize: size / 4)
    #expect(line(some, 64) == "+" + String(repeating: ".", count: 63))
  }

  @Test
  func theTextHasALegendAndFigures() {
    let some = report(size: 100, cached: [ByteRange(0, 25)], underWay: [ByteRange(30, 40)])
    #expect(
      CacheDrawing.text(some, width: 10) == """
        ##+>......
        # cached   + partly cached   > in flight   ~ dirty   . absent
        25 B of 100 B cached (25 %), 2 of 10 parts of 10 B, 10 B in flight

        """
    )
  }

  @Test
  func theRangesTileTheFile() {
    let some = report(
      size: 100,
      cached: [ByteRange(0, 50)],
      underWay: [ByteRange(40, 60)],
      dirty: [ByteRange(10, 20), ByteRange(55, 70)]
    )
    var position = 0
    for range in some.ranges {
      #expect(range.offset == position)
      position += range.length
    }
    #expect(position == 100)
    #expect(some.ranges.map(\.state) == [.cached, .dirty, .cached, .inFlight, .dirty, .absent])
    #expect(some.cachedBytes == 40)
    #expect(some.inFlightBytes == 5)
    #expect(some.dirtyBytes == 25)
    #expect(some.absentBytes == 30)
    #expect(some.partsTotal == 10)
    #expect(some.partsCached == 5)
  }

  @Test
  func theJSONHasTheNamesThatScriptsUse() {
    let text = StatusReport.text(of: report(size: 15, cached: [ByteRange(0, 10)]))
    #expect(
      text == """
        {"absent_bytes":5,"cached_bytes":10,"dirty_bytes":0,"in_flight_bytes":0,"key":"k",\
        "part_bytes":10,"parts_cached":1,"parts_total":2,"ranges":[{"length":10,"offset":0,\
        "state":"cached"},{"length":5,"offset":10,"state":"absent"}],"size":15,"version":1}
        """
    )
  }
}
