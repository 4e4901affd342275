package import Core
package import Support
internal import Transfer

/// A draft on the disk: the bytes that were written into it, at their own offsets, and the journal that says
/// what they are.
///
/// Bytes that are being sent must not change. What is written meanwhile goes into a data file with the
/// next number, so that no writer waits for the store. Bytes are written before the journal says so.
package final class StagedDraft: Sendable {
  /// Its name in the staging area.
  package let id: String
  /// Its directory.
  package let path: String
  private let files = Lock([Int: FileDescriptor]())
  private let journal: Lock<Journal>
  private let faults: PartFile.DiskFaults?

  init(id: String, at path: String, journal: CheckpointFile, faults: PartFile.DiskFaults?) {
    self.id = id
    self.path = path
    self.journal = Lock(Journal(file: journal))
    self.faults = faults
  }

  private struct Journal: Sendable {
    var file: CheckpointFile
    /// Where the last line that was written whole ends, if a later one wasn't.
    var cutAt: Int?
  }

  /// Where the checkpoint of its upload lies.
  package var checkpointPath: String { path + "/upload" }

  /// A larger journal is not ours: one that grows is begun anew.
  static let journalSizeMax = 1 << 30

  /// Where the journal of the draft in the directory `path` lies.
  static func journalPath(_ path: String) -> String { path + "/journal" }

  /// The data file of this number, made if it isn't there; open as long as the draft lives.
  package func file(_ number: Int) throws(DiskFailure) -> FileDescriptor {
    if let file = files.withLock({ $0[number] }) { return file }
    try faults?(.createData)
    let opened = try FileDescriptor.open(
      path + "/data.\(number)",
      [.readWrite, .create, .noFollow, .nonBlocking]
    )
    return files.withLock { files in
      // Of two that open it at once, the later one's is closed.
      let file = files[number] ?? opened
      files[number] = file
      return file
    }
  }

  /// Writes bytes into a data file.
  package func write(
    _ bytes: UnsafeRawBufferPointer,
    at offset: Int,
    file number: Int
  ) throws(DiskFailure) {
    let file = try file(number)
    try faults?(.writeData)
    try file.write(bytes, at: offset)
  }

  /// Appends changes to the journal, whose bytes are written; one caller at a time.
  ///
  /// - Returns: the journal's bytes.
  /// - Throws: `DiskFailure`; then none of them is in the journal.
  package func append(_ changes: [DraftChange]) throws(DiskFailure) -> Int {
    let lines = changes.reduce(into: "") { $0 += $1.line }
    let journal = self.journal.withLock { $0 }
    // A piece of a line in the middle would make the whole journal one that can't be relied on.
    if let size = journal.cutAt { try journal.file.truncate(to: size) }
    let size = try journal.file.size()
    do throws(DiskFailure) {
      try journal.file.append(lines)
      if journal.cutAt != nil { self.journal.withLock { $0.cutAt = nil } }
      return size + lines.utf8.count
    } catch {
      self.journal.withLock { $0.cutAt = size }
      throw error
    }
  }

  /// Begins the journal anew with what says the same as all that went before.
  ///
  /// - Returns: the journal's bytes.
  package func restart(_ changes: [DraftChange]) throws(DiskFailure) -> Int {
    do throws(PartFile.OpenError) {
      let text = DraftJournal(changes).text
      let new = try CheckpointFile.replace(Self.journalPath(path), with: text, faults)
      journal.withLock { $0 = Journal(file: new) }
      return text.utf8.count
    } catch {
      throw DiskFailure(error, path)
    }
  }

  /// Waits until everything that was written and journaled is on the disk.
  package func synchronize() throws(DiskFailure) {
    for file in files.withLock({ Array($0.values) }) {
      try faults?(.writeData)
      try file.synchronize()
    }
    try faults?(.appendCheckpoint)
    try journal.withLock { $0.file }.synchronize()
    try Disk.synchronizeDirectory(path)
    try Disk.synchronizeDirectory(StagingArea.parent(of: path))
  }

  /// Removes the draft from the disk; what is open stays readable.
  package func remove() throws(DiskFailure) {
    try StagingArea.remove(path)
  }
}

extension DiskFailure {
  /// What it means that a journal can't be opened or written.
  init(_ error: PartFile.OpenError, _ path: String) {
    switch error {
    case .disk(let failure): self = failure
    case .notPlain(let path, let reason):
      // EPERM.
      self.init(errno: 1, action: "use \(path)", reason: reason)
    case .unknownFormat, .damaged, .foreign:
      // EIO.
      self.init(errno: 5, action: "use the journal in \(path)", reason: "\(error)")
    }
  }
}
