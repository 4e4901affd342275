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
      sources[version].read(ByteRange(offset: offset, count: wanted.count), reply: reply)
      return
    }
    PieceGathering(pieces, of: self, from: sources, reply).run()
  }
}

/// The versions of objects that ranges of a draft are read from.
final class DraftSources: Sendable {
  private let environment: Drafts.Environment
  private let files = Lock([ObjectVersion: ObjectFile]())

  init(_ environment: Drafts.Environment) { self.environment = environment }

  /// A version as a file.
  subscript(version: ObjectVersion) -> ObjectFile {
    files.withLock { files in
      if let file = files[version] { return file }
      let file = ObjectFile(
        version,
        environment: environment.files,
        observer: environment.observer
      )
      files[version] = file
      return file
    }
  }
}
