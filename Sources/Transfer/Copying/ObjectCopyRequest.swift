package import Core

/// A resumable copy of one object on the server, within a bucket or from another one.
package struct ObjectCopyRequest: Hashable, Sendable {
  /// What the new object gets besides the bytes.
  package enum Facts: Hashable, Sendable {
    /// Headers, user metadata, tags and storage class of the source.
    case carried
    /// These, and nothing of the source's: headers, user metadata and tags.
    case replaced(ContentHeaders, userMetadata: [String: String], tags: [String: String] = [:])
  }

  /// The source's bucket as the user named it, with its endpoint.
  package var sourceStoreName: String
  /// The source's bucket as the store names it; nil if it is the target's own.
  package var sourceBucket: String?
  /// The object to copy.
  package var sourceKey: ObjectKey
  /// A particular version of it; nil is the current one.
  package var versionID: String?
  /// What the store has just said of it, on these conditions; nil asks.
  package var known: ObjectMetadata?
  /// What must hold of it, or nothing is copied.
  package var conditions = ReadConditions()
  /// The target's bucket as the user named it, with its endpoint.
  package var targetStoreName: String
  /// The key of the copy.
  package var targetKey: ObjectKey
  /// On what condition the copy may take the place of what is there.
  package var condition = WriteCondition.none
  /// What goes along with the bytes.
  package var facts = Facts.carried
  /// The copy's storage class; nil is the source's.
  package var storageClass: String?
  /// The copy's tags; nil is what `facts` says of them.
  package var tags: [String: String]?
  /// How the store is to keep the copy, by the names that users know.
  package var storageTask: [String: String] = [:]
  /// Bytes of a part; 0 is the usual size.
  package var partSize = 0
  /// Up to this size one request copies the object; nil leaves it to what the store takes.
  package var wholeSizeMax: Int?
  /// Parts in flight, brought into 1 to 1,000.
  package var parallel = 8
  /// How often the store retries each request; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// How long after its first failure a request is tried again; nil leaves it to the deadline.
  package var retryPatience: Duration?
  /// Bytes that the store may copy per second, as parts are begun; nil is no limit.
  package var rateMax: Int?
  /// A file, or an existing directory for a generated name; nil keeps no checkpoint.
  package var checkpoint: String?
  /// Forgets an earlier try, whatever it was.
  package var forcesRestart = false
  /// How large parts may be; only tests need others.
  package var limits = PartLimits()

  /// Creates a request.
  package init(
    from sourceKey: ObjectKey,
    of sourceStoreName: String,
    bucket sourceBucket: String? = nil,
    to targetKey: ObjectKey,
    of targetStoreName: String
  ) {
    self.sourceKey = sourceKey
    self.sourceStoreName = sourceStoreName
    self.sourceBucket = sourceBucket
    self.targetKey = targetKey
    self.targetStoreName = targetStoreName
  }

  /// The object that the store copies from, if it is what the task began with.
  func source(_ version: ObjectVersion) -> CopySource {
    var source = CopySource(
      bucket: sourceBucket,
      key: sourceKey,
      versionID: versionID,
      ifMatch: version.etag
    )
    // A tag says all; without one the time must do.
    if version.etag == nil { source.conditions.ifUnmodifiedSince = version.lastModified }
    return source
  }

  /// The target with the facts that replace the source's; nil if those are carried over.
  var replacement: PutRequest? {
    guard case .replaced(let headers, let metadata, let tags) = facts else { return nil }
    var put = PutRequest(key: targetKey, condition: condition, userMetadata: metadata)
    put.headers = headers
    put.tags = self.tags ?? tags
    return put
  }

  /// What a checkpoint must agree with beside the source's version, by the names that users know.
  var task: [String: String] {
    var task = conditions.task
    task["kind"] = "copy"
    task["part-size"] = "\(partSize == 0 ? PartLimits.usualPartSize : partSize)"
    task["version-id"] = versionID
    if let replacement { task["metadata"] = replacement.factsText ?? "replaced" }
    task["storage-class"] = storageClass
    if let tags {
      task["tag"] = tags.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        .joined(separator: ",")
    }
    if condition != .none { task["target-condition"] = "\(condition)" }
    return task.merging(storageTask) { own, _ in own }
  }

  /// The first field in which an earlier task is not this one; nil if they agree.
  func difference(from earlier: UploadCheckpoint) -> TransferError? {
    difference(from: earlier, isWhole: true)
  }

  /// The first field in which an earlier task is about other objects than this one; nil if none is.
  func differenceOfObjects(from earlier: UploadCheckpoint) -> TransferError? {
    difference(from: earlier, isWhole: false)
  }

  private func difference(from earlier: UploadCheckpoint, isWhole: Bool) -> TransferError? {
    let identity = earlier.identity
    var fields: [(name: String, checkpoint: String?, request: String?)] = [
      ("kind", identity.kind, "copy"),
      ("source-bucket", identity.store, sourceStoreName),
      ("source-key", "\(identity.version.key)", "\(sourceKey)"),
      ("target-bucket", earlier.upload.store, targetStoreName),
      ("target-key", "\(earlier.upload.reference.key)", "\(targetKey)"),
    ]
    if isWhole { fields += TransferError.taskFields(identity.task, task) }
    return TransferError.difference(in: fields)
  }
}

extension ReadConditions {
  /// The conditions as fields of a checkpoint, those that are given.
  var task: [String: String] {
    var task: [String: String] = [:]
    task["if-match"] = ifMatch?.value
    task["if-none-match"] = ifNoneMatch?.value
    task["if-modified-since"] = ifModifiedSince.map { "\($0.seconds)" }
    task["if-unmodified-since"] = ifUnmodifiedSince.map { "\($0.seconds)" }
    return task
  }
}

extension TransferError {
  /// Every field that either task has, in one order.
  static func taskFields(
    _ checkpoint: [String: String],
    _ request: [String: String]
  ) -> [(name: String, checkpoint: String?, request: String?)] {
    Set(checkpoint.keys).union(request.keys).sorted()
      .map { (name: $0, checkpoint: checkpoint[$0], request: request[$0]) }
  }
}
