package import Core

/// An upload of one object.
package struct ObjectUploadRequest: Hashable, Sendable {
  /// The target's bucket as the user named it, with its endpoint.
  package var storeName: String
  /// The object to be, with its headers, metadata, tags, storage class and condition.
  package var target: PutRequest
  /// Bytes of a part; 0 is the usual size.
  package var partSize = 0
  /// Parts in flight, brought into 1 to 1,000.
  package var parallel = 8
  /// How often the store retries each request; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// A file, or an existing directory for a generated name; nil keeps no checkpoint.
  package var checkpoint: String?
  /// Forgets an earlier try, whatever it was.
  package var forcesRestart = false
  /// How large parts may be; only tests need others.
  package var limits = PartLimits()
  /// How the store is to keep the object, by the names that users know.
  package var storageTask: [String: String] = [:]
  /// Bytes of a stream's parts that may be in memory at a time.
  package var memoryMax = 256 << 20

  /// Creates a request.
  package init(to target: PutRequest, of storeName: String) {
    self.target = target
    self.storeName = storeName
  }

  /// What a checkpoint must agree with beside the file's version, by the names that users know.
  var task: [String: String] {
    var task = ["kind": "upload"]
    task["part-size"] = "\(partSize == 0 ? PartLimits.usualPartSize : partSize)"
    task["metadata"] = target.factsText
    task["storage-class"] = target.storageClass
    if case .ifMatch(let etag) = target.condition { task["if-match"] = etag.value }
    if target.condition == .ifAbsent { task["if-absent"] = "true" }
    return task.merging(storageTask) { own, _ in own }
  }

  /// The first field in which an earlier task is not this one; nil if they agree.
  func difference(from earlier: UploadCheckpoint, file: String, isWhole: Bool) -> TransferError? {
    let identity = earlier.identity
    var fields: [(name: String, checkpoint: String?, request: String?)] = [
      ("kind", identity.kind, "upload"),
      ("file", "\(identity.version.key)", "\(ObjectKey(file))"),
      ("target-bucket", earlier.upload.store, storeName),
      ("target-key", "\(earlier.upload.reference.key)", "\(target.key)"),
    ]
    if isWhole { fields += TransferError.taskFields(identity.task, task) }
    return TransferError.difference(in: fields)
  }
}

extension PutRequest {
  /// Headers, metadata and tags in one line; nil if there are none.
  var factsText: String? {
    let fields =
      headers.fields.map { "\($0.name)=\($0.value)" }
      + userMetadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      + tags.sorted { $0.key < $1.key }.map { "tag:\($0.key)=\($0.value)" }
    return fields.isEmpty ? nil : fields.joined(separator: ",")
  }
}
