package import Core
package import Support

/// A draft on the disk: the bytes that were written into it, at their own offsets.
///
/// Bytes that are being sent must not change. What is written meanwhile goes into a data file with the
/// next number, so that no writer waits for the store.
package final class StagedDraft: Sendable {
  /// Its name in the staging area.
  package let id: String
  /// Its directory.
  package let path: String
  private let files = Lock([Int: FileDescriptor]())

  init(id: String, at path: String) {
    self.id = id
    self.path = path
  }

  /// Where the checkpoint of its upload lies.
  package var checkpointPath: String { path + "/upload" }

  /// Where a data file lies.
  package func dataPath(_ number: Int) -> String { path + "/data.\(number)" }

  /// The data file of this number, made if it isn't there; open as long as the draft lives.
  package func file(_ number: Int) throws(DiskFailure) -> FileDescriptor {
    if let file = files.withLock({ $0[number] }) { return file }
    let opened = try FileDescriptor.open(dataPath(number), [.readWrite, .create, .noFollow])
    return files.withLock { files in
      // Of two that open it at once, the later one's is closed.
      let file = files[number] ?? opened
      files[number] = file
      return file
    }
  }

  /// Removes the draft from the disk; what is open stays readable.
  package func remove() throws(DiskFailure) {
    try Disk.removeTree(path)
  }
}
