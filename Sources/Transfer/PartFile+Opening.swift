package import Core
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

  /// The ranges that a part file's checkpoint lists, without opening it for use; none if there is no
  /// checkpoint or it is not that of `identity`.
  package static func recorded(at paths: Paths, identity: CheckpointIdentity) -> ByteRangeSet {
    guard let path = paths.checkpoint, let text = try? CheckpointFile.text(at: path),
      let dataSize = try? dataSize(at: paths.data),
      let checkpoint = try? parse(text, identity, dataSize: dataSize)
    else { return ByteRangeSet() }
    return checkpoint.recorded
  }

  /// Makes what is on disk of one version that of another which has the same bytes.
  ///
  /// A crash on the way loses it at most: a checkpoint without data, or data without one, is none of either.
  ///
  /// - Parameters:
  ///   - paths: where it lies; nobody has it open.
  ///   - identity: what it is.
  ///   - target: where it is to lie; the directory is there and has neither file.
  ///   - moved: what it is then.
  ///   - faults: lets steps of the disk fail in tests.
  /// - Throws: `OpenError` if it is damaged, something else, or can't be moved; it is where it was then.
  package static func move(
    _ paths: Paths,
    _ identity: CheckpointIdentity,
    to target: Paths,
    as moved: CheckpointIdentity,
    faults: DiskFaults? = nil
  ) throws(OpenError) {
    guard let old = paths.checkpoint, let new = target.checkpoint else {
      throw .damaged("it has no checkpoint")
    }
    do {
      guard let text = try CheckpointFile.text(at: old) else {
        throw OpenError.damaged("it has no checkpoint")
      }
      let data = try openOwn(paths.data, [.read])
      var checkpoint = try parse(text, identity, dataSize: data.size())
      checkpoint.identity = moved
      _ = try CheckpointFile.replace(new, with: checkpoint.text, faults)
      do {
        try faults?(.createData)
        try Disk.rename(paths.data, to: target.data)
      } catch {
        try? Disk.removeFile(new)
        throw error
      }
      try Disk.removeFile(old)
    } catch let failure as DiskFailure {
      throw .disk(failure)
    } catch let error as OpenError {
      throw error
    } catch {
      throw .damaged("\(error)")
    }
  }

  /// A checkpoint's head is no longer than this: 1,024 bytes of key and as many of tag, store and
  /// version id each, all of them spelled `%NN`.
  private static let headSizeMax = 16 << 10

  /// What a checkpoint says that its bytes belong to, read from its head alone; nil if it says nothing.
  package static func identity(at path: String) -> CheckpointIdentity? {
    guard let file = try? openOwn(path, [.read]),
      let head = try? file.bytes(ByteRange(0, headSizeMax))
    else { return nil }
    return try? Checkpoint(parsing: head, dataSize: 0).identity
  }

  /// Returns true if a part file's checkpoint is of another version of the format.
  package static func hasUnknownFormat(_ paths: Paths) -> Bool {
    guard let path = paths.checkpoint, let text = try? CheckpointFile.text(at: path) else {
      return false
    }
    do throws(Checkpoint.ParseError) {
      _ = try Checkpoint(parsing: text, dataSize: 0)
    } catch {
      if case .unknownVersion = error { return true }
    }
    return false
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
      case .otherKind(let kind):
        throw .damaged("it is the checkpoint of another kind of task (\(kind))")
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
  ///
  /// It is looked at before, because opening a pipe may wait and opening a device may do things, and
  /// after, because the name may lead elsewhere by then.
  static func openOwn(
    _ path: String,
    _ flags: FileDescriptor.Flags
  ) throws(OpenError) -> FileDescriptor {
    if flags.isSuperset(of: [.create, .exclusive]) {
      // It is made by this very call, or there is something and the call fails.
      return try CheckpointFile.onDisk { () throws(DiskFailure) in
        try FileDescriptor.open(path, flags.union(.noFollow), permissions: 0o600)
      }
    }
    let before = try CheckpointFile.onDisk { () throws(DiskFailure) in try Disk.status(of: path) }
    if let flaw = before?.flaw { throw .notPlain(path: path, reason: flaw) }
    let (file, status) = try CheckpointFile.onDisk { () throws(DiskFailure) in
      let file = try FileDescriptor.open(
        path,
        flags.union([.noFollow, .nonBlocking]),
        permissions: 0o600
      )
      return (file, try file.status())
    }
    if let flaw = status.flaw { throw .notPlain(path: path, reason: flaw) }
    return file
  }
}

extension Disk.Status {
  /// Why this can't be relied on as a file of this user's alone; nil if it can.
  fileprivate var flaw: String? {
    switch kind {
    case .symbolicLink: "it is a symbolic link"
    case .directory: "it is a directory"
    case .other: "it is a pipe, a socket or a device"
    case .file where userID != Disk.userID: "it belongs to another user (uid \(userID))"
    // Whoever has the other name may change the bytes after they were verified.
    case .file where linkCount > 1: "it has another name (a hard link)"
    case .file: nil
    }
  }
}
