package import Core
internal import Support

/// Uploads a stream: what comes out of a pipe, whose length nobody knows before its end.
///
/// Parts are held in memory until the store has them, so many as a budget allows. A stream can't be read
/// again, so nothing of it is kept: whatever ends it early gives its upload up. What is at the target's
/// key is as it was until the stream has ended and all of it is there.
package struct StreamUpload: Sendable {
  let request: ObjectUploadRequest
  let descriptor: Int32
  let store: any ObjectStore
  let environment: TransferEnvironment
  let report: @Sendable (MultipartEvent) -> Void

  /// Creates an upload of what an open descriptor brings.
  ///
  /// - Parameters:
  ///   - descriptor: it stays open, and is read to its end.
  ///   - request: what it is to become; without a checkpoint.
  ///   - store: where.
  ///   - environment: what transfers of this process share.
  ///   - report: is called from several threads and must not block.
  package init(
    of descriptor: Int32,
    _ request: ObjectUploadRequest,
    to store: any ObjectStore,
    in environment: TransferEnvironment,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) {
    self.descriptor = descriptor
    self.request = request
    self.store = store
    self.environment = environment
    self.report = report
  }

  /// Runs it to the stream's end.
  ///
  /// - Returns: what the store says of the object.
  /// - Throws: `TransferError`: `.stopped` if the task was cancelled.
  package func run() async throws(TransferError) -> StoredObject {
    let plan = try plan()
    let input: Input
    do throws(DiskFailure) { input = try Input(descriptor) } catch { throw .disk(error) }
    // The handler's own function throws no typed errors.
    let outcome = await withTaskCancellationHandler { () -> Result<StoredObject, TransferError> in
      do throws(TransferError) {
        return .success(try await upload(input, plan))
      } catch {
        return .failure(error == .paused ? .stopped : error)
      }
    } onCancel: {
      input.stop()
    }
    let stored = try outcome.get()
    report(.completed(stored))
    return stored
  }

  private func plan() throws(TransferError) -> StreamPlan {
    guard request.checkpoint == nil else {
      throw .invalid("a stream can't be read again, so a checkpoint of its upload is of no use")
    }
    guard request.partSize <= StreamPlan.partSizeMax else {
      throw .invalid(
        "parts of a stream are held in memory: the part size must be at most "
          + "\(StreamPlan.partSizeMax) bytes"
      )
    }
    do throws(PartLimits.Violation) {
      return try StreamPlan(partSize: request.partSize, limits: request.limits)
    } catch {
      throw .invalid(error.description)
    }
  }

  private var steps: MultipartSteps {
    MultipartSteps(
      store: store,
      request: request.target,
      retryCountMax: request.retryCountMax,
      environment: environment,
      report: report
    )
  }

  private func upload(
    _ input: Input,
    _ plan: StreamPlan
  ) async throws(TransferError) -> StoredObject {
    let first = try await input.read(plan.firstPartSize)
    // Only what follows the first part tells that there are parts at all.
    let second =
      first.count < plan.firstPartSize ? [] : try await input.read(plan.size(ofPart: 2) ?? 0)
    guard !second.isEmpty else { return try await steps.putWhole(first) }
    report(.started(size: nil, partCount: plan.countMax, presentByteCount: 0))
    let upload = try await steps.create { $0 }
    do throws(TransferError) {
      let parts = try await send([first, second], input, plan, to: upload)
      return try await steps.complete(upload, parts, crc64: nil)
    } catch {
      await steps.putAway(upload)
      throw error
    }
  }

  /// Sends parts as they come, some at a time.
  ///
  /// - Returns: all of them.
  private func send(
    _ beginning: [[UInt8]],
    _ input: Input,
    _ plan: StreamPlan,
    to upload: UploadReference
  ) async throws(TransferError) -> [UploadedPart] {
    let proof = PartProof(store.capabilities)
    let outcome = await withTaskGroup(of: Result<UploadedPart, TransferError>.self) { group in
      var parts: [UploadedPart] = []
      var running = 0
      var number = 0
      var offset = 0
      var pending = beginning[...]
      do throws(TransferError) {
        while let bytes = try await next(&pending, number + 1, input, plan) {
          number += 1
          let range = ByteRange(offset: offset, count: bytes.count)
          offset = range.upperBound
          while running >= parallel(partSize: bytes.count) {
            guard let ended = await group.next() else { break }
            running -= 1
            parts.append(try ended.get())
          }
          group.addTask { [number] in await send(bytes, range, as: number, of: upload, proof) }
          running += 1
        }
        while let ended = await group.next() { parts.append(try ended.get()) }
        return Result<_, TransferError>.success(parts)
      } catch {
        group.cancelAll()
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  /// The bytes of part `number`; nil at the stream's end.
  private func next(
    _ pending: inout ArraySlice<[UInt8]>,
    _ number: Int,
    _ input: Input,
    _ plan: StreamPlan
  ) async throws(TransferError) -> [UInt8]? {
    if let bytes = pending.popFirst() { return bytes }
    guard let size = plan.size(ofPart: number) else {
      // Whether there is more tells only the next byte.
      if try await input.read(1).isEmpty { return nil }
      throw .invalid(
        "the stream is longer than \(plan.countMax) parts take; give a larger part size"
      )
    }
    let bytes = try await input.read(size)
    return bytes.isEmpty ? nil : bytes
  }

  /// How many parts may be on their way while another is read.
  private func parallel(partSize: Int) -> Int {
    StreamPlan.parallel(
      request.parallel,
      partSize: partSize,
      budget: request.memoryMax - partSize
    )
  }

  private func send(
    _ bytes: [UInt8],
    _ range: ByteRange,
    as number: Int,
    of upload: UploadReference,
    _ proof: PartProof
  ) async -> Result<UploadedPart, TransferError> {
    do throws(TransferError) {
      var part = try await steps.uploadPart(number, of: upload, .bytes(bytes), proof) {
        (kinds) throws(TransferError) in PartChecksums.of(bytes, kinds)
      }
      part.size = bytes.count
      report(.partFinished(part, range))
      return .success(part)
    } catch {
      report(
        error == .paused
          ? .partAborted(partNumber: number, range) : .partFailed(partNumber: number, range, error)
      )
      return .failure(error)
    }
  }
}

/// A stream that is read on a thread of its own.
private final class Input: Sendable {
  private let reader: StreamReader
  private let thread = BlockingPool(threadCount: 1)

  init(_ descriptor: Int32) throws(DiskFailure) {
    reader = try StreamReader(descriptor)
  }

  func stop() { reader.stop() }

  /// The next bytes; fewer than asked for only at the end.
  func read(_ countMax: Int) async throws(TransferError) -> [UInt8] {
    let reader = reader
    let bytes: [UInt8]?
    do throws(DiskFailure) {
      bytes = try await thread.run { () throws(DiskFailure) in
        try reader.read(countMax: countMax)
      }
    } catch {
      throw .disk(error)
    }
    guard let bytes else { throw .paused }
    return bytes
  }
}
