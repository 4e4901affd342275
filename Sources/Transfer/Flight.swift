internal import Core
internal import Crypto
internal import Support

/// One request of a download: waits for its slot, takes the bytes as they come, and records them.
///
/// Bytes are written where they belong, with no buffer in between, then the readers that are served by
/// them are answered, on the transport's thread. The checksum runs along; at each multiple of the part
/// file's unit size a line goes to the checkpoint, so that a crash costs a unit per flight at most.
final class Flight: BodySink {
  private struct State {
    var slot: FetchSlot?
    var task: Task<Void, Never>?
    var isUrgent: Bool
    var isCancelled = false
    /// The flight has all it wants, though its request may not be over.
    var isComplete = false
    var refusal: DiskFailure?
    var firstByteAt: Instant?
    /// Where the unit that is not recorded yet starts.
    var unitStart: Int
    /// One past the last byte that arrived.
    var mark: Int
    /// Of the bytes from `unitStart` to `mark`.
    var crc = CRC64()
  }

  let id: DownloadMachine.FlightID
  let range: ByteRange
  private let download: Download
  private let state: Lock<State>

  init(
    _ id: DownloadMachine.FlightID,
    _ range: ByteRange,
    isUrgent: Bool,
    of download: Download
  ) {
    self.id = id
    self.range = range
    self.download = download
    state = Lock(
      State(isUrgent: isUrgent, unitStart: range.lowerBound, mark: range.lowerBound)
    )
  }

  /// Goes to the line and, when it is its turn, asks the store.
  ///
  /// The task starts on the caller's thread, so that with a free slot the request is sent without a hop.
  func launch() {
    let isUrgent = state.withLock { $0.isUrgent }
    let slot = download.environment.scheduler.line(isUrgent: isUrgent, size: range.count)
    let (isCancelled, isPromoted) = state.withLock { state in
      state.slot = slot
      return (state.isCancelled, state.isUrgent && !isUrgent)
    }
    if isCancelled { slot.giveUpWaiting() }
    if isPromoted { slot.promote() }
    let task = Task.immediate { await self.fly(slot) }
    let isLate = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isLate { task.cancel() }
  }

  /// A reader waits for it now.
  func promote() {
    state.withLock { state in
      state.isUrgent = true
      return state.slot
    }?.promote()
  }

  /// Ends it; what arrived is recorded.
  func cancel() {
    let (slot, task) = state.withLock { state in
      state.isCancelled = true
      return (state.slot, state.task)
    }
    slot?.giveUpWaiting()
    task?.cancel()
  }

  func receive(_ bytes: RawSpan, at offset: Int) throws(DiskFailure) {
    guard state.withLock({ $0.mark == offset && !$0.isComplete }) else {
      throw Self.stopped
    }
    if offset == range.lowerBound {
      let now = download.environment.time.now
      state.withLock { $0.firstByteAt = now }
    }
    do throws(DiskFailure) {
      try download.file.write(bytes, at: offset)
    } catch {
      state.withLock { $0.refusal = error }
      throw error
    }
    guard let advance = download.advanced(id, to: offset + bytes.byteCount) else {
      throw Self.stopped
    }
    record(bytes.extracting(first: advance.mark - offset), at: offset)
    if advance.isComplete {
      state.withLock { $0.isComplete = true }
      // A cut flight's request goes on for longer than the flight.
      if advance.mark < range.upperBound { throw Self.stopped }
    }
  }

  /// ECANCELED: ends the transfer, and is nobody's error.
  private static let stopped = DiskFailure(
    errno: 125,
    action: "take more bytes",
    reason: "the fetch has ended"
  )

  /// Takes bytes into the checksum, and records the units that they finish.
  private func record(_ bytes: RawSpan, at offset: Int) {
    let unitSize = download.file.unitSize
    var position = 0
    while position < bytes.byteCount {
      let unitEnd = ((offset + position) / unitSize + 1) * unitSize
      let end = min(bytes.byteCount, unitEnd - offset)
      let finished = state.withLock { state in
        state.crc.update(bytes.extracting(position..<end))
        state.mark = offset + end
        return offset + end == unitEnd ? Self.takeUnit(&state) : nil
      }
      if let finished { download.record(finished) }
      position = end
    }
  }

  private static func takeUnit(_ state: inout State) -> (ByteRange, UInt64)? {
    let range = ByteRange(state.unitStart, state.mark)
    guard !range.isEmpty else { return nil }
    defer {
      state.unitStart = state.mark
      state.crc = CRC64()
    }
    return (range, state.crc.value)
  }

  private func fly(_ slot: FetchSlot) async {
    guard await slot.wait(), download.begins(id) else {
      slot.leave()
      return await download.landed(self, .cancelled)
    }
    let (scheduler, time) = (download.environment.scheduler, download.environment.time)
    let begin = time.now
    scheduler.fetchBegan(at: begin)
    let context = RequestContext(
      deadline: download.environment.time.now + download.settings.flightDeadline,
      retryCountMax: download.settings.retryCountMax,
      isUrgent: state.withLock { $0.isUrgent }
    )
    let request = GetRequest(version: download.version, range: range)
    var failure: StoreError?
    do throws(StoreError) {
      let answer = try await download.store.get(request, into: self, context: context)
      download.environment.answers.heard(answer.metadata, askedAt: begin)
    } catch {
      failure = error
    }
    let (byteCount, firstByteAt) = state.withLock {
      ($0.mark - range.lowerBound, $0.firstByteAt)
    }
    scheduler.fetchEnded(byteCount: byteCount, delay: firstByteAt.map { $0 - begin }, at: time.now)
    slot.leave()
    await download.landed(self, state.withLock { Self.landing($0, failure) })
  }

  /// How a flight ended, for the download.
  enum Landing: Sendable {
    case finished
    case cancelled
    case failed(StoreError)
    case refused(DiskFailure)
  }

  /// What arrived and the unit of it that is not recorded yet.
  func takeRest() -> (arrived: ByteRange, unit: (ByteRange, UInt64)?) {
    state.withLock { state in
      (ByteRange(range.lowerBound, state.mark), Self.takeUnit(&state))
    }
  }

  private static func landing(_ state: State, _ failure: StoreError?) -> Landing {
    if state.isComplete { return .finished }
    if let refusal = state.refusal { return .refused(refusal) }
    if let failure { return .failed(failure) }
    return .finished
  }
}
