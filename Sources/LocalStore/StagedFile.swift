internal import Core
internal import Crypto
internal import Glibc
internal import Support

/// A file that is written under a name of its own until it is moved to where it belongs; one that
/// never is goes with its owner.
///
/// Its writer holds a lock on it, by which it is told from what a killed process left.
final class StagedFile {
  let descriptor: FileDescriptor
  private let workspace: Workspace
  private let name: FileName
  private var isMoved = false
  private var size = 0
  /// CRC-64/XZ of what was added; nil once bytes went from file to file inside the kernel, where
  /// they are not seen.
  private(set) var checksum: UInt64? = 0

  /// One step of a copy: large enough that the call doesn't matter, small enough to be given up.
  private static let stepSize = 8 << 20

  /// Makes an empty file.
  init(in workspace: Workspace) throws(DiskFailure) {
    self.workspace = workspace
    while true {
      let name = Workspace.makeName()
      let descriptor = try workspace.temporary.open(
        name,
        [.readWrite, .create, .exclusive, .noFollow],
        permissions: 0o666
      )
      // Whoever clears leftovers may have seen it before it was locked, and removed it.
      if try descriptor.tryLock(), try FileFacts(of: descriptor).linkCount > 0 {
        self.name = name
        self.descriptor = descriptor
        return
      }
    }
  }

  deinit {
    if !isMoved { unlinkat(workspace.temporary.number, name.cString, 0) }
  }

  /// Adds a request's body.
  func append(_ body: BodySource, _ call: LocalCall) throws(StoreError) {
    switch body {
    case .empty: break
    case .bytes(let bytes):
      try call.pass(bytes.count)
      try call.attempt { () throws(DiskFailure) in
        var failure: DiskFailure?
        bytes.withUnsafeBytes { buffer in
          do throws(DiskFailure) {
            try descriptor.write(buffer, at: size)
          } catch {
            failure = error
          }
        }
        if let failure { throw failure }
      }
      size += bytes.count
      if let before = checksum {
        var crc = CRC64(before)
        crc.update(bytes)
        checksum = crc.value
      }
    case .file(let source, let range):
      try append(range, of: source, isPaced: true, call)
    }
  }

  /// Adds a range of an open file, inside the kernel where it can; on file systems that share
  /// blocks no byte moves.
  ///
  /// - Parameters:
  ///   - range: which bytes of the file.
  ///   - source: the file's descriptor.
  ///   - isPaced: the bytes come from outside the store, and count for the limit of its rate.
  ///   - call: the call that this is a part of; its deadline and its cancellation end the copying.
  /// - Throws: `StoreError` if the disk fails, or the call has ended.
  func append(
    _ range: ByteRange,
    of source: Int32,
    isPaced: Bool = false,
    _ call: LocalCall
  ) throws(StoreError) {
    if !range.isEmpty { checksum = nil }
    var offset = range.lowerBound
    var copiesInKernel = true
    while offset < range.upperBound {
      try call.check()
      let step = isPaced ? call.stepSize(Self.stepSize) : Self.stepSize
      let count = min(step, range.upperBound - offset)
      if isPaced { try call.pass(count) }
      let done: Int
      do throws(DiskFailure) {
        done =
          copiesInKernel
          ? try descriptor.copyRange(from: source, at: offset, to: size, count: count)
          : try copyThroughMemory(from: source, at: offset, count: count)
      } catch {
        // Two file systems, or one that doesn't know the call: the kernel has reasons by the dozen.
        let isDiskFull = [ENOSPC, EDQUOT, EFBIG, EIO].contains(error.errno)
        guard copiesInKernel, !isDiskFull else { throw call.failure(error) }
        copiesInKernel = false
        continue
      }
      guard done > 0 else {
        // Some file systems answer 0 to the kernel's copy although there is more.
        guard copiesInKernel else { throw call.error(.invalidRequest, "the body is too short") }
        copiesInKernel = false
        continue
      }
      offset += done
      size += done
    }
  }

  private func copyThroughMemory(
    from source: Int32,
    at offset: Int,
    count: Int
  ) throws(DiskFailure) -> Int {
    var buffer = [UInt8](repeating: 0, count: min(count, 1 << 20))
    let count = try retrying("read descriptor \(source)") {
      pread(source, &buffer, buffer.count, off_t(offset))
    }
    var failure: DiskFailure?
    buffer.withUnsafeBytes { bytes in
      do throws(DiskFailure) {
        try descriptor.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)), at: size)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return count
  }

  /// Gives the file its facts and, if asked, waits until all of it is on the disk.
  func finish(_ attributes: ObjectAttributes, synchronizes: Bool) throws(DiskFailure) {
    try attributes.set(on: descriptor)
    // The kernel stamps with its timer's tick; two versions made within one must differ.
    let now = SystemClock().wallTime
    let time = timespec(
      tv_sec: now.seconds,
      tv_nsec: Int(now.nanoseconds - Int64(now.seconds) * 1_000_000_000)
    )
    try retrying("set times") { futimens(descriptor.number, [time, time]) }
    if synchronizes { try retrying("sync descriptor") { fsync(descriptor.number) } }
  }

  /// Moves the file to where it belongs, over what is there if `replaces`.
  ///
  /// - Throws: `DiskFailure` with `EEXIST` if something is there and it doesn't replace.
  func move(
    to directory: FileDescriptor,
    as newName: FileName,
    replaces: Bool
  ) throws(DiskFailure) {
    if replaces {
      try retrying("rename to \(newName)") {
        renameat(workspace.temporary.number, name.cString, directory.number, newName.cString)
      }
    } else {
      try workspace.temporary.moveExclusively(name, to: directory, as: newName)
    }
    isMoved = true
  }
}
