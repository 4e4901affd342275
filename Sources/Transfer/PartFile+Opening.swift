internal import Core
internal import Support

extension PartFile {
  /// How much one line of the checkpoint covers at most.
  ///
  /// 1 MiB: checking that much takes under a millisecond from memory. Of a larger object as much more as
  /// keeps the checkpoint at 65,536 lines.
  static func unitSize(forObjectOf size: Int) -> Int {
    var unitSize = 1 << 20
    while size / unitSize > 65_536 { unitSize *= 2 }
    return unitSize
  }

  /// Bytes that a part file's checkpoint lists, without opening it for use; 0 if there is none or it is not
  /// that of `identity`.
  package static func recordedByteCount(at paths: Paths, identity: CheckpointIdentity) -> Int {
    guard let path = paths.checkpoint, let text = try? checkpointText(at: path),
      let dataSize = try? dataSize(at: paths.data),
      let checkpoint = try? parse(text, identity, dataSize: dataSize)
    else { return 0 }
    return checkpoint.recorded.byteCount
  }

  /// Returns true if a part file's checkpoint is of another version of the format.
  package static func hasUnknownFormat(_ paths: Paths) -> Bool {
    guard let path = paths.checkpoint, let text = try? checkpointText(at: path) else {
      return false
    }
    do throws(Checkpoint.ParseError) {
      _ = try Checkpoint(parsing: text, dataSize: 0)
    } catch {
      if case .unknownVersion = error { return true }
    }
    return false
  }

  /// The text of a checkpoint; nil if there is none.
  static func checkpointText(at path: String) throws -> [UInt8]? {
    guard let status = try Disk.status(of: path) else { return nil }
    guard status.kind == .file else { throw OpenError.damaged("\(path) is not a regular file") }
    let file = try openOwn(path, [.read])
    let size = try file.size()
    guard size <= checkpointSizeMax else { throw OpenError.damaged("it is too large") }
    return try file.bytes(ByteRange(0, size))
  }

  /// Reads a text that must belong to `identity`.
  static func parse(
    _ text: [UInt8],
    _ identity: CheckpointIdentity,
    dataSize: Int
  ) throws(OpenError) -> Checkpoint {
    let checkpoint: Checkpoint
    do throws(Checkpoint.ParseError) {
      checkpoint = try Checkpoint(parsing: text, dataSize: dataSize)
    } catch {
      switch error {
      case .unknownVersion(let version): throw .unknownFormat(version)
      case .damaged(let reason): throw .damaged(reason)
      }
    }
    guard checkpoint.identity.isSameContent(as: identity) else {
      throw .foreign(checkpoint.identity)
    }
    return checkpoint
  }

  /// The size of the data; 0 if there is none.
  static func dataSize(at path: String) throws(DiskFailure) -> Int {
    try Disk.status(of: path)?.size ?? 0
  }

  /// Opens a regular file that belongs to this user and has no other name.
  static func openOwn(
    _ path: String,
    _ flags: FileDescriptor.Flags
  ) throws(DiskFailure) -> FileDescriptor {
    let file = try FileDescriptor.open(path, flags.union(.noFollow), permissions: 0o600)
    let status = try file.status()
    guard status.kind == .file, status.userID == Disk.userID else {
      throw DiskFailure(
        // EPERM.
        errno: 1,
        action: "use \(path)",
        reason: "it is not a regular file of this user"
      )
    }
    return file
  }

  /// Writes a whole text beside `path` and gives it the name.
  ///
  /// - Returns: the file, open for more.
  static func replace(
    _ path: String,
    with text: String,
    _ faults: DiskFaults? = nil
  ) throws(DiskFailure) -> FileDescriptor {
    try faults?(.writeCheckpoint)
    let temporary = path + ".new"
    try Disk.removeFile(temporary)
    let file = try openOwn(temporary, [.readWrite, .append, .create, .exclusive])
    let bytes = Array(text.utf8)
    try bytes.span.bytes.withUnsafeBytes { (buffer) throws(DiskFailure) in
      try file.write(buffer, at: 0)
    }
    try Disk.rename(temporary, to: path)
    return file
  }
}
