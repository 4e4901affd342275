import Core
import StoreWire
import Testing

@Suite struct WireDateTests {
  private static let date = CalendarTime(
    year: 1994,
    month: 11,
    day: 6,
    hour: 8,
    minute: 49,
    second: 37
  ).timestamp

  // Source: RFC 9110 section 5.6.7.
  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "sun, 6 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
  ])
  func theThreeFormsOfHTTPAreRead(_ text: String) {
    #expect(WireDate.http(text) == Self.date)
  }

  @Test(arguments: [
    ("Sunday, 06-Nov-69 00:00:00 GMT", 2069), ("Sunday, 06-Nov-70 00:00:00 GMT", 1970),
    ("Sunday, 06-Nov-00 00:00:00 GMT", 2000),
  ])
  func aShortYearIsNear(_ text: String, _ year: Int) throws {
    #expect(CalendarTime(try #require(WireDate.http(text))).year == year)
  }

  @Test(arguments: [
    "", "x", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49 GMT",
    "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun, 06 Nov 123456 08:49:37 GMT",
    "1994-11-06T08:49:37Z",
  ])
  func whatIsNoDateOfHTTPIsNone(_ text: String) {
    #expect(WireDate.http(text) == nil)
  }

  @Test(
    arguments: [
      ("1994-11-06T08:49:37Z", 0), ("1994-11-06T08:49:37.000Z", 0),
      ("1994-11-06T08:49:37.25Z", 250_000_000), ("1994-11-06T08:49:37.123456789Z", 123_456_789),
      ("1994-11-06T08:49:37.1234567891234Z", 123_456_789), ("1994-11-06T10:49:37+02:00", 0),
      ("1994-11-06T03:19:37-0530", 0), ("1994-11-06 08:49:37Z", 0),
    ] as [(String, Int64)]
  )
  func datesOfISO8601AreReadWithOrWithoutAFraction(_ text: String, _ nanoseconds: Int64) throws {
    let moment = try #require(WireDate.iso8601(text))
    #expect(moment.nanoseconds - Self.date.nanoseconds == nanoseconds)
  }

  @Test(arguments: [
    "", "1994-11-06", "1994-11-06T08:49:37", "1994-11-06T08:49:37.Z", "1994-13-06T08:49:37Z",
    "94-11-06T08:49:37Z", "1994-11-06T08:49:37Zx", "1994-11-06T08:49:37+02", "-994-11-06T08:49:37Z",
    "0000-11-06T08:49:37Z",
  ])
  func whatIsNoDateOfISO8601IsNone(_ text: String) {
    #expect(WireDate.iso8601(text) == nil)
  }

  @Test func theEndsOfTimeAreClamped() {
    #expect(WireDate.iso8601("9999-12-31T23:59:59Z") != nil)
    #expect(WireDate.iso8601("0001-01-01T00:00:00Z") != nil)
    #expect(WireDate.iso8601("9999-12-31T23:59:59.999999999-23:59") == nil)
  }

  @Test func whatTheClockWritesIsReadBack() {
    for seconds in [0, 1, 951_782_400, 1_709_164_800, 1_796_027_400, 4_102_444_799] {
      let moment = Timestamp(seconds: seconds)
      #expect(WireDate.iso8601(moment.iso8601) == moment)
    }
  }
}
