package import Core

/// A resumable download of one object into a file.
package struct FileDownloadRequest: Hashable, Sendable {
  /// The bucket as the user named it, with its endpoint.
  package var storeName: String
  /// The object.
  package var key: ObjectKey
  /// A particular version; nil is the current one.
  package var versionID: String?
  /// The version that it must be.
  package var ifMatch: ETag?
  /// The file that the object becomes.
  package var target: String
  /// Where the bytes are gathered, on the target's file system; nil is beside the target.
  package var temporary: String?
  /// A file, or an existing directory for a generated name; nil is beside the target.
  package var checkpoint: String?
  /// False writes no checkpoint: an interrupted download starts over.
  package var keepsCheckpoint = true
  /// Bytes of the object per request.
  package var partSize: Int
  /// Requests at a time.
  package var parallel: Int
  /// How often the store retries each request; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// Forgets an earlier try, whatever it was.
  package var forcesRestart = false

  /// Creates a request.
  package init(
    storeName: String,
    key: ObjectKey,
    target: String,
    partSize: Int = 20 << 20,
    parallel: Int = 8
  ) {
    self.storeName = storeName
    self.key = key
    self.target = target
    self.partSize = partSize
    self.parallel = parallel
  }

  /// What a checkpoint must agree with beside the object's version, by the names that users know.
  var task: [String: String] {
    var task = [
      "target": target, "temporary": temporaryPath, "part-size": "\(partSize)",
    ]
    if let versionID { task["version-id"] = versionID }
    if let ifMatch { task["if-match"] = ifMatch.value }
    return task
  }

  /// Where the checkpoint lies unless another place was named; the target's lock is always beside it.
  package var usualCheckpoint: String { beside(target: ".dipper-checkpoint") }

  /// Where the bytes are gathered.
  package var temporaryPath: String { temporary ?? beside(target: ".dipper-part") }

  private func beside(target suffix: String) -> String {
    CompanionPath.path(target, suffix, longestSuffix: ".dipper-checkpoint.lock")
  }
}

/// What happens during a download into a file.
package enum FileDownloadEvent: Hashable, Sendable {
  /// The object is known; so many of its bytes are there from an earlier try.
  case started(ObjectVersion, presentByteCount: Int)
  /// The file that gathers the bytes was made, or was there.
  case createdTemporary(path: String)
  /// An earlier try can't be continued, and why.
  case startedOver(reason: String)
  /// A part is there.
  case partFinished(ByteRange)
  /// A part could not be had.
  case partFailed(ByteRange, FetchError)
  /// So many bytes are there.
  case progressed(byteCount: Int)
  /// All bytes are there, were verified, and have the target's name.
  case finished(path: String)
}

/// Why a download into a file did not come to its end.
package enum FileDownloadError: Error, Hashable, Sendable {
  /// The request makes no sense here; the sentence says why.
  case invalid(String)
  /// The store failed.
  case store(StoreError)
  /// Bytes could not be fetched or kept.
  case fetch(FetchError)
  /// The disk failed.
  case disk(DiskFailure)
  /// Another process works with this checkpoint.
  case held(path: String, by: String)
  /// The checkpoint is of another task: the first field that differs.
  case differs(field: String, checkpoint: String, request: String)
  /// The checkpoint is of another version of the format.
  case unknownFormat(path: String, version: String)
  /// The object is not the version that the earlier try was of; nothing was mixed.
  case sourceChanged(was: ObjectVersion, isNow: ObjectVersion?)
  /// The whole object's checksum is not the store's.
  case wrongChecksum(expected: UInt64, actual: UInt64)
  /// The caller paused it; the checkpoint is kept.
  case paused
}
