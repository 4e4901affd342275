package import Core
internal import Crypto
package import Support

/// The bytes of one object version on disk, some of them, and the checkpoint that says which.
///
/// Bytes lie in the data file at their own offsets; what hasn't arrived is a hole. A finished range
/// gets its line in the checkpoint after its bytes are written. Nothing is synchronized to the disk on
/// the way: what a power loss takes shows by its checksum, and is fetched again.
///
/// A loaded range is *recorded*: it must be checked with `isGood` before its bytes are served.
package final class PartFile: Sendable {
  /// Why a part file can't be used.
  package enum OpenError: Error, Hashable, Sendable {
    /// The disk failed.
    case disk(DiskFailure)
    /// The checkpoint has another format; it is left alone.
    case unknownFormat(String)
    /// The checkpoint is damaged, or not one.
    case damaged(String)
    /// A name leads to something that is not a file of this user's alone; it was left as it is.
    case notPlain(path: String, reason: String)
    /// The checkpoint belongs to something else.
    case foreign(CheckpointIdentity)
  }

  /// A step at which a test lets the disk fail.
  package enum DiskStep: Hashable, Sendable {
    case createData
    case writeData
    case readData
    case writeCheckpoint
    case appendCheckpoint
  }

  /// Throws to make a step fail.
  package typealias DiskFaults = @Sendable (DiskStep) throws(DiskFailure) -> Void

  /// Where a part file lies.
  package struct Paths: Hashable, Sendable {
    /// The data.
    package var data: String
    /// The checkpoint; nil keeps none.
    package var checkpoint: String?

    /// Creates paths.
    package init(data: String, checkpoint: String?) {
      self.data = data
      self.checkpoint = checkpoint
    }
  }

  /// What `isGood` reads at a time.
  private static let bufferSize = 256 << 10

  /// Where it lies.
  package let paths: Paths
  /// How much one line covers at most, and so how much the first read after a restart verifies.
  package let unitSize: Int
  /// What the checkpoint listed when it was opened.
  package let loaded: ByteRangeSet

  private let data: FileDescriptor
  private let lines: CheckpointFile?
  private let checkpoint: Lock<Checkpoint>
  private let time: any TimeSource
  private let faults: DiskFaults?

  private init(
    _ paths: Paths,
    checkpoint: Checkpoint,
    unitSize: Int,
    data: FileDescriptor,
    lines: CheckpointFile?,
    time: any TimeSource,
    faults: DiskFaults?
  ) {
    self.paths = paths
    self.unitSize = unitSize
    self.data = data
    self.lines = lines
    self.time = time
    self.faults = faults
    loaded = checkpoint.recorded
    self.checkpoint = Lock(checkpoint)
  }

  /// Opens a part file, making an empty one if there is none.
  ///
  /// Data without a checkpoint is emptied: nobody knows what it is.
  package static func open(
    _ paths: Paths,
    identity: CheckpointIdentity,
    time: any TimeSource,
    faults: DiskFaults? = nil
  ) throws(OpenError) -> PartFile {
    let unitSize = unitSize(forObjectOf: identity.version.size)
    do {
      try faults?(.createData)
      let text = try paths.checkpoint.flatMap { try CheckpointFile.text(at: $0) }
      // Before the data is touched: what isn't ours is left as it is.
      let old = try text.map { try parse($0, identity, dataSize: dataSize(at: paths.data)) }
      let data = try openOwn(paths.data, [.readWrite, .create])
      if old == nil { try data.truncate(to: 0) }
      let merged = (old ?? Checkpoint(identity: identity)).merged(unitSizeMax: unitSize)
      let lines = try paths.checkpoint.map { path in
        let isTidy = old.map { !$0.isTorn && $0.lineCount <= 2 * merged.lineCount + 64 } ?? false
        return isTidy
          ? try CheckpointFile.open(path, faults)
          : try CheckpointFile.replace(path, with: merged.text, faults)
      }
      return PartFile(
        paths,
        checkpoint: merged,
        unitSize: unitSize,
        data: data,
        lines: lines,
        time: time,
        faults: faults
      )
    } catch let failure as DiskFailure {
      throw .disk(failure)
    } catch let error as OpenError {
      throw error
    } catch {
      throw .damaged("\(error)")
    }
  }

  /// Makes an empty part file in a directory that was made just now, in which nothing can be.
  ///
  /// - Throws: `OpenError.disk` with `EEXIST` if there is something.
  package static func make(
    _ paths: Paths,
    identity: CheckpointIdentity,
    time: any TimeSource,
    faults: DiskFaults? = nil
  ) throws(OpenError) -> PartFile {
    let checkpoint = Checkpoint(identity: identity)
    do throws(DiskFailure) { try faults?(.createData) } catch { throw .disk(error) }
    let data = try openOwn(paths.data, [.readWrite, .create, .exclusive])
    var lines: CheckpointFile?
    if let path = paths.checkpoint {
      lines = try CheckpointFile.replace(path, with: checkpoint.text, faults)
    }
    return PartFile(
      paths,
      checkpoint: checkpoint,
      unitSize: unitSize(forObjectOf: identity.version.size),
      data: data,
      lines: lines,
      time: time,
      faults: faults
    )
  }

  /// Returns true if the data's name still leads to the file that is filled.
  package func isInPlace() throws(DiskFailure) -> Bool {
    try Disk.status(of: paths.data)?.identity == data.status().identity
  }

  /// The data file, for reading at the object's own offsets.
  package var descriptor: Int32 { data.number }

  /// What the file system says of the data.
  package func dataStatus() throws(DiskFailure) -> Disk.Status { try data.status() }

  /// What the bytes belong to.
  package var identity: CheckpointIdentity { checkpoint.withLock { $0.identity } }

  /// The recorded units now, loaded or finished in this process.
  package var record: Checkpoint { checkpoint.withLock { $0 } }

  /// Bytes that the data takes on the disk.
  package func allocatedByteCount() throws(DiskFailure) -> Int {
    try data.status().allocatedByteCount
  }

  /// Writes bytes of the object at `offset`.
  package func write(_ bytes: RawSpan, at offset: Int) throws(DiskFailure) {
    try named("write") { () throws(DiskFailure) in
      try faults?(.writeData)
      try bytes.withUnsafeBytes { (buffer) throws(DiskFailure) in
        try data.write(buffer, at: offset)
      }
    }
  }

  /// Notes that a range has arrived whole; its bytes have been written.
  package func finished(_ range: ByteRange, crc: UInt64) throws(DiskFailure) {
    let unit = Checkpoint.Unit(range: range, crc: crc, time: time.wallTime)
    try lines?.append(unit.line)
    checkpoint.withLock { $0.insert(unit) }
  }

  /// The recorded units that overlap `range`.
  package func units(overlapping range: ByteRange) -> [Checkpoint.Unit] {
    checkpoint.withLock { Array($0.units(overlapping: range)) }
  }

  /// Drops the record of a unit whose bytes were wrong.
  ///
  /// Its line stays in the file, where it can do no harm: the checksum is wrong at the next start too.
  package func forget(_ unit: Checkpoint.Unit) {
    checkpoint.withLock { $0.remove(overlapping: unit.range) }
  }

  /// Reads a unit's bytes and compares their checksum.
  ///
  /// May take some milliseconds.
  package func isGood(_ unit: Checkpoint.Unit) throws(DiskFailure) -> Bool {
    try named("read") { () throws(DiskFailure) in
      try faults?(.readData)
      var crc = CRC64()
      let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: min(Self.bufferSize, unit.range.count),
        alignment: 4096
      )
      defer { buffer.deallocate() }
      var offset = unit.range.lowerBound
      while offset < unit.range.upperBound {
        let piece = UnsafeMutableRawBufferPointer(
          rebasing: buffer[..<min(buffer.count, unit.range.upperBound - offset)]
        )
        let count = try data.read(into: piece, at: offset)
        guard count == piece.count else { return false }
        crc.update(UnsafeRawBufferPointer(piece).bytes)
        offset += count
      }
      return crc.value == unit.crc
    }
  }

  /// Asks the kernel to write a range to the disk soon; may block while the disk is busy.
  package func startWriteback(of range: ByteRange) {
    data.startWriteback(of: range)
  }

  /// Waits until every byte is on the disk.
  package func synchronize() throws(DiskFailure) {
    try named("sync") { () throws(DiskFailure) in try data.synchronizeAll() }
  }

  /// Sets the data's size; for an object whose last bytes may be none.
  package func truncate(to size: Int) throws(DiskFailure) {
    try named("truncate") { () throws(DiskFailure) in try data.truncate(to: size) }
  }

  /// Gives a failure on the descriptor the file's name.
  private func named<Answer>(
    _ action: String,
    _ body: () throws(DiskFailure) -> Answer
  ) throws(DiskFailure) -> Answer {
    do throws(DiskFailure) {
      return try body()
    } catch {
      throw DiskFailure(
        errno: error.errno,
        action: "\(action) \(paths.data)",
        reason: error.reason
      )
    }
  }
}
