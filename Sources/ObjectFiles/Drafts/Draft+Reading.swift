internal import Caching
package import Core
internal import Support

extension Draft {
  /// Answers with the bytes of `range` that are in the file; none at or behind its end.
  ///
  /// What lies in one of the draft's files is answered on this thread; what is at the store is read
  /// through the cache, by the same deadline as any read.
  package func read(_ range: ByteRange, reply: consuming Reply<DataAnswer>) {
    let (wanted, file, pieces) = state.withLock { state in
      let wanted = range.clamped(to: ByteRange(0, state.extents.size))
      let file = wanted.isEmpty ? nil : state.file(holding: wanted)
      return (wanted, file, file == nil ? state.extents.pieces(in: wanted) : [])
    }
    guard !wanted.isEmpty else {
      reply.succeed(.bytes([]))
      return
    }
    if let file {
      do throws(DiskFailure) {
        let descriptor = try staged.file(file).number
        reply.succeed(.file(descriptor: descriptor, range: wanted))
      } catch {
        reply.fail(FileError(error, reading: key))
      }
      return
    }
    if pieces.count == 1, case .stored(let version, let offset) = pieces[0].place {
      source(version).read(ByteRange(offset: offset, count: wanted.count), reply: reply)
      return
    }
    PieceGathering(pieces, reply).run(self)
  }

  /// Returns the bytes of pieces that are at the store or nowhere, for publishing.
  func bytes(of pieces: [FileExtents.Piece]) async -> Result<[UInt8], FileError> {
    let collector = ReplyCollector<DataAnswer>()
    PieceGathering(pieces, collector.reply).run(self)
    return await collector.outcome().map { answer in
      guard case .bytes(let bytes) = answer else { return [] }
      return bytes
    }
  }

  /// The file of a version that ranges are read from.
  func source(_ version: ObjectVersion) -> ObjectFile {
    sources.withLock { sources in
      if let file = sources[version] { return file }
      let file = ObjectFile(
        version,
        environment: environment.files,
        observer: environment.observer
      )
      sources[version] = file
      return file
    }
  }
}
