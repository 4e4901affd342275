package import Core
package import Support
internal import Transfer

/// What was learned of versions' user metadata, kept from mount to mount (docs/cache-format.md).
///
/// A text that is appended to. What it lacks, or what of it is damaged, is asked for again when it is
/// needed, so nothing is synchronized to the disk and nothing fails because of it.
package final class FactsRecord: Sendable {
  private static let firstLine = "dipper facts 1\n"

  /// A text that has become larger is written anew, with the newest of each key.
  private let byteCountMax: Int
  private let path: String
  private let log: Log
  /// One thread, so that lines are in the order of what they tell.
  private let pool = BlockingPool(threadCount: 1)
  private let state: Lock<State>

  private struct State {
    /// Nil if it can't be written, which has been said then.
    var file: FileDescriptor?
    var size = 0
  }

  /// Opens the record in a cache's directory, or begins one.
  ///
  /// - Returns: the record, and what it says, the newest last.
  package static func open(
    in directory: String,
    log: Log,
    byteCountMax: Int = 8 << 20
  ) -> (record: FactsRecord, facts: [RecordedFacts]) {
    let record = FactsRecord(path: directory + "/facts", log: log, byteCountMax: byteCountMax)
    return (record, record.begin())
  }

  private init(path: String, log: Log, byteCountMax: Int) {
    self.path = path
    self.log = log
    self.byteCountMax = byteCountMax
    state = Lock(State())
  }

  /// Appends facts, some time soon.
  package func append(_ facts: RecordedFacts) {
    pool.submit { [self] in write(Self.line(facts)) }
  }

  /// Returns when what was appended before is written.
  package func finish() async { await pool.run {} }

  // Held over I/O: only this object's one thread takes it, but for the beginning.
  private func begin() -> [RecordedFacts] {
    state.withLock { state in
      let facts = read()
      rewrite(facts, &state)
      return facts
    }
  }

  private func write(_ line: String) {
    state.withLock { state in
      guard let file = state.file else { return }
      do throws(DiskFailure) {
        try Array(line.utf8).span.bytes.withUnsafeBytes { (bytes) throws(DiskFailure) in
          try file.write(bytes, at: state.size)
        }
        state.size += line.utf8.count
      } catch {
        return giveUp(error, &state)
      }
      if state.size > byteCountMax { rewrite(read(), &state) }
    }
  }

  /// The newest of each key, as many as take up to half of the most bytes, the newest last.
  private func read() -> [RecordedFacts] {
    // What is no file of ours is not read; writing puts another into its place.
    guard let status = try? Disk.status(of: path), status.kind == .file, status.linkCount == 1,
      status.userID == Disk.userID,
      let text = try? SmallFile.read(path, countMax: 2 * byteCountMax + 65_536),
      text.starts(with: Self.firstLine.utf8)
    else { return [] }
    var facts: [RecordedFacts] = []
    var known = Set<ObjectKey>()
    var byteCount = 0
    for line in text.split(separator: UInt8(ascii: "\n")).dropFirst().reversed() {
      guard let found = Self.facts(line), known.insert(found.key).inserted else { continue }
      byteCount += line.count
      if byteCount > byteCountMax / 2 { break }
      if !found.userMetadata.isEmpty { facts.append(found) }
    }
    return facts.reversed()
  }

  /// Puts a text into place that says just this.
  private func rewrite(_ facts: [RecordedFacts], _ state: inout State) {
    let text = Array(facts.reduce(into: Self.firstLine) { $0 += Self.line($1) }.utf8)
    let temporary = path + ".new"
    do throws(DiskFailure) {
      try Disk.removeFile(temporary)
      let file = try FileDescriptor.open(temporary, [.readWrite, .create, .exclusive])
      try text.span.bytes.withUnsafeBytes { (bytes) throws(DiskFailure) in
        try file.write(bytes, at: 0)
      }
      try Disk.rename(temporary, to: path)
      state.file = file
      state.size = text.count
    } catch {
      giveUp(error, &state)
    }
  }

  private func giveUp(_ error: DiskFailure, _ state: inout State) {
    state.file = nil
    log.write(
      .warning,
      "what is learned of files' attributes is not kept for the next mount: \(error)",
      ["path": path]
    )
  }

  private static func line(_ facts: RecordedFacts) -> String {
    var words = [
      PercentEncoding.encoded(facts.key.bytes),
      facts.etag.map { "=" + PercentEncoding.encoded($0.value.utf8) } ?? "-",
    ]
    for (name, value) in facts.userMetadata.sorted(by: { $0.key < $1.key }) {
      words.append(
        PercentEncoding.encoded(name.utf8) + "," + PercentEncoding.encoded(value.utf8)
      )
    }
    return LineChecksum.line(words.joined(separator: " "))
  }

  private static func facts(_ line: ArraySlice<UInt8>) -> RecordedFacts? {
    guard let text = LineChecksum.text(of: line) else { return nil }
    let words = text.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard words.count >= 2, let key = PercentEncoding.decoded(words[0]) else { return nil }
    var facts = RecordedFacts(key: ObjectKey(key), etag: nil, userMetadata: [:])
    if words[1].first == UInt8(ascii: "=") {
      guard let tag = decoded(words[1].dropFirst()) else { return nil }
      // The value itself: its spelling may begin and end in quotes of its own.
      facts.etag = ETag("\"" + tag + "\"")
    }
    for word in words.dropFirst(2) {
      let pair = word.split(
        separator: UInt8(ascii: ","),
        omittingEmptySubsequences: false
      )
      guard pair.count == 2, let name = decoded(pair[0]), let value = decoded(pair[1]) else {
        return nil
      }
      facts.userMetadata[name] = value
    }
    return facts
  }

  private static func decoded(_ word: ArraySlice<UInt8>) -> String? {
    PercentEncoding.decoded(word).flatMap { String(validating: $0, as: UTF8.self) }
  }
}
