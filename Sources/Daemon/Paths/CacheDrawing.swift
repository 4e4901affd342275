internal import Core

/// Draws the map of a file as text: one line, its legend, and the figures.
package enum CacheDrawing {
  private static let letters: [(letter: Character, meaning: String)] = [
    ("#", "cached"), ("+", "partly cached"), (">", "in flight"), ("~", "dirty"), (".", "absent"),
  ]

  /// Returns the text of a report, ending with a line's end.
  ///
  /// - Parameters:
  ///   - report: what is where.
  ///   - width: the columns of the line.
  /// - Returns: three lines.
  package static func text(_ report: CacheMapReport, width: Int) -> String {
    let size = ByteSize.describe(report.size)
    guard report.size > 0 else { return "the file is empty\n" }
    let share = report.cachedBytes == report.size ? 100 : percent(report.cachedBytes, report.size)
    var facts = [
      "\(ByteSize.describe(report.cachedBytes)) of \(size) cached (\(share) %)",
      "\(report.partsCached) of \(report.partsTotal) parts of \(ByteSize.describe(report.partBytes))",
    ]
    if report.inFlightBytes > 0 {
      facts.append("\(ByteSize.describe(report.inFlightBytes)) in flight")
    }
    if report.dirtyBytes > 0 { facts.append("\(ByteSize.describe(report.dirtyBytes)) dirty") }
    let legend = letters.map { "\($0.letter) \($0.meaning)" }.joined(separator: "   ")
    return [line(report, width: width), legend, facts.joined(separator: ", ")]
      .joined(separator: "\n") + "\n"
  }

  /// Returns the line: each column stands for an equal share of the file.
  ///
  /// A column shows the rarest of what is in it: dirty before in flight before cached, and absent only
  /// if there is nothing else. One that is cached in part shows that.
  package static func line(_ report: CacheMapReport, width: Int) -> String {
    let columnCount = max(1, min(width, report.size))
    guard report.size > 0 else { return "" }
    var text = ""
    var index = 0
    for column in 0..<columnCount {
      let cell = ByteRange(
        edge(column, columnCount, report.size),
        edge(column + 1, columnCount, report.size)
      )
      while index < report.ranges.count, end(report.ranges[index]) <= cell.lowerBound { index += 1 }
      var states: Set<CacheMapReport.State> = []
      var next = index
      while next < report.ranges.count, report.ranges[next].offset < cell.upperBound {
        states.insert(report.ranges[next].state)
        next += 1
      }
      text.append(letter(of: states))
    }
    return text
  }

  private static func letter(of states: Set<CacheMapReport.State>) -> Character {
    if states.contains(.dirty) { return "~" }
    if states.contains(.inFlight) { return ">" }
    guard states.contains(.cached) else { return "." }
    return states.contains(.absent) ? "+" : "#"
  }

  private static func end(_ range: CacheMapReport.Range) -> Int { range.offset + range.length }

  /// Where column `index` of `count` begins; without a product that could overflow.
  private static func edge(_ index: Int, _ count: Int, _ size: Int) -> Int {
    let (whole, rest) = size.quotientAndRemainder(dividingBy: count)
    return whole * index + rest * index / count
  }

  /// Rounded down, so that what isn't complete never looks complete.
  private static func percent(_ part: Int, _ whole: Int) -> Int {
    Int(Double(part) / Double(whole) * 100)
  }
}
