internal import Core
internal import ObjectFiles
internal import Support

/// An open file: one version of an object, pinned when it was opened.
final class OpenFile: Sendable {
  /// The node that was opened.
  let node: NodeID
  /// The bytes; nil for an empty object, which needs no cache.
  let file: ObjectFile?

  init(_ entry: Entry, node: NodeID, bucket: MountedBucket) {
    self.node = node
    guard entry.size > 0 else {
      file = nil
      return
    }
    let observer = OpenFileObserver(node, path: bucket.path(of: entry.key), bucket: bucket)
    file = ObjectFile(entry.version, environment: bucket.files, observer: observer)
  }
}

/// Tells a mounted bucket of failed reads.
private final class OpenFileObserver: ReadObserver {
  private let node: NodeID
  private let path: String
  private weak let bucket: MountedBucket?

  init(_ node: NodeID, path: String, bucket: MountedBucket) {
    self.node = node
    self.path = path
    self.bucket = bucket
  }

  func readFailed(_ error: FileError) {
    guard let bucket else { return }
    if error.code == .stale { bucket.learnStale(node) }
    bucket.reporter.report(error, FailureReporter.Operation(name: "read", path: path, node: node))
  }
}
