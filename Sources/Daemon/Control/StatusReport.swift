internal import FoundationEssentials

/// What `dipper status --json` prints: a contract, to which fields may be added.
package struct StatusReport: Codable, Hashable, Sendable {
  /// The version of this format.
  package var version = 1
  /// The mounts of this user, or of all for root, by mountpoint.
  package var mounts: [MountStatus]

  /// Creates a report.
  package init(mounts: [MountStatus]) { self.mounts = mounts }

  /// The report as JSON, for people too.
  package var json: String { Self.text(of: self, isPretty: true) }

  /// Any value as JSON in one line, or indented.
  package static func text(of value: some Encodable, isPretty: Bool = false) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting =
      isPretty
      ? [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      : [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }
}

/// One mount.
package struct MountStatus: Codable, Hashable, Sendable {
  /// Where it is.
  package var mountpoint: String
  /// What is mounted, with its prefix.
  package var bucket: String
  /// The daemon; nil if it is gone.
  ///
  /// Never 0, which `kill` takes for a whole process group.
  package var pid: Int32?
  /// The id of the user who mounted it; nil if the kernel doesn't say.
  package var user: UInt32?
  /// When it was mounted; like all that follows but `answers` and `state`, nil if nobody answers.
  package var since: String?
  /// True if it refuses writes.
  package var readOnly: Bool?
  /// False if the daemon didn't answer in time; what only it knows is nil then.
  package var answers = true
  /// The same in words, found by whoever asks.
  package var state: State?
  /// The cache.
  package var cache: Cache?
  /// The memory.
  package var memory: Memory?
  /// Where the daemon writes what happens: a file's path, or words.
  package var log: String?
  /// What is on its way.
  package var transfers: [Transfer]?
  /// What was counted since the mount began.
  package var counters: Counters?
  /// Whether the kernel reads files that are wholly in the cache by itself: `on`, or `off: ` and why;
  /// nil if it isn't known.
  package var passthrough: String?
  /// What could not be stored yet.
  package var unsaved: [Unsaved]?
  /// The last failures, oldest first.
  package var errors: [Failure]?

  /// How a mount does.
  package enum State: String, Codable, Sendable {
    /// It answers.
    case serving
    /// It answers, but was taken out of the tree while something used it.
    case detached
    /// It doesn't answer in time, or its daemon is gone: then it has no process id.
    case notAnswering = "not answering"
  }

  /// The cache of a mount.
  package struct Cache: Codable, Hashable, Sendable {
    /// Where it is.
    package var directory: String
    /// How much is in it.
    package var bytes: Int
    /// How much may be in it.
    package var limitBytes: Int
    /// How much of it the store doesn't have yet.
    package var dirtyBytes: Int

    private enum CodingKeys: String, CodingKey {
      case directory
      case bytes
      case limitBytes = "limit_bytes"
      case dirtyBytes = "dirty_bytes"
    }

    /// Creates facts.
    package init(directory: String, bytes: Int, limitBytes: Int, dirtyBytes: Int = 0) {
      self.directory = directory
      self.bytes = bytes
      self.limitBytes = limitBytes
      self.dirtyBytes = dirtyBytes
    }
  }

  /// The memory of a mount.
  package struct Memory: Codable, Hashable, Sendable {
    /// What the daemon has resident.
    package var residentBytes: Int
    /// What transfers may use.
    package var budgetBytes: Int

    private enum CodingKeys: String, CodingKey {
      case residentBytes = "resident_bytes"
      case budgetBytes = "budget_bytes"
    }

    /// Creates facts.
    package init(residentBytes: Int, budgetBytes: Int) {
      self.residentBytes = residentBytes
      self.budgetBytes = budgetBytes
    }
  }

  /// A transfer on its way.
  package struct Transfer: Codable, Hashable, Sendable {
    /// `download`, `upload`, `copy` or `rename`.
    package var kind: String
    /// The object's key.
    package var key: String
    /// The key that it is copied to.
    package var targetKey: String?
    /// How much has arrived.
    package var bytesDone: Int
    /// How much there is.
    package var bytesTotal: Int
    /// How many parts are complete.
    package var partsDone: Int
    /// How many parts there are.
    package var partsTotal: Int
    /// `running`, `waiting`, `paused` or `failed`.
    package var state: String
    /// Why it failed.
    package var error: String?

    private enum CodingKeys: String, CodingKey {
      case kind
      case key
      case targetKey = "target_key"
      case bytesDone = "bytes_done"
      case bytesTotal = "bytes_total"
      case partsDone = "parts_done"
      case partsTotal = "parts_total"
      case state
      case error
    }

    /// Creates facts of a renaming; the parts of a directory are the keys below it.
    package init(
      renamingOf source: String,
      to target: String,
      bytesDone: Int,
      bytesTotal: Int,
      partsDone: Int,
      partsTotal: Int
    ) {
      kind = "rename"
      key = source
      targetKey = target
      self.bytesDone = bytesDone
      self.bytesTotal = bytesTotal
      self.partsDone = partsDone
      self.partsTotal = partsTotal
      state = "running"
    }

    /// Creates facts of a download.
    package init(
      downloadOf key: String,
      bytesDone: Int,
      bytesTotal: Int,
      partsDone: Int,
      partsTotal: Int,
      state: String = "running",
      error: String? = nil
    ) {
      kind = "download"
      self.key = key
      self.bytesDone = bytesDone
      self.bytesTotal = bytesTotal
      self.partsDone = partsDone
      self.partsTotal = partsTotal
      self.state = state
      self.error = error
    }

    /// Creates facts of an upload, as one part.
    package init(
      uploadOf key: String,
      bytesDone: Int,
      bytesTotal: Int,
      state: String,
      error: String?
    ) {
      self.init(
        downloadOf: key,
        bytesDone: bytesDone,
        bytesTotal: bytesTotal,
        partsDone: 0,
        partsTotal: 1,
        state: state,
        error: error
      )
      kind = "upload"
    }

    /// Writes absent values as null rather than leaving them out: scripts look for the field.
    package func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(kind, forKey: .kind)
      try fields.encode(key, forKey: .key)
      try fields.encode(targetKey, forKey: .targetKey)
      try fields.encode(bytesDone, forKey: .bytesDone)
      try fields.encode(bytesTotal, forKey: .bytesTotal)
      try fields.encode(partsDone, forKey: .partsDone)
      try fields.encode(partsTotal, forKey: .partsTotal)
      try fields.encode(state, forKey: .state)
      try fields.encode(error, forKey: .error)
    }
  }

  /// What was counted.
  package struct Counters: Codable, Hashable, Sendable {
    /// Requests by operation, retries included.
    package var requests: [String: Int]
    /// Tries beyond the first.
    package var retries: Int
    /// Bytes of object bodies received.
    package var bytesReceived: Int
    /// Bytes of object bodies sent.
    package var bytesSent: Int
    /// Bytes of reads answered from the cache.
    package var cacheHitBytes: Int
    /// Bytes of reads that had to wait.
    package var cacheMissBytes: Int
    /// Opens after which the kernel read by itself, which counts as no read.
    package var passthroughOpens = 0

    private enum CodingKeys: String, CodingKey {
      case requests
      case retries
      case bytesReceived = "bytes_received"
      case bytesSent = "bytes_sent"
      case cacheHitBytes = "cache_hit_bytes"
      case cacheMissBytes = "cache_miss_bytes"
      case passthroughOpens = "passthrough_opens"
    }
  }

  /// Bytes that could not be stored yet.
  package struct Unsaved: Codable, Hashable, Sendable {
    /// The path in the mount.
    package var path: String
    /// How much.
    package var bytes: Int
    /// Why.
    package var reason: String
    /// Where they are kept.
    package var keptAt: String

    private enum CodingKeys: String, CodingKey {
      case path
      case bytes
      case reason
      case keptAt = "kept_at"
    }
  }

  /// A failure that an application saw.
  package struct Failure: Codable, Hashable, Sendable {
    /// When.
    package var time: String
    /// The file operation.
    package var operation: String
    /// The path in the mount.
    package var path: String
    /// The errno's name.
    package var errno: String
    /// The store's error code.
    package var code: String?
    /// The store's request id.
    package var requestID: String?
    /// What happened.
    package var message: String

    private enum CodingKeys: String, CodingKey {
      case time
      case operation
      case path
      case errno
      case code
      case requestID = "request_id"
      case message
    }

    /// Writes absent values as null rather than leaving them out.
    package func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(time, forKey: .time)
      try fields.encode(operation, forKey: .operation)
      try fields.encode(path, forKey: .path)
      try fields.encode(errno, forKey: .errno)
      try fields.encode(code, forKey: .code)
      try fields.encode(requestID, forKey: .requestID)
      try fields.encode(message, forKey: .message)
    }
  }

  /// Writes what isn't known as null: a zero would be a lie, and scripts look for the field.
  package func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(mountpoint, forKey: .mountpoint)
    try fields.encode(bucket, forKey: .bucket)
    try fields.encode(pid, forKey: .pid)
    try fields.encode(user, forKey: .user)
    try fields.encode(since, forKey: .since)
    try fields.encode(readOnly, forKey: .readOnly)
    try fields.encode(answers, forKey: .answers)
    try fields.encode(state ?? (answers ? .serving : .notAnswering), forKey: .state)
    try fields.encode(cache, forKey: .cache)
    try fields.encode(memory, forKey: .memory)
    try fields.encode(log, forKey: .log)
    try fields.encode(transfers, forKey: .transfers)
    try fields.encode(counters, forKey: .counters)
    try fields.encode(passthrough, forKey: .passthrough)
    try fields.encode(unsaved, forKey: .unsaved)
    try fields.encode(errors, forKey: .errors)
  }

  private enum CodingKeys: String, CodingKey {
    case mountpoint
    case bucket
    case pid
    case user
    case since
    case readOnly = "read_only"
    case answers
    case state
    case cache
    case memory
    case log
    case transfers
    case counters
    case passthrough
    case unsaved
    case errors
  }
}
