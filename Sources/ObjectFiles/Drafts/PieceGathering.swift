internal import Caching
internal import Core
internal import Support

/// A read whose bytes lie in several places, answered when all of them are there.
final class PieceGathering: ReplyPort {
  private struct State {
    var bytes: [UInt8]
    var missingCount: Int
    var onInterrupt: [@Sendable () -> Void] = []
    var isInterrupted = false
  }

  private let draft: Draft
  private let sources: DraftSources
  private let pieces: [FileExtents.Piece]
  private let start: Int
  private let reply: Lock<ParkedReply<DataAnswer>?>
  private let state: Lock<State>

  init(
    _ pieces: [FileExtents.Piece],
    of draft: Draft,
    from sources: DraftSources,
    _ reply: consuming Reply<DataAnswer>
  ) {
    self.draft = draft
    self.sources = sources
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
  func run() {
    for (index, piece) in pieces.enumerated() {
      switch piece.place {
      case .hole: arrived()
      case .staged(let number): readStaged(piece, number)
      case .stored(let version, let offset):
        sources[version].read(
          ByteRange(offset: offset, count: piece.range.count),
          reply: Reply(RequestToken(UInt(index)), port: self) { [self] _, _, answer in
            take(answer, piece)
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

  private func readStaged(_ piece: FileExtents.Piece, _ number: Int) {
    do throws(DiskFailure) {
      put(try draft.staged.file(number).bytes(piece.range), piece)
    } catch {
      fail(FileError(error, reading: draft.key))
    }
  }

  private func take(_ answer: DataAnswer, _ piece: FileExtents.Piece) {
    switch answer {
    case .bytes(let bytes): put(bytes, piece)
    case .file(let descriptor, let range):
      do throws(DiskFailure) {
        put(try FileDescriptor.bytes(range, of: descriptor), piece)
      } catch {
        fail(FileError(error, reading: draft.key))
      }
    }
  }

  private func put(_ bytes: [UInt8], _ piece: FileExtents.Piece) {
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
