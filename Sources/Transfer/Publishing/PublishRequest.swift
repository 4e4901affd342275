package import Core
internal import Crypto

/// A draft to be made the object at its key.
package struct PublishRequest: Sendable {
  /// The bucket as the user named it, with its endpoint.
  package var storeName: String
  /// The object to be, with its facts and its condition.
  package var target: PutRequest
  /// How it is put together.
  package var plan: PublishPlan
  /// What the draft is at the moment: its tag changes whenever the draft does, so that an upload is only
  /// gone on with if it is of the same bytes.
  package var draft: ObjectVersion
  /// Where the checkpoint of its upload lies; nil keeps none.
  package var checkpointPath: String?
  /// Bytes of an upload part, for the checkpoint.
  package var partSize = PartLimits.usualPartSize
  /// Parts in flight, brought into 1 to 1,000.
  package var parallel = 8
  /// How often the store retries each request; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// How long after its first failure a request is tried again; nil leaves it to the deadline.
  package var retryPatience: Duration?
  /// Tags or storage class are others than the object's, which only a copy can change.
  package var needsCopy = true
  /// How the store is to keep the object, by the names that users know.
  package var storageTask: [String: String] = [:]

  /// Creates a request.
  package init(
    _ target: PutRequest,
    of storeName: String,
    by plan: PublishPlan,
    draft: ObjectVersion
  ) {
    self.target = target
    self.storeName = storeName
    self.plan = plan
    self.draft = draft
  }

  /// What the checkpoint of the upload begins with.
  package var identity: CheckpointIdentity {
    var task = ["kind": "publish", "part-size": "\(partSize)"]
    task["metadata"] = target.factsText
    task["storage-class"] = target.storageClass
    task["plan"] = plan.digest
    task.merge(storageTask) { own, _ in own }
    return CheckpointIdentity(store: "draft", version: draft, task: task)
  }

  /// Whether parts that `earlier` records are parts of this.
  func continues(_ earlier: UploadCheckpoint) -> Bool {
    earlier.upload.store == storeName && earlier.upload.reference.key == target.key
      && earlier.identity.isSameContent(as: identity) && earlier.identity.task == identity.task
  }
}

extension PublishPlan {
  /// Tells the plan's parts from those of any other.
  fileprivate var digest: String? {
    guard case .parts(let parts) = self else { return nil }
    var text = ""
    for part in parts {
      switch part.source {
      case .upload: text += "\(part.range.upperBound);"
      case .copy(let version, let offset):
        text += "\(part.range.upperBound)=\(version.key)@\(version.etag?.value ?? "")+\(offset);"
      }
    }
    return SHA256.digest(of: Array(text.utf8)).prefix(16).hexadecimal
  }
}
