internal import Core
internal import ObjectFiles
internal import Support

/// An open file: one version of an object, pinned when it was opened.
struct OpenFile: Sendable {
  /// The node that was opened.
  let node: NodeID
  /// The bytes, shared by all who have the node open; nil for an empty object, which needs no cache.
  let file: ObjectFile?
}

/// The bytes of the nodes that are open.
struct OpenObjects: Sendable {
  private var files: [NodeID: (file: ObjectFile, openCount: Int)] = [:]

  /// A node is opened; `file` is for it if nobody has it open yet.
  mutating func opened(_ node: NodeID, _ file: ObjectFile) -> ObjectFile {
    let (shared, openCount) = files[node] ?? (file, 0)
    files[node] = (shared, openCount + 1)
    return shared
  }

  /// One of those who have a node open has closed it.
  mutating func closed(_ node: NodeID) {
    guard let (file, openCount) = files[node] else { return }
    files[node] = openCount > 1 ? (file, openCount - 1) : nil
  }
}

extension MountedBucket {
  /// Makes a handle of a node's file; an empty one has no bytes.
  func addFileHandle(_ entry: Entry, node: NodeID) -> (HandleID, ObjectFile?) {
    fetchSiblings(of: entry, node: node)
    guard entry.size > 0 else { return (addHandle(.file(OpenFile(node: node, file: nil))), nil) }
    let observer = OpenFileObserver(node, path: path(of: entry.key), bucket: self)
    let file = ObjectFile(entry.version, environment: files, observer: observer)
    let shared = tables.withLock { $0.openObjects.opened(node, file) }
    return (addHandle(.file(OpenFile(node: node, file: shared))), shared)
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
