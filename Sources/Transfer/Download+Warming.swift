package import Core
internal import Support

extension Download {
  /// What is waited for at a time: as much as a mount's largest request.
  private static let warmingPieceSize = 8 << 20
  /// How many pieces are asked for at a time.
  private static let warmingPieceCount = 4

  /// Fetches all that is not on disk, behind everything that readers wait for, and returns when all
  /// of the object is on disk, verified and recorded.
  ///
  /// - Parameter progress: is told after each piece how many bytes are on disk.
  /// - Throws: `FetchError`; what arrived stays.
  package func warm(progress: @Sendable (Int) -> Void) async throws(FetchError) {
    var position = 0
    do throws(FetchError) {
      while position < version.size {
        let piece = warmingPiece(at: position)
        let isThere = await environment.disk.run { [self] in verify(piece) }
        if !isThere { try await fetchBehindReaders(piece) }
        if Task.isCancelled { throw .cancelled }
        position = piece.upperBound
        progress(cachedByteCount)
      }
    } catch {
      abandonPrefetch(of: [ByteRange(position, version.size)])
      throw error
    }
    await settled()
  }

  private func warmingPiece(at position: Int) -> ByteRange {
    ByteRange(position, min(version.size, position + Self.warmingPieceSize))
  }

  /// Waits for a piece that has been verified as far as it is on disk; starts some of those behind it.
  private func fetchBehindReaders(_ piece: ByteRange) async throws(FetchError) {
    var ahead: [ByteRange] = []
    var position = piece.upperBound
    while position < version.size, ahead.count < Self.warmingPieceCount - 1 {
      ahead.append(warmingPiece(at: position))
      position = ahead[ahead.count - 1].upperBound
    }
    while true {
      let byteCount = cachedByteCount
      do throws(FetchError) {
        return try await wait(for: piece, ahead: ahead)
      } catch {
        // Readers go first, for as long as they like: time is over only if nothing arrived.
        guard case .deadline = error, cachedByteCount > byteCount else { throw error }
      }
    }
  }

  private func wait(for piece: ByteRange, ahead: [ByteRange]) async throws(FetchError) {
    if isKeepingPaused, let failure = state.withLock({ $0.diskFailure }) { throw .disk(failure) }
    let waiter = WarmingWaiter()
    let id = waits.add(waiter)
    run(
      state.withLock { state in
        state.isClosed
          ? [.fail(id, .cancelled)] : state.machine.warming(by: id, piece, ahead: ahead)
      }
    )
    let failure = await withTaskCancellationHandler {
      await waiter.failure()
    } onCancel: {
      cancel(id)
    }
    if let failure { throw failure }
  }
}

/// Waits until bytes are on disk, without reading them.
private final class WarmingWaiter: ReadWaiter {
  private let gate = Gate()
  private let told = Lock(FetchError?.none)

  /// Waits until it is told something; nil if the bytes are there.
  func failure() async -> FetchError? {
    await gate.wait()
    return told.withLock { $0 }
  }

  func served(from descriptor: Int32) { gate.open() }

  func served(_ bytes: [UInt8]) {
    // Nothing is fetched into memory for who wants it on the disk.
    failed(.cancelled)
  }

  func failed(_ error: FetchError) {
    told.withLock { $0 = error }
    gate.open()
  }
}
