internal import Caching
package import Core
internal import Support

extension Draft {
  /// Writes all of `bytes` at `offset`; what lies between the end and there becomes a hole.
  ///
  /// - Throws: `FileError`: `.noSpace` if the disk is full, `.tooLarge` beyond what the store takes.
  ///   What had been accepted before is as it was, but for the bytes of this range.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(FileError) {
    guard !bytes.isEmpty else { return }
    let (end, overflow) = offset.addingReportingOverflow(bytes.count)
    guard !overflow, offset >= 0 else { throw tooLarge(.max) }
    try check(size: end)
    let range = ByteRange(offset, end)
    let number = state.wait { state, _ in state.writeBegan() }
    do throws(DiskFailure) {
      try staged.write(bytes, at: offset, file: number)
    } catch {
      writeEnded(ByteRange(offset, offset), number)
      throw FileError(error, writing: key)
    }
    writeEnded(range, number)
    try journal()
  }

  /// Writes all of `bytes` at the end of the file, wherever that is by now.
  ///
  /// - Returns: the offset that they got.
  @discardableResult
  package func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) -> Int {
    try appending.withLock { (_) throws(FileError) in
      let offset = size
      try write(bytes, at: offset)
      return offset
    }
  }

  /// Cuts the file, or makes it longer by zeros.
  package func resize(to size: Int) throws(FileError) {
    try check(size: size)
    try record(.resized(size, at: environment.files.time.wallTime))
  }

  /// Makes sure that there is room for a range.
  ///
  /// The file becomes longer by zeros if it ends before the range, unless `keepsSize`. No room is set
  /// aside on the local disk, so a later write may still find it full.
  package func allocate(_ range: ByteRange, keepsSize: Bool) throws(FileError) {
    try check(size: range.upperBound)
    guard !keepsSize else { return }
    let now = environment.files.time.wallTime
    state.withLock { state in
      guard range.upperBound > state.extents.size else { return }
      state.record(.resized(range.upperBound, at: now))
    }
    try journal()
  }

  /// Makes the bytes of a range zeros; the size stays.
  package func punch(_ range: ByteRange) throws(FileError) {
    try record(.punched(range, at: environment.files.time.wallTime))
  }

  /// Makes the bytes from `offset` on those of a range of an object's version, without fetching them.
  ///
  /// - Precondition: the range is inside the version.
  package func copy(
    from version: ObjectVersion,
    _ range: ByteRange,
    to offset: Int
  ) throws(FileError) {
    let target = ByteRange(offset: offset, count: range.count)
    try check(size: target.upperBound)
    let now = environment.files.time.wallTime
    try record(.inserted(version, at: range.lowerBound, as: target, now: now))
  }

  private func writeEnded(_ range: ByteRange, _ number: Int) {
    let now = environment.files.time.wallTime
    // Those who wait to write, and who waits for the snapshot.
    let (gate, hasGrown) = state.withLock(wakingAll: true) { state in
      let size = state.extents.size
      state.writeEnded(range, file: number, at: now)
      let hasGrown = range.lowerBound == size && state.extents.size > size
      return (state.snapshot == nil ? nil : state.whenFrozen.take(), hasGrown)
    }
    gate?.open()
    if hasGrown { grown() }
  }

  private func check(size: Int) throws(FileError) {
    guard size <= Drafts.sizeMax else { throw tooLarge(size) }
  }

  private func tooLarge(_ size: Int) -> FileError {
    FileError(
      .tooLarge,
      "\"\(key)\" can't have \(size) bytes: an object has at most \(Drafts.sizeMax)"
    )
  }
}
