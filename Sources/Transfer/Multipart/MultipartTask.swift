internal import Core
internal import Crypto
internal import Support

/// A multipart upload whose parts are known from the start, resumable after any interruption: what
/// copying on the server and uploading a file have in common.
///
/// The upload's id is on the disk before the first part is sent, and each part's tag after it was. What
/// is resumed is what the checkpoint and the store agree on. Cancelling the task pauses it.
struct MultipartTask: Sendable {
  /// The requests, and whom they go to.
  let steps: MultipartSteps
  /// How the source is cut.
  let plan: PartPlan
  /// What the parts are parts of.
  let identity: CheckpointIdentity
  /// The store that gets them, as the checkpoint names it.
  let storeName: String
  /// Where the checkpoint lies; nil keeps none.
  let checkpointPath: String?
  /// It goes on without a checkpoint if the disk is too full for one.
  ///
  /// Of what only this disk has: it becomes free when the store has that.
  var isCheckpointDispensable = false
  /// Parts in flight.
  let parallel: Int
  /// The source's checksum, where it is known.
  let crc64: UInt64?
  /// Lets steps of the disk fail in tests.
  let faults: PartFile.DiskFaults?
  /// Has the store take a part; the range is of the source.
  let send: @Sendable (UploadReference, Int, ByteRange) async throws(TransferError) -> UploadedPart
  /// Throws if the source is not what it was when the task began; asked when every part is there.
  let checkSource: @Sendable () async throws(TransferError) -> Void

  private var environment: TransferEnvironment { steps.environment }

  /// Runs it to the end; `earlier` is what an interrupted run left.
  func run(_ earlier: UploadCheckpoint?) async throws(TransferError) -> StoredObject {
    var missing = Array(plan.numbers)
    let upload: RecordedUpload
    switch try await resume(earlier) {
    case .completed(let stored):
      try await removeCheckpoint()
      return stored
    case .resumed(let resumed, let rest):
      upload = resumed
      missing = rest
    case nil:
      upload = try await begin()
    }
    let presentByteCount = upload.parts.reduce(0) { $0 + ($1.size ?? 0) }
    steps.report(
      .started(size: plan.size, partCount: plan.count, presentByteCount: presentByteCount)
    )
    do throws(TransferError) {
      try await sendParts(missing, to: upload)
      try await checkSource()
      let stored = try await steps.complete(upload.reference, upload.parts, crc64: crc64)
      try await removeCheckpoint()
      return stored
    } catch {
      try await ended(upload, error)
    }
  }

  /// What is left of a task that failed: its upload and checkpoint, unless nothing can come of them.
  private func ended(
    _ upload: RecordedUpload,
    _ error: TransferError
  ) async throws(TransferError) -> Never {
    switch error {
    case .wrongChecksum:
      // The upload is over, and its object is wrong; the next run must begin anew.
      try? await Shielded.run { () async throws(TransferError) in try await removeCheckpoint() }
    case .store(let failure) where failure.kind == .noSuchUpload:
      // Somebody gave it up; what the checkpoint says is settled by the next run.
      break
    case _ where error.isSourceGone && checkpointPath != nil:
      // The source is gone for good. If the store can't be asked, the checkpoint stays and says so.
      try? await Shielded.run { () async throws(TransferError) in
        try await giveUp(upload.reference)
      }
    default:
      // Without a checkpoint nobody will know the upload.
      guard !upload.isRecorded else { break }
      await steps.putAway(upload.reference)
    }
    throw error
  }

  /// Gives an upload up, and forgets it only then.
  func giveUp(_ reference: UploadReference) async throws(TransferError) {
    try await steps.giveUp(reference)
    try await removeCheckpoint()
  }

  private func removeCheckpoint() async throws(TransferError) {
    guard let path = checkpointPath else { return }
    do throws(DiskFailure) {
      try await environment.disk.run { () throws(DiskFailure) in try Disk.removeFile(path) }
    } catch {
      throw .disk(error)
    }
  }

  private enum Resumption {
    /// The earlier run was interrupted between the store's work and its answer.
    case completed(StoredObject)
    /// These parts are still to be sent.
    case resumed(RecordedUpload, [Int])
  }

  /// Compares what an earlier run recorded with what the store has; nil begins anew.
  private func resume(_ earlier: UploadCheckpoint?) async throws(TransferError) -> Resumption? {
    guard let earlier else { return nil }
    let recorded = Array(earlier.parts.values)
    let listed: [UploadedPart]
    do throws(StoreError) {
      listed = try await steps.store.listParts(earlier.upload.reference, context: steps.context())
    } catch {
      guard error.kind == .noSuchUpload else { throw TransferError(error) }
      let resumption = UploadResumption(plan: plan, recorded: recorded, listed: recorded)
      if resumption.missing.isEmpty,
        let stored = try await steps.completed(resumption.kept, crc64: crc64)
      {
        return .completed(try await steps.verified(stored, crc64: crc64))
      }
      steps.report(.startedOver(reason: "the store doesn't know the unfinished upload any more"))
      return nil
    }
    let resumption = UploadResumption(plan: plan, recorded: recorded, listed: listed)
    var checkpoint = UploadCheckpoint(identity: identity, upload: earlier.upload)
    for part in resumption.kept { checkpoint.insert(part) }
    return .resumed(try await record(checkpoint), resumption.missing)
  }

  /// Begins an upload and puts its id on the disk.
  private func begin() async throws(TransferError) -> RecordedUpload {
    try await steps.create { reference async throws(TransferError) in
      let target = UploadTarget(store: storeName, reference: reference)
      return try await record(UploadCheckpoint(identity: identity, upload: target))
    }
  }

  private func record(
    _ checkpoint: UploadCheckpoint
  ) async throws(TransferError) -> RecordedUpload {
    guard let path = checkpointPath else {
      return RecordedUpload(checkpoint, nil, log: environment.log)
    }
    do throws(PartFile.OpenError) {
      let file = try await environment.disk.run { () throws(PartFile.OpenError) in
        try CheckpointFile.replace(path, with: checkpoint.text, isLasting: true, faults)
      }
      return RecordedUpload(checkpoint, file, log: environment.log)
    } catch {
      guard isCheckpointDispensable, error.isNoSpace else {
        throw TransferError(error, path: path)
      }
      let reference = checkpoint.upload.reference
      environment.log.write(
        .warning,
        "the upload \(reference.uploadID) of \(reference.key) can't be recorded; a crash would leave it at "
          + "the store: \(error)"
      )
      return RecordedUpload(checkpoint, nil, log: environment.log)
    }
  }
}

extension PartFile.OpenError {
  /// The disk is full, or the user's share of it.
  fileprivate var isNoSpace: Bool {
    guard case .disk(let failure) = self else { return false }
    // ENOSPC, EDQUOT.
    return failure.errno == 28 || failure.errno == 122
  }
}
