internal import Core
internal import Support

/// Opens and clears what an earlier run of a copy or an upload left, on the disk and at the store.
struct UploadTaskState: Sendable {
  let checkpoint: TaskCheckpoint
  let steps: MultipartSteps
  /// The target's bucket, as checkpoints name it.
  let storeName: String

  /// Returns what can be gone on with; nil if there is nothing, or nothing is left of it.
  ///
  /// - Parameters:
  ///   - forcesRestart: true to give an earlier run up, whatever it was.
  ///   - difference: names what an earlier task did not have in common with this one.
  /// - Returns: what the earlier run recorded.
  /// - Throws: `TransferError` if what is there belongs to another task or can't be read.
  func open(
    forcesRestart: Bool,
    _ difference: @Sendable (UploadCheckpoint) -> TransferError?
  ) async throws(TransferError) -> UploadCheckpoint? {
    switch try await read() {
    case .nothing: return nil
    case .upload(let earlier):
      if forcesRestart {
        try await clear(earlier)
        return nil
      }
      if let difference = difference(earlier) { throw difference }
      return earlier
    case .damaged(let reason):
      steps.report(
        .startedOver(reason: reason + "; an unfinished upload may be left at the store")
      )
      return nil
    case .unknown(let version):
      guard forcesRestart else {
        throw .unknownFormat(path: checkpoint.path, version: version)
      }
      return nil
    }
  }

  /// Gives an earlier run up: its upload and its checkpoint.
  ///
  /// - Returns: false if there was none.
  func abort(
    _ difference: @Sendable (UploadCheckpoint) -> TransferError?
  ) async throws(TransferError) -> Bool {
    switch try await read() {
    case .nothing: return false
    case .upload(let earlier):
      if let difference = difference(earlier) { throw difference }
      try await clear(earlier)
    case .damaged: try await remove()
    case .unknown(let version):
      throw .unknownFormat(path: checkpoint.path, version: version)
    }
    return true
  }

  /// Gives a recorded upload up, and forgets it only then.
  func clear(_ earlier: UploadCheckpoint) async throws(TransferError) {
    guard earlier.upload.store == storeName else {
      throw .differs(
        field: "target-bucket",
        checkpoint: earlier.upload.store,
        request: storeName
      )
    }
    try await steps.giveUp(earlier.upload.reference)
    try await remove()
  }

  private func read() async throws(TransferError) -> TaskCheckpoint.Earlier {
    try await steps.environment.disk.run { () throws(TransferError) in try checkpoint.earlier() }
  }

  private func remove() async throws(TransferError) {
    try await steps.environment.disk.run { () throws(TransferError) in try checkpoint.remove() }
  }
}
