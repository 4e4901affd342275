/// A moment split into calendar fields, UTC, in the proleptic Gregorian calendar.
///
/// Written here rather than taken from Foundation's formatters, which bring 50 MB of tables.
package struct CalendarTime: Hashable, Sendable {
  /// The year, such as 2026.
  package var year: Int
  /// The month, 1 to 12.
  package var month: Int
  /// The day of the month, 1 to 31.
  package var day: Int
  /// The hour, 0 to 23.
  package var hour: Int
  /// The minute, 0 to 59.
  package var minute: Int
  /// The second, 0 to 59.
  package var second: Int

  /// Creates a time from its fields, which must be in range.
  package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
    self.year = year
    self.month = month
    self.day = day
    self.hour = hour
    self.minute = minute
    self.second = second
  }

  /// Splits a moment; its fraction of a second is dropped.
  package init(_ timestamp: Timestamp) {
    let seconds = timestamp.seconds
    var days = seconds / 86_400
    var rest = seconds % 86_400
    if rest < 0 {
      rest += 86_400
      days -= 1
    }
    // Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    hour = rest / 3600
    minute = rest / 60 % 60
    second = rest % 60
  }

  /// The moment these fields name.
  package var timestamp: Timestamp {
    // Source: the same paper, days_from_civil.
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146_097 + dayOfEra - 719_468
    return Timestamp(seconds: ((days * 24 + hour) * 60 + minute) * 60 + second)
  }

  /// The day of the week, 0 for Sunday.
  package var weekday: Int {
    let days = timestamp.seconds / 86_400 - (timestamp.seconds % 86_400 < 0 ? 1 : 0)
    return ((days + 4) % 7 + 7) % 7
  }
}

extension Timestamp {
  /// The moment as `2026-11-30T08:30:00Z`.
  package var iso8601: String {
    let time = CalendarTime(self)
    return "\(time.year.padded(4))-\(time.month.padded(2))-\(time.day.padded(2))"
      + "T\(time.hour.padded(2)):\(time.minute.padded(2)):\(time.second.padded(2))Z"
  }
}

extension Int {
  /// The number in decimal with at least `width` digits.
  package func padded(_ width: Int) -> String {
    let digits = String(self)
    return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
  }
}
