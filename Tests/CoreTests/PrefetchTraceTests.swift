import Core
import FoundationEssentials
import Testing

/// Reads of real tools, recorded, against the policy; see Fixtures/README.md.
@Suite struct PrefetchTraceTests {
  static let names = [
    "tar", "tar-extract", "unzip-list", "unzip-one", "python-zipfile", "grep", "tac", "tail",
    "head", "sqlite-index", "sqlite-scan", "pyarrow-column", "pyarrow-metadata", "ffprobe",
    "ffmpeg-seek",
  ]

  @Test(arguments: names)
  func r2ToolsFetchLittleMoreThanTheyReadAndSeldomWait(name: String) throws {
    let trace = try ReadTrace(named: name)
    var replay = TraceReplay(of: trace)
    replay.run()
    let overFetch = replay.fetched.byteCount - replay.useful.byteCount
    #expect(overFetch <= trace.overFetchMax, "useful: \(replay.useful.byteCount)")
    #expect(replay.requestCount <= trace.requestCountMax)
    #expect(replay.stallCount <= trace.stallCountMax)
  }
}

/// A recorded trace and its bounds.
private struct ReadTrace {
  struct Read {
    let range: ByteRange
    let reader: UInt64
  }

  var size = 0
  var overFetchMax = 0
  var requestCountMax = 0
  var stallCountMax = 0
  var reads: [Read] = []

  struct Malformed: Error {
    let line: Substring
  }

  init(named name: String) throws {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
    let url = directory.appending(path: "Fixtures/\(name).trace")
    let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let words = line.split(separator: " ")
      let numbers = words.compactMap { Int($0) }
      switch words[0] {
      case "size": size = numbers[0]
      case "over-fetch": overFetchMax = numbers[0]
      case "requests": requestCountMax = numbers[0]
      case "stalls": stallCountMax = numbers[0]
      default:
        guard numbers.count == words.count, numbers.count >= 2 else { throw Malformed(line: line) }
        let range = ByteRange(offset: numbers[0], count: numbers[1])
          .clamped(to: ByteRange(0, size))
        let reader = UInt64(numbers.count > 2 ? numbers[2] : 0)
        if !range.isEmpty { reads.append(Read(range: range, reader: reader)) }
      }
    }
  }
}

/// A reader that waits for each read, over a link that brings one request after the other.
private struct TraceReplay {
  private static let link = Link(
    bytesPerSecond: Double(100 << 20),
    delay: .milliseconds(20)
  )

  private struct Arrival {
    let range: ByteRange
    /// In seconds.
    let begin: Double
    let end: Double
  }

  private let trace: ReadTrace
  private var policy: PrefetchPolicy
  private var arrivals: [Arrival] = []
  private var linkFreeAt = 0.0
  var now = 0.0
  var fetched = ByteRangeSet()
  var useful = ByteRangeSet()
  var requestCount = 0
  var stallCount = 0

  init(of trace: ReadTrace) {
    self.trace = trace
    policy = PrefetchPolicy(objectSize: trace.size)
  }

  mutating func run() {
    for read in trace.reads {
      let decision = policy.readRequested(read.range, by: read.reader, over: Self.link)
      for range in decision.abandoned { abandon(range) }
      for range in decision.plan.demand + decision.plan.ahead { request(range) }
      useful.insert(read.range)
      wait(for: read.range)
    }
    for reader in Set(trace.reads.map(\.reader)) {
      for range in policy.readerClosed(reader) { abandon(range) }
    }
  }

  private mutating func request(_ range: ByteRange) {
    for gap in fetched.gaps(in: range) {
      requestCount += 1
      fetched.insert(gap)
      let begin = max(now + 0.02, linkFreeAt)
      linkFreeAt = begin + Double(gap.count) / Self.link.bytesPerSecond
      arrivals.append(Arrival(range: gap, begin: begin, end: linkFreeAt))
    }
  }

  /// What hasn't begun to arrive is not fetched.
  private mutating func abandon(_ range: ByteRange) {
    for arrival in arrivals where arrival.begin > now && arrival.range.overlaps(range) {
      fetched.remove(arrival.range)
    }
    arrivals.removeAll { $0.begin > now && $0.range.overlaps(range) }
  }

  private mutating func wait(for range: ByteRange) {
    var ready = now
    for arrival in arrivals {
      let part = range.clamped(to: arrival.range)
      guard arrival.range.overlaps(range), !part.isEmpty else { continue }
      let count = Double(part.upperBound - arrival.range.lowerBound)
      ready = max(ready, arrival.begin + count / Self.link.bytesPerSecond)
    }
    // Half a delay: less is the link's own time.
    if ready > now + 0.01 { stallCount += 1 }
    now = ready
    arrivals.removeAll { $0.end <= now }
  }
}
