internal import Core
internal import Support

/// A file that is uploaded, held to what it was when the task began.
///
/// A file has no versions; its number, size and modification time stand in for a tag. What a program
/// changes without changing one of these goes unnoticed.
struct SourceFile: Sendable {
  let path: String
  /// What its bytes belong to; the tag is made of the file's facts.
  let version: ObjectVersion
  private let file: FileDescriptor

  /// Opens the regular file at `path`.
  init(_ path: String) throws(TransferError) {
    do throws(DiskFailure) {
      // Opening a pipe would wait for its other end.
      file = try FileDescriptor.open(path, [.read, .nonBlocking])
      let status = try file.status()
      guard status.kind == .file else {
        throw DiskFailure(
          errno: 22,  // EINVAL
          action: "upload \(path)",
          reason: status.kind == .directory
            ? "it is a directory" : "it is not a regular file; '-' uploads standard input"
        )
      }
      self.path = path
      version = Self.version(of: status, path)
    } catch {
      throw .disk(error)
    }
    try checkEnd()
  }

  /// Throws if the file has more bytes than its size tells.
  ///
  /// Files of /proc and the like have a size of 0 and bytes all the same: what they hold is known only
  /// when it has been read, and an upload of so many bytes as the size says would lose all of them.
  private func checkEnd() throws(TransferError) {
    let hasMore: Bool
    do throws(DiskFailure) {
      hasMore = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) {
        buffer throws(DiskFailure) in try file.read(into: buffer, at: size) > 0
      }
    } catch {
      throw .disk(error)
    }
    guard hasMore else { return }
    // A file that grows is one that changes.
    try check()
    throw .disk(sizeIsUnknown)
  }

  private var sizeIsUnknown: DiskFailure {
    DiskFailure(
      errno: 22,  // EINVAL
      action: "upload \(path)",
      reason: "its size of \(size) bytes is not that of what it holds; '-' uploads standard input"
    )
  }

  /// The descriptor, for bodies of requests; open as long as this value is there.
  var descriptor: Int32 { file.number }

  /// The file's bytes.
  var size: Int { version.size }

  /// Throws if the file is not what it was.
  ///
  /// Both the open file and what has its name now are looked at: an editor replaces, a program writes.
  func check() throws(TransferError) {
    let open: Disk.Status
    let named: Disk.Status?
    do throws(DiskFailure) {
      open = try file.status()
      named = try FileDescriptor.open(path, [.read, .nonBlocking]).status()
    } catch {
      // ENOENT: the name is gone; the open file alone tells then.
      guard error.errno == 2 else { throw .disk(error) }
      throw .sourceChanged(was: version, isNow: nil)
    }
    for status in [open, named].compactMap({ $0 }) {
      let now = Self.version(of: status, path)
      guard now == version else { throw .sourceChanged(was: version, isNow: now) }
    }
  }

  /// Reads a range and returns its checksums.
  ///
  /// The second reading of bytes that are sent anyway: what the store says it has can only be compared
  /// with what is here.
  func checksums(
    of range: ByteRange,
    _ kinds: ChecksumKinds
  ) throws(TransferError) -> PartChecksums {
    let sums: PartChecksums?
    do throws(DiskFailure) {
      sums = try PartChecksums.of(range, in: file, kinds)
    } catch {
      throw .disk(error)
    }
    guard let sums else { throw .sourceChanged(was: version, isNow: nil) }
    return sums
  }

  /// Reads all of it, if it is small.
  func bytes() throws(TransferError) -> [UInt8] {
    let bytes: [UInt8]
    do throws(DiskFailure) { bytes = try file.bytes(ByteRange(0, size)) } catch {
      throw .disk(error)
    }
    guard bytes.count == size else {
      try check()
      throw .disk(sizeIsUnknown)
    }
    return bytes
  }

  private static func version(of status: Disk.Status, _ path: String) -> ObjectVersion {
    // The device's number may be another after a restart; the file's own number stays.
    let number = status.identity.last ?? 0
    return ObjectVersion(
      key: ObjectKey(path),
      etag: ETag("\(number)-\(status.size)-\(status.modified.nanoseconds)"),
      size: status.size,
      lastModified: status.modified
    )
  }
}
