package import Core

/// A resumable download of one object into a file.
package struct FileDownloadRequest: Hashable, Sendable {
  /// The bucket as the user named it, with its endpoint.
  package var storeName: String
  /// The object.
  package var key: ObjectKey
  /// A particular version; nil is the current one.
  package var versionID: String?
  /// What must hold of it, or nothing is downloaded.
  package var conditions = ReadConditions()
  /// The file that the object becomes.
  package var target: String
  /// Where the bytes are gathered, on the target's file system; nil is beside the target.
  package var temporary: String?
  /// A file, or an existing directory for a generated name; nil is beside the target.
  package var checkpoint: String?
  /// False writes no checkpoint: an interrupted download starts over.
  package var keepsCheckpoint = true
  /// Bytes of a part; 0 is the usual size.
  package var partSize: Int
  /// Parts in flight, brought into 1 to 1,000.
  package var parallel: Int
  /// How often the store retries each request; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// Forgets an earlier try, whatever it was.
  package var forcesRestart = false
  /// How large parts may be; only tests need others.
  package var limits = PartLimits()

  /// Creates a request.
  package init(
    storeName: String,
    key: ObjectKey,
    target: String,
    partSize: Int = 0,
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
    var task = conditions.task
    task["target"] = target
    task["temporary"] = temporaryPath
    task["part-size"] = "\(partSize == 0 ? PartLimits.usualPartSize : partSize)"
    task["version-id"] = versionID
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
  /// The object is known, and the parts that it is fetched in; so many of its bytes are there from an earlier
  /// try.
  case started(ObjectVersion, partCount: Int, presentByteCount: Int)
  /// The file that gathers the bytes was made, or was there.
  case createdTemporary(path: String)
  /// It could not be made.
  case temporaryFailed(path: String, TransferError)
  /// An earlier try can't be continued, and why.
  case startedOver(reason: String)
  /// A part is there.
  case partFinished(Int, ByteRange)
  /// A part could not be had, all retries included.
  case partFailed(Int, ByteRange, FetchError)
  /// A part was given up because the task was paused or another part failed.
  case partAborted(Int, ByteRange)
  /// So many of `size` bytes are there.
  case progressed(byteCount: Int, size: Int)
  /// All bytes are there, were verified, and have the target's name.
  case finished(path: String, StoredObject)
  /// All bytes are there, but the file could not be given the target's name.
  case renameFailed(path: String, TransferError)
}
