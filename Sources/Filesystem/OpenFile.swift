internal import Core
internal import ObjectFiles
internal import Support

/// An open file.
struct OpenFile: Sendable {
  /// The node that was opened.
  let node: NodeID
  /// What may be written through it; nil if it reads only.
  var draft: Draft?
}

/// The nodes that are open.
struct OpenNodes {
  private struct Node {
    /// The bytes of its version, shared by all who read it; nil for an empty object, which needs no
    /// cache, and for a node that is being written.
    var file: ObjectFile?
    var openCount = 0
    var writerCount = 0
  }

  private var nodes: [NodeID: Node] = [:]

  /// A node is opened; `file` is for it if nobody reads it yet.
  mutating func opened(_ node: NodeID, _ file: ObjectFile?, writes: Bool) -> ObjectFile? {
    var open = nodes[node] ?? Node()
    open.file = open.file ?? file
    open.openCount += 1
    if writes { open.writerCount += 1 }
    nodes[node] = open
    return open.file
  }

  /// One of those who have a node open has closed it.
  ///
  /// - Returns: the bytes that it read, and whether it was the last.
  mutating func closed(_ node: NodeID, writes: Bool) -> (file: ObjectFile?, isLast: Bool) {
    guard var open = nodes[node] else { return (nil, true) }
    open.openCount -= 1
    if writes { open.writerCount -= 1 }
    nodes[node] = open.openCount > 0 ? open : nil
    return (open.file, open.openCount == 0)
  }

  /// What a node's readers read.
  func file(of node: NodeID) -> ObjectFile? { nodes[node]?.file }

  /// The readers of an open node read something else from now on: the same bytes under another key.
  mutating func replaceFile(of node: NodeID, by file: ObjectFile?) {
    if nodes[node]?.file != nil { nodes[node]?.file = file }
  }

  /// True if somebody has the node open.
  func isOpen(_ node: NodeID) -> Bool { nodes[node] != nil }

  /// True if somebody has the node open and may write.
  func hasWriter(_ node: NodeID) -> Bool { nodes[node].map { $0.writerCount > 0 } ?? false }
}

extension MountedBucket {
  /// Makes a handle of a node's file to read it; an empty one has no bytes.
  func addFileHandle(_ entry: Entry, node: NodeID) -> (HandleID, ObjectFile?) {
    fetchSiblings(of: entry, node: node)
    while true {
      // What was being written when it was looked at may have been stored since, and is no empty file then.
      let newest = tables.withLock { $0.inodes.node(node)?.entry } ?? entry
      let file = newest.size > 0 ? objectFile(of: newest, node: node) : nil
      let shared = tables.withLock { tables -> ObjectFile?? in
        if let now = tables.inodes.node(node)?.entry, now.version != newest.version { return nil }
        return tables.open.opened(node, file, writes: false)
      }
      if let shared { return (addHandle(.file(OpenFile(node: node))), shared) }
    }
  }

  /// The bytes of an object's version.
  func objectFile(of entry: Entry, node: NodeID) -> ObjectFile {
    let observer = OpenFileObserver(node, path: path(of: entry.key), bucket: self)
    return ObjectFile(entry.version, environment: files, observer: observer)
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
