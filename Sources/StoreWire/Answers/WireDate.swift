package import Core

/// The spellings of a moment on the wire.
package enum WireDate {
  /// Reads a date of HTTP: `Mon, 30 Nov 2026 08:30:00 GMT`, or one of the two obsolete forms,
  /// `Monday, 30-Nov-26 08:30:00 GMT` and `Mon Nov 30 08:30:00 2026`.
  ///
  /// A year of two digits below 70 is in this century. The day of the week is not checked.
  ///
  /// Source: RFC 9110 section 5.6.7.
  package static func http(_ text: String) -> Timestamp? {
    let words = text.split { $0 == " " || $0 == "," || $0 == "-" }.map(String.init)
    switch words.count {
    case 6 where words[5] == "GMT" || words[5] == "UTC":
      return moment(year: words[3], month: words[2], day: words[1], time: words[4])
    case 5:
      return moment(year: words[4], month: words[1], day: words[2], time: words[3])
    default: return nil
    }
  }

  /// Reads a date of ISO 8601 in UTC, `2026-11-30T08:30:00Z`, with or without a fraction of a
  /// second, or with a numeric offset from UTC.
  package static func iso8601(_ text: String) -> Timestamp? {
    var rest = Array(text.utf8)[...]
    func number(_ count: Int) -> Int? {
      let digits = rest.prefix(count)
      guard digits.count == count, digits.allSatisfy({ $0.isDigit }) else { return nil }
      rest = rest.dropFirst(count)
      return Int(String(decoding: digits, as: UTF8.self))
    }
    func skip(_ characters: String) -> UInt8? {
      guard let first = rest.first, characters.utf8.contains(first) else { return nil }
      rest = rest.dropFirst()
      return first
    }
    guard let year = number(4), skip("-") != nil, let month = number(2), skip("-") != nil,
      let day = number(2), skip("Tt ") != nil, let hour = number(2), skip(":") != nil,
      let minute = number(2), skip(":") != nil, let second = number(2)
    else { return nil }
    var nanoseconds: Int64 = 0
    if skip(".,") != nil {
      let digits = rest.prefix { $0.isDigit }
      guard !digits.isEmpty else { return nil }
      rest = rest.dropFirst(digits.count)
      for digit in (Array(digits) + Array(repeating: 0x30, count: 9)).prefix(9) {
        nanoseconds = nanoseconds * 10 + Int64(digit - 0x30)
      }
    }
    var offsetMinutes = 0
    if skip("Zz") == nil {
      guard let sign = skip("+-"), let hours = number(2) else { return nil }
      _ = skip(":")
      guard let minutes = number(2) else { return nil }
      offsetMinutes = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
    guard rest.isEmpty,
      let moment = moment(year, month, day, hour, minute, second)
    else { return nil }
    let (sum, overflow) = Timestamp(seconds: moment.seconds - offsetMinutes * 60).nanoseconds
      .addingReportingOverflow(nanoseconds)
    return overflow ? nil : Timestamp(nanoseconds: sum)
  }

  private static func moment(
    year: String,
    month: String,
    day: String,
    time: String
  ) -> Timestamp? {
    let fields = time.split(separator: ":").map { Int($0) }
    guard let month = months.firstIndex(of: month.lowercased()), fields.count == 3,
      let hour = fields[0], let minute = fields[1], let second = fields[2],
      let day = Int(day), var year = Int(year)
    else { return nil }
    if (0..<100).contains(year) { year += year < 70 ? 2000 : 1900 }
    return moment(year, month + 1, day, hour, minute, second)
  }

  /// Checks the fields and joins them; a leap second counts as the second before it.
  private static func moment(
    _ year: Int,
    _ month: Int,
    _ day: Int,
    _ hour: Int,
    _ minute: Int,
    _ second: Int
  ) -> Timestamp? {
    guard (1...9999).contains(year), (1...12).contains(month), (1...31).contains(day),
      (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
    else { return nil }
    let time = CalendarTime(
      year: year,
      month: month,
      day: day,
      hour: hour,
      minute: minute,
      second: min(second, 59)
    )
    return time.timestamp
  }

  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]
}

extension UInt8 {
  /// True for `0` to `9`.
  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

extension Sequence<UInt8> {
  /// The bytes as a whole number of at least 0; nil for anything but decimal digits, and beyond
  /// what fits.
  var decimalValue: Int? {
    var value = 0
    var isEmpty = true
    for byte in self {
      guard byte.isDigit else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
      guard !overflow, !carry else { return nil }
      value = sum
      isEmpty = false
    }
    return isEmpty ? nil : value
  }
}
