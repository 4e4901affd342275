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

/// A read whose bytes lie in several places, answered when all of them are there.
final class PieceGathering: ReplyPort {
  private struct State {
    var bytes: [UInt8]
    var missingCount: Int
    var onInterrupt: [@Sendable () -> Void] = []
    var isInterrupted = false
  }

  private let pieces: [FileExtents.Piece]
  private let start: Int
  private let reply: Lock<ParkedReply<DataAnswer>?>
  private let state: Lock<State>

  init(_ pieces: [FileExtents.Piece], _ reply: consuming Reply<DataAnswer>) {
    self.pieces = pieces
    start = pieces.first?.range.lowerBound ?? 0
    let count = (pieces.last?.range.upperBound ?? 0) - start
    let state = Lock(
      State(bytes: [UInt8](repeating: 0, count: count), missingCount: pieces.count)
    )
    self.state = state
    self.reply = Lock(nil)
    let parked = ParkedReply(reply) {
      let actions = state.withLock { state in
        state.isInterrupted = true
        defer { state.onInterrupt = [] }
        return state.onInterrupt
      }
      for action in actions { action() }
    }
    self.reply.withLock { $0 = parked }
  }

  /// Asks for every piece.
  func run(_ draft: Draft) {
    for (index, piece) in pieces.enumerated() {
      switch piece.place {
      case .hole: arrived()
      case .staged(let number): readStaged(piece, number, of: draft)
      case .stored(let version, let offset):
        draft.source(version).read(
          ByteRange(offset: offset, count: piece.range.count),
          reply: Reply(RequestToken(UInt(index)), port: self) { [self] _, _, answer in
            take(answer, piece, of: draft)
            return true
          }
        )
      }
    }
  }

  func fail(_ request: RequestToken, _ error: FileError) { fail(error) }

  func whenInterrupted(_ request: RequestToken, _ action: @escaping @Sendable () -> Void) {
    let isInterrupted = state.withLock { state in
      if !state.isInterrupted { state.onInterrupt.append(action) }
      return state.isInterrupted
    }
    if isInterrupted { action() }
  }

  private func readStaged(_ piece: FileExtents.Piece, _ number: Int, of draft: Draft) {
    do throws(DiskFailure) {
      put(try draft.staged.file(number).bytes(piece.range), piece, of: draft)
    } catch {
      fail(FileError(error, reading: draft.key))
    }
  }

  private func take(_ answer: DataAnswer, _ piece: FileExtents.Piece, of draft: Draft) {
    switch answer {
    case .bytes(let bytes): put(bytes, piece, of: draft)
    case .file(let descriptor, let range):
      do throws(DiskFailure) {
        put(try FileDescriptor.bytes(range, of: descriptor), piece, of: draft)
      } catch {
        fail(FileError(error, reading: draft.key))
      }
    }
  }

  private func put(_ bytes: [UInt8], _ piece: FileExtents.Piece, of draft: Draft) {
    guard bytes.count == piece.range.count else {
      fail(
        FileError(
          .inputOutput,
          "bytes \(piece.range) of \"\(draft.key)\" could not be read: \(bytes.count) came"
        )
      )
      return
    }
    let offset = piece.range.lowerBound - start
    state.withLock { $0.bytes.replaceSubrange(offset..<offset + bytes.count, with: bytes) }
    arrived()
  }

  private func arrived() {
    let bytes = state.withLock { state in
      state.missingCount -= 1
      return state.missingCount == 0 ? state.bytes : nil
    }
    if let bytes { reply.withLock { $0 }?.succeed(.bytes(bytes)) }
  }

  private func fail(_ error: FileError) {
    reply.withLock { $0 }?.fail(error)
  }
}

/// Waits for an answer as a task.
final class ReplyCollector<Answer: Sendable>: ReplyPort {
  private let gate = Gate()
  private let result = Lock(Result<Answer, FileError>?.none)

  /// The reply to hand out, once.
  var reply: Reply<Answer> {
    Reply(RequestToken(0), port: self) { [self] _, _, answer in
      end(.success(answer))
      return true
    }
  }

  func fail(_ request: RequestToken, _ error: FileError) { end(.failure(error)) }

  // Nobody interrupts it.
  func whenInterrupted(_ request: RequestToken, _ action: @escaping @Sendable () -> Void) {}

  /// Waits for the answer.
  func outcome() async -> Result<Answer, FileError> {
    await gate.wait()
    return result.withLock { $0 }
      ?? .failure(FileError(.inputOutput, "a read ended without an answer"))
  }

  private func end(_ outcome: Result<Answer, FileError>) {
    result.withLock { $0 = $0 ?? outcome }
    gate.open()
  }
}
