package import Core

/// The line that shows how far a transfer is: share, bar, sizes, rate and time left.
package struct ProgressLine: Sendable {
  /// What is shown before the figures.
  package var name: String
  /// How many bytes there are; a walk may find more, and of a stream nobody knows (nil).
  package var total: Int?
  // The recent past, to tell the rate by: (when, bytes done).
  private var samples: [(time: Instant, done: Int)] = []
  // Long enough to be calm, short enough to follow a change.
  private static let window = Duration.seconds(8)

  /// Creates the line of a transfer of `total` bytes.
  package init(name: String, total: Int?) {
    self.name = name
    self.total = total
  }

  /// Notes that `done` bytes are there at `time`.
  package mutating func note(_ done: Int, at time: Instant) {
    samples.append((time, done))
    while samples.count > 2, time - samples[1].time > Self.window { samples.removeFirst() }
  }

  /// The rate of the recent past in bytes per second; nil before there is one.
  package var rate: Int? {
    guard let first = samples.first, let last = samples.last else { return nil }
    let nanoseconds = (last.time - first.time).wholeNanoseconds
    guard nanoseconds > 0 else { return nil }
    return Int(Double(last.done - first.done) * 1e9 / Double(nanoseconds))
  }

  /// The line, at most `width` columns wide.
  package func text(width: Int) -> String {
    let done = samples.last?.done ?? 0
    guard let total else { return openEndedText(done, width: width) }
    let share = total == 0 ? 1 : Double(done) / Double(total)
    var facts = "\(ByteSize.describe(done)) of \(ByteSize.describe(total))"
    if let rate {
      facts += "  \(ByteSize.describe(rate))/s"
      if rate > 0, done < total { facts += "  \(Self.clock((total - done) / rate)) left" }
    }
    let percent = "\(Int(share * 100))".leftPadded(3) + " %"
    let barWidth = max(0, min(30, width - 16 - percent.count - facts.count - 8))
    let filled = Int(share * Double(barWidth))
    let bar =
      barWidth < 5
      ? ""
      : "[" + String(repeating: "#", count: filled)
        + String(repeating: ".", count: barWidth - filled) + "]  "
    return named("\(percent)  \(bar)\(facts)", width: width)
  }

  private func openEndedText(_ done: Int, width: Int) -> String {
    named(
      ByteSize.describe(done) + (rate.map { "  \(ByteSize.describe($0))/s" } ?? ""),
      width: width
    )
  }

  /// The name, as much as there is room for, and the figures behind it.
  private func named(_ rest: String, width: Int) -> String {
    let room = max(0, width - rest.count - 3)
    let shown = name.count <= room ? name : "..." + name.suffix(max(0, room - 3))
    return String((shown + "  " + rest).prefix(width))
  }

  /// Seconds as `0:07`, `12:34` or `1:02:03`.
  package static func clock(_ seconds: Int) -> String {
    let (minutes, rest) = seconds.quotientAndRemainder(dividingBy: 60)
    return minutes < 60
      ? "\(minutes):\(rest.padded(2))"
      : "\(minutes / 60):\((minutes % 60).padded(2)):\(rest.padded(2))"
  }
}

extension String {
  /// The text with spaces before it, `width` columns wide.
  package func leftPadded(_ width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }
}
