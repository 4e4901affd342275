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
      try staged.file(number).write(bytes, at: offset)
    } catch {
      writeEnded(ByteRange(offset, offset), number)
      throw FileError(error, writing: key)
    }
    writeEnded(range, number)
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
    let now = environment.files.time.wallTime
    state.withLock { $0.resized(to: size, at: now) }
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
      if range.upperBound > state.extents.size { state.resized(to: range.upperBound, at: now) }
    }
  }

  /// Makes the bytes of a range zeros; the size stays.
  package func punch(_ range: ByteRange) throws(FileError) {
    let now = environment.files.time.wallTime
    state.withLock { $0.punched(range, at: now) }
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
    state.withLock { $0.inserted(version, at: range.lowerBound, as: target, now: now) }
  }

  private func writeEnded(_ range: ByteRange, _ number: Int) {
    let now = environment.files.time.wallTime
    // Those who wait to write, and who waits for the snapshot.
    let gate = state.withLock(wakingAll: true) { state in
      state.writeEnded(range, file: number, at: now)
      return state.snapshot == nil ? nil : state.frozen.take()
    }
    gate?.open()
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
