internal import Caching
package import Core
internal import Support

extension Draft {
  /// What is moved at a time where bytes have to be, from one local file to another.
  private static let stepSize = 1 << 20

  /// Makes the bytes from `offset` on those of a range of another draft, or of another place in this one.
  ///
  /// What the other has at the store stays there and is copied by it when this one is published; only
  /// bytes that nobody but the local disk has are copied on the disk.
  ///
  /// - Parameters:
  ///   - source: the other draft.
  ///   - range: what of it; what lies behind its end isn't there.
  ///   - offset: where to.
  /// - Returns: bytes copied; 0 at the source's end.
  /// - Throws: `FileError` as `write` does.
  package func copy(
    from source: Draft,
    _ range: ByteRange,
    to offset: Int
  ) throws(FileError) -> Int {
    let pieces = source.state.withLock { state in
      state.extents.pieces(in: range.clamped(to: ByteRange(0, state.extents.size)))
    }
    var count = 0
    for piece in pieces {
      let target = offset + count
      switch piece.place {
      case .stored(let version, let start):
        try copy(from: version, ByteRange(offset: start, count: piece.range.count), to: target)
      case .hole:
        let hole = ByteRange(offset: target, count: piece.range.count)
        try allocate(hole, keepsSize: false)
        try punch(hole)
      case .staged(let number):
        try copyBytes(of: source, number, piece.range, to: target)
      }
      count += piece.range.count
    }
    return count
  }

  /// True if copying from it moves no bytes on this machine.
  package func isStored(_ range: ByteRange) -> Bool {
    state.withLock { state in
      state.extents.pieces(in: range.clamped(to: ByteRange(0, state.extents.size)))
        .allSatisfy { piece in if case .staged = piece.place { false } else { true } }
    }
  }

  private func copyBytes(
    of source: Draft,
    _ number: Int,
    _ range: ByteRange,
    to offset: Int
  ) throws(FileError) {
    var done = 0
    while done < range.count {
      let step = ByteRange(
        offset: range.lowerBound + done,
        count: min(Self.stepSize, range.count - done)
      )
      let bytes: [UInt8]
      do throws(DiskFailure) {
        bytes = try source.staged.file(number).bytes(step)
      } catch {
        throw FileError(error, reading: source.key)
      }
      try bytes.span.bytes.withUnsafeBytes { (buffer) throws(FileError) in
        try write(buffer, at: offset + done)
      }
      done += step.count
    }
  }
}
