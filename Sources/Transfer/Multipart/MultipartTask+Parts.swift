internal import Core
internal import Support

extension MultipartTask {
  /// Sends parts, so many at a time; after a failure none is begun any more.
  func sendParts(
    _ numbers: [Int],
    to upload: RecordedUpload
  ) async throws(TransferError) {
    let first = await withTaskGroup(of: TransferError?.self) { group in
      var next = numbers.makeIterator()
      var running = 0
      var first: TransferError?
      while true {
        while first == nil, !Task.isCancelled, running < parallel, let number = next.next() {
          group.addTask { await sendPart(number, to: upload) }
          running += 1
        }
        guard running > 0, let ended = await group.next() else { break }
        running -= 1
        guard let failure = ended, first == nil else { continue }
        first = failure
        // What is on its way is worth having unless the others must fail for the same reason.
        if failure.concernsAllParts { group.cancelAll() }
      }
      return first
    }
    if let first { throw first }
    if Task.isCancelled { throw .paused }
  }

  /// Sends a part and records it.
  ///
  /// - Returns: why it is not there; nil if it is.
  private func sendPart(_ number: Int, to upload: RecordedUpload) async -> TransferError? {
    let range = plan.range(ofPart: number)
    do throws(TransferError) {
      var part = try await send(upload.reference, number, range)
      part.size = range.count
      let sent = part
      await steps.environment.disk.run { upload.finished(sent) }
      steps.report(.partFinished(part, range))
      return nil
    } catch {
      steps.report(
        error == .paused
          ? .partAborted(partNumber: number, range) : .partFailed(partNumber: number, range, error)
      )
      return error
    }
  }
}

extension TransferError {
  /// Every other part would fail for the same reason.
  fileprivate var concernsAllParts: Bool {
    switch self {
    case .store(let error):
      switch error.kind {
      case .notFound, .noSuchBucket, .noSuchUpload, .accessDenied, .badCredentials,
        .preconditionFailed, .archived, .untrusted, .wrongRegion, .unsupported, .tooLarge,
        .invalidRequest, .cancelled, .offline:
        true
      case .alreadyExists, .rangeNotSatisfiable, .throttled, .serverFailure, .unreachable,
        .timedOut,
        .invalidAnswer, .conflict, .sinkRefused:
        false
      }
    case .sourceChanged, .paused, .stopped, .disk, .invalid: true
    case .fetch, .held, .differs, .unknownFormat, .targetChanged, .wrongChecksum: false
    }
  }
}
