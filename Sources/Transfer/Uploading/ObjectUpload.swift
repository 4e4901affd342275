package import Core
internal import Support

/// Uploads a file, resumable after any interruption.
///
/// A small file goes in one request, a larger one in parts side by side, read from the file as they are
/// sent. A file that changes meanwhile is noticed before its parts become an object, so that two states
/// of it are never mixed. What a store tells of the bytes it got is compared with what was sent.
/// Cancelling the task pauses it; running the same request again resumes.
package struct ObjectUpload: Sendable {
  let request: ObjectUploadRequest
  let path: String
  let store: any ObjectStore
  let environment: TransferEnvironment
  let report: @Sendable (MultipartEvent) -> Void
  let faults: PartFile.DiskFaults?

  /// A file of at most this size that is one part is read into memory, and sent only if it was then what
  /// it had been; a larger one goes as a part, which becomes an object only after the look.
  private static let wholeSizeMax = 32 << 20

  /// Creates an upload of the file at `path`.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - request: what it is to become.
  ///   - store: where.
  ///   - environment: what transfers of this process share.
  ///   - faults: lets steps of the disk fail in tests.
  ///   - report: is called from several threads and must not block.
  package init(
    of path: String,
    _ request: ObjectUploadRequest,
    to store: any ObjectStore,
    in environment: TransferEnvironment,
    faults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) {
    self.path = path
    self.request = request
    self.store = store
    self.environment = environment
    self.faults = faults
    self.report = report
  }

  /// Runs it to the end.
  ///
  /// - Returns: what the store says of the object.
  /// - Throws: `TransferError`; after all but `.wrongChecksum` the same request goes on where this one
  ///   stopped, and what is at the target's key is as it was.
  package func run() async throws(TransferError) -> StoredObject {
    do throws(PartLimits.Violation) {
      _ = try request.limits.partSize(request.partSize)
    } catch {
      throw .invalid(error.description)
    }
    guard let checkpoint else { return try await upload(nil) }
    return try await checkpoint.whileLocked(on: environment.disk) {
      () async throws(TransferError) in
      let earlier = try await state(checkpoint).open(forcesRestart: request.forcesRestart) {
        request.difference(from: $0, file: path, isWhole: true)
      }
      return try await upload(earlier)
    }
  }

  /// Gives an earlier try of the request up: its unfinished upload and its checkpoint.
  ///
  /// - Returns: false if there was none.
  @discardableResult
  package func abort() async throws(TransferError) -> Bool {
    guard let checkpoint else { return false }
    return try await checkpoint.whileLocked(on: environment.disk) {
      () async throws(TransferError) -> Bool in
      try await state(checkpoint).abort {
        request.difference(from: $0, file: path, isWhole: false)
      }
    }
  }

  /// Where the checkpoint lies; nil if none is kept.
  package var checkpointPath: String? { checkpoint?.path }

  private var checkpoint: TaskCheckpoint? {
    request.checkpoint.map { named in
      TaskCheckpoint(
        at: named,
        naming: [
          Array("upload".utf8), Array(path.utf8), Array(request.storeName.utf8),
          request.target.key.bytes,
        ],
        holder: "an upload of \(path) to \(request.target.key)"
      )
    }
  }

  private func state(_ checkpoint: TaskCheckpoint) -> UploadTaskState {
    UploadTaskState(checkpoint: checkpoint, steps: steps, storeName: request.storeName)
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

  private func upload(_ earlier: UploadCheckpoint?) async throws(TransferError) -> StoredObject {
    let file = try await onDisk { () throws(TransferError) in try SourceFile(path) }
    if let earlier, !earlier.identity.version.isSameContent(as: file.version) {
      throw .sourceChanged(was: earlier.identity.version, isNow: file.version)
    }
    let plan: PartPlan
    do throws(PartLimits.Violation) {
      plan = try PartPlan(size: file.size, partSize: request.partSize, limits: request.limits)
    } catch {
      throw .invalid(error.description)
    }
    let isSmall = plan.count <= 1 && file.size <= Self.wholeSizeMax
    let stored =
      earlier == nil && isSmall
      ? try await uploadWhole(file) : try await uploadParts(file, plan, earlier)
    report(.completed(stored))
    return stored
  }

  /// Sends all in one request.
  private func uploadWhole(_ file: SourceFile) async throws(TransferError) -> StoredObject {
    let bytes = try await onDisk { () throws(TransferError) in
      let bytes = try file.bytes()
      try file.check()
      return bytes
    }
    return try await steps.putWhole(bytes)
  }

  private func uploadParts(
    _ file: SourceFile,
    _ plan: PartPlan,
    _ earlier: UploadCheckpoint?
  ) async throws(TransferError) -> StoredObject {
    let proof = PartProof(store.capabilities)
    let task = MultipartTask(
      steps: steps,
      plan: plan,
      identity: CheckpointIdentity(
        store: "file",
        version: file.version,
        task: request.task
      ),
      storeName: request.storeName,
      checkpointPath: checkpointPath,
      parallel: PartLimits.parallel(request.parallel),
      crc64: nil,
      faults: faults,
      send: { (upload, number, range) async throws(TransferError) in
        let body = BodySource.file(descriptor: file.descriptor, range: range)
        return try await steps.uploadPart(number, of: upload, body, proof) {
          (kinds) async throws(TransferError) in
          try await onDisk { () throws(TransferError) in
            try file.check()
            return try file.checksums(of: range, kinds)
          }
        }
      },
      checkSource: { () async throws(TransferError) in
        try await onDisk { () throws(TransferError) in try file.check() }
      }
    )
    return try await task.run(earlier)
  }

  private func onDisk<Answer: Sendable>(
    _ body: @escaping @Sendable () throws(TransferError) -> Answer
  ) async throws(TransferError) -> Answer {
    try await environment.disk.run(body)
  }
}
