package import Core
internal import Support

/// A checkpoint's file: its head written whole and renamed into place, then lines appended, one write
/// each.
///
/// A crash can tear the last line and nothing else. Nothing is synchronized to the disk on the way.
package final class CheckpointFile: Sendable {
  /// Larger files are not ours: 65,536 units of a download make 4 MiB.
  package static let sizeMax = 64 << 20
  /// EEXIST.
  private static let existsErrno: Int32 = 17

  /// Its path.
  package let path: String
  private let file: FileDescriptor
  private let isLineCut = Lock(false)
  private let faults: PartFile.DiskFaults?

  private init(_ path: String, _ file: FileDescriptor, _ faults: PartFile.DiskFaults?) {
    self.path = path
    self.file = file
    self.faults = faults
  }

  /// Opens a checkpoint that is there, to append lines.
  package static func open(
    _ path: String,
    _ faults: PartFile.DiskFaults? = nil
  ) throws(PartFile.OpenError) -> CheckpointFile {
    CheckpointFile(path, try PartFile.openOwn(path, [.readWrite, .append]), faults)
  }

  /// Writes a whole text beside `path` and gives it the name.
  ///
  /// - Parameters:
  ///   - path: its path.
  ///   - text: the head, and the lines there are.
  ///   - isLasting: true to wait until it is on the disk: for what the store keeps and nobody else knows.
  ///   - faults: makes steps fail in tests.
  /// - Returns: the file, open for more lines.
  /// - Throws: `PartFile.OpenError`; what was at `path` is as it was then.
  package static func replace(
    _ path: String,
    with text: String,
    isLasting: Bool = false,
    _ faults: PartFile.DiskFaults? = nil
  ) throws(PartFile.OpenError) -> CheckpointFile {
    let temporary = CompanionPath.path(path, ".new", longestSuffix: ".lock")
    let flags: FileDescriptor.Flags = [.readWrite, .append, .create, .exclusive]
    let file: FileDescriptor
    do throws(PartFile.OpenError) {
      try onDisk { () throws(DiskFailure) in try faults?(.writeCheckpoint) }
      file = try PartFile.openOwn(temporary, flags)
    } catch {
      guard case .disk(let failure) = error, failure.errno == existsErrno else { throw error }
      // Of whatever it may be only the name goes; a directory is no leftover of ours.
      let status = try onDisk { () throws(DiskFailure) in try Disk.status(of: temporary) }
      if let status, status.kind == .directory {
        throw .notPlain(path: temporary, reason: "it is a directory")
      }
      try onDisk { () throws(DiskFailure) in try Disk.removeFile(temporary) }
      file = try PartFile.openOwn(temporary, flags)
    }
    do throws(DiskFailure) {
      let bytes = Array(text.utf8)
      try bytes.span.bytes.withUnsafeBytes { (buffer) throws(DiskFailure) in
        try file.write(buffer, at: 0)
      }
      if isLasting { try file.synchronizeAll() }
      try Disk.rename(temporary, to: path)
    } catch {
      try? Disk.removeFile(temporary)
      throw .disk(error)
    }
    if isLasting { try? Disk.synchronizeDirectory(FileDownloadRequest.directory(of: path)) }
    return CheckpointFile(path, file, faults)
  }

  /// Appends a line with one write: a crash leaves all of it, a part of it, or nothing.
  package func append(_ line: String) throws(DiskFailure) {
    // A line that a full disk cut short must not swallow the next one.
    let isCut = isLineCut.withLock { isCut in
      defer { isCut = false }
      return isCut
    }
    do throws(DiskFailure) {
      try faults?(.appendCheckpoint)
      let bytes = Array((isCut ? "\n" + line : line).utf8)
      try bytes.span.bytes.withUnsafeBytes { (buffer) throws(DiskFailure) in
        try file.write(buffer)
      }
    } catch {
      isLineCut.withLock { $0 = true }
      throw error
    }
  }

  /// Takes back what a failed write has left behind the first `size` bytes.
  package func truncate(to size: Int) throws(DiskFailure) {
    try file.truncate(to: size)
    isLineCut.withLock { $0 = false }
  }

  /// Its bytes.
  package func size() throws(DiskFailure) -> Int { try file.size() }

  /// Waits until its lines are on the disk.
  package func synchronize() throws(DiskFailure) { try file.synchronize() }

  /// The text of a checkpoint; nil if there is none.
  package static func text(at path: String, sizeMax: Int = sizeMax) throws -> [UInt8]? {
    guard try Disk.status(of: path) != nil else { return nil }
    let file = try PartFile.openOwn(path, [.read])
    let size = try file.size()
    guard size <= sizeMax else { throw PartFile.OpenError.damaged("it is too large") }
    return try file.bytes(ByteRange(0, size))
  }

  /// Makes a failure of the disk into one of opening.
  static func onDisk<Answer>(
    _ body: () throws(DiskFailure) -> Answer
  ) throws(PartFile.OpenError) -> Answer {
    do throws(DiskFailure) {
      return try body()
    } catch {
      throw .disk(error)
    }
  }
}
