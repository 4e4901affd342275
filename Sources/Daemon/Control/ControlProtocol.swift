internal import FoundationEssentials

/// What is said on a control socket: one JSON object a line, one request a connection.
package struct ControlRequest: Codable, Hashable, Sendable {
  /// What to do.
  package var command: Command
  /// For `warm`, `evict` and `map`: the file, from the mount's root on; base64, since names are bytes.
  package var path: String?

  /// What can be asked for; a daemon of another version may know fewer, and says so.
  package enum Command: String, Codable, Sendable {
    /// One answer, with the mount's status.
    case status
    /// Answers with `waiting` as long as something is pending, then with `done` or `error`; the
    /// daemon ends after `done`.
    case unmount
    /// Answers with `progress` until the file is in the cache, then with `warmed` or `error`.
    ///
    /// A caller that hangs up ends it.
    case warm
    /// One answer: `evicted` or `error`, with `busy` if the file is open and stays.
    case evict
    /// One answer: `map` or `error`.
    case map
    /// Answers with `waiting` until it has looked, then with `recovery` or `error`.
    case renamings
    /// The same when it has finished what nobody else finishes.
    case finishRenamings = "finish-renamings"
  }

  /// Creates a request.
  package init(_ command: Command) { self.command = command }

  /// Creates a request about the file at `path` below the mount's root.
  package init(_ command: Command, path: [UInt8]) {
    self.command = command
    self.path = Data(path).base64EncodedString()
  }

  /// The names from the mount's root to the file; nil if none was given that can be read.
  package var names: [[UInt8]]? {
    guard let path, let bytes = Data(base64Encoded: path) else { return nil }
    return bytes.split(separator: UInt8(ascii: "/")).map { Array($0) }
  }

  private enum CodingKeys: String, CodingKey {
    case command
    case path = "path_base64"
  }
}

/// One line of an answer.
package struct ControlAnswer: Codable, Hashable, Sendable {
  /// The mount's status.
  package var status: MountStatus?
  /// What is being waited for.
  package var waiting: String?
  /// Why it can't be done.
  package var error: String?
  /// True if it can't be done because something uses the mount.
  package var busy: Bool?
  /// True in the last answer to what was done.
  package var done: Bool?
  /// How far the file is.
  package var progress: Progress?
  /// What came of `warm`.
  package var warmed: Warmed?
  /// What came of `evict`.
  package var evicted: Evicted?
  /// Where the bytes of the file are.
  package var map: CacheMapReport?
  /// The renamings that were not finished.
  package var recovery: RecoveryReport?

  /// Bytes of the file in the cache, of how many.
  package struct Progress: Codable, Hashable, Sendable {
    /// In the cache now.
    package var bytesDone: Int
    /// In the object.
    package var bytesTotal: Int

    /// Creates a progress.
    package init(bytesDone: Int, bytesTotal: Int) {
      self.bytesDone = bytesDone
      self.bytesTotal = bytesTotal
    }

    private enum CodingKeys: String, CodingKey {
      case bytesDone = "bytes_done"
      case bytesTotal = "bytes_total"
    }
  }

  /// A file is wholly in the cache.
  package struct Warmed: Codable, Hashable, Sendable {
    /// Its size.
    package var bytes: Int
    /// How much of it was not in the cache before.
    package var fetchedBytes: Int

    /// Creates the facts.
    package init(bytes: Int, fetchedBytes: Int) {
      self.bytes = bytes
      self.fetchedBytes = fetchedBytes
    }

    private enum CodingKeys: String, CodingKey {
      case bytes
      case fetchedBytes = "fetched_bytes"
    }
  }

  /// Nothing of a file is in the cache.
  package struct Evicted: Codable, Hashable, Sendable {
    /// Bytes freed on the disk.
    package var freedBytes: Int

    /// Creates the facts.
    package init(freedBytes: Int) { self.freedBytes = freedBytes }

    private enum CodingKeys: String, CodingKey {
      case freedBytes = "freed_bytes"
    }
  }

  /// True if no other answer follows.
  package var isLast: Bool { waiting == nil && progress == nil }

  /// Creates an answer with a status.
  package init(status: MountStatus) { self.status = status }
  /// Creates an answer that says what is waited for.
  package init(waiting: String) { self.waiting = waiting }
  /// Creates an answer that says why it can't be done.
  package init(error: String, isBusy: Bool = false) {
    self.error = error
    busy = isBusy ? true : nil
  }
  /// Creates the last answer to something done.
  package init(isDone: Bool) { done = isDone }
  /// Creates an answer that says how far a file is.
  package init(progress: Progress) { self.progress = progress }
  /// Creates the last answer to `warm`.
  package init(warmed: Warmed) { self.warmed = warmed }
  /// Creates the answer to `evict`.
  package init(evicted: Evicted) { self.evicted = evicted }
  /// Creates the answer to `renamings`.
  package init(recovery: RecoveryReport) { self.recovery = recovery }
  /// Creates the answer to `map`.
  package init(map: CacheMapReport) { self.map = map }
}

/// JSON lines there and back.
enum ControlLine {
  /// A longer line is nothing of ours; a status with every transfer and failure stays far below.
  static let lengthMax = 8 << 20

  static func encode(_ value: some Encodable) -> [UInt8] {
    Array(StatusReport.text(of: value).utf8) + [0x0A]
  }

  static func decode<Value: Decodable>(_ line: [UInt8], as type: Value.Type) -> Value? {
    try? JSONDecoder().decode(type, from: Data(line))
  }
}
