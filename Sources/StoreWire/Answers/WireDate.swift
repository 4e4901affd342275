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

  /// Returns a moment as HTTP writes it, to the second: `Mon, 30 Nov 2026 08:30:00 GMT`.
  static func httpSpelling(_ moment: Timestamp) -> String {
    let time = CalendarTime(moment)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    return
      "\(days[time.weekday]), \(time.day.padded(2)) \(months[time.month - 1].capitalizedASCII) "
      + "\(time.year.padded(4)) \(time.hour.padded(2)):\(time.minute.padded(2)):"
      + "\(time.second.padded(2)) GMT"
  }

  /// Reads a date of ISO 8601 in UTC, `2026-11-30T08:30:00Z`, with or without a fraction of a
  /// second, or with a numeric offset from UTC.
  package static func iso8601(_ text: String) -> Timestamp? {
    iso8601(Array(text.utf8))
  }

  /// Reads a date of ISO 8601 as above.
  static func iso8601(_ text: [UInt8]) -> Timestamp? {
    var cursor = DigitCursor(text)
    guard let year = cursor.number(4), cursor.skip("-") != nil, let month = cursor.number(2),
      cursor.skip("-") != nil, let day = cursor.number(2), cursor.skip("Tt ") != nil,
      let hour = cursor.number(2), cursor.skip(":") != nil, let minute = cursor.number(2),
      cursor.skip(":") != nil, let second = cursor.number(2)
    else { return nil }
    var nanoseconds = 0
    if cursor.skip(".,") != nil {
      guard let fraction = cursor.fraction() else { return nil }
      nanoseconds = fraction
    }
    var offsetMinutes = 0
    if cursor.skip("Zz") == nil {
      guard let sign = cursor.skip("+-"), let hours = cursor.number(2) else { return nil }
      _ = cursor.skip(":")
      guard let minutes = cursor.number(2) else { return nil }
      offsetMinutes = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
    guard cursor.isAtEnd, let moment = moment(year, month, day, hour, minute, second) else {
      return nil
    }
    let (sum, overflow) = Timestamp(seconds: moment.seconds - offsetMinutes * 60).nanoseconds
      .addingReportingOverflow(Int64(nanoseconds))
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

/// Reads fixed-width numbers from left to right.
private struct DigitCursor {
  private let text: [UInt8]
  private var position = 0

  init(_ text: [UInt8]) {
    self.text = text
  }

  var isAtEnd: Bool { position == text.count }

  /// Takes exactly `count` digits.
  mutating func number(_ count: Int) -> Int? {
    guard text.count - position >= count else { return nil }
    var value = 0
    for byte in text[position..<position + count] {
      guard byte.isDigit else { return nil }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
    }
    position += count
    return value
  }

  /// Takes the digits of a fraction, at least one, as nanoseconds; those beyond are dropped.
  mutating func fraction() -> Int? {
    let start = position
    var value = 0
    while position < text.count, text[position].isDigit {
      if position - start < 9 { value = value * 10 + Int(text[position] - UInt8(ascii: "0")) }
      position += 1
    }
    for _ in min(position - start, 9)..<9 { value *= 10 }
    return position == start ? nil : value
  }

  /// Takes one of `characters`.
  mutating func skip(_ characters: StaticString) -> UInt8? {
    guard position < text.count else { return nil }
    let byte = text[position]
    let isAmong = characters.withUTF8Buffer { $0.contains(byte) }
    guard isAmong else { return nil }
    position += 1
    return byte
  }
}

extension String {
  /// The text with its first letter in upper case, if that is ASCII.
  fileprivate var capitalizedASCII: String { prefix(1).uppercased() + dropFirst() }
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
