package import Core
package import Support

/// The upload of a file that is still being written: its parts are sent as they become complete, so that
/// closing it has little left to do.
///
/// Which parts, and whether one is still right when it has arrived, is decided by who writes. A crash leaves
/// a checkpoint from which the upload is given up: nobody knows then which of its parts are right.
package final class EarlyUpload: Sendable {
  /// The object to be, with the facts that it is begun with.
  package let target: PutRequest
  private let storeName: String
  private let checkpointPath: String
  private let steps: MultipartSteps
  private let proof: PartProof
  private let creation = Lock(Task<Result<UploadReference, TransferError>, Never>?.none)

  /// Creates an upload; nothing is sent before the first part.
  package init(
    _ target: PutRequest,
    of storeName: String,
    checkpointPath: String,
    retryCountMax: Int?,
    retryPatience: Duration? = nil,
    to store: any ObjectStore,
    in environment: TransferEnvironment
  ) {
    self.target = target
    self.storeName = storeName
    self.checkpointPath = checkpointPath
    // Conditions are looked at when the parts become the object.
    steps = MultipartSteps(
      store: store,
      request: target,
      retryCountMax: retryCountMax,
      retryPatience: retryPatience,
      environment: environment,
      report: { _ in }
    )
    proof = PartProof(store.capabilities)
  }

  /// Sends a part from an open file that has its bytes at their own offsets.
  ///
  /// Bytes that change meanwhile make the part wrong; then it must be sent again.
  package func send(
    _ number: Int,
    _ range: ByteRange,
    of file: FileDescriptor
  ) async throws(TransferError) -> UploadedPart {
    let upload = try await begun().get()
    let environment = steps.environment
    var part = try await steps.uploadPart(
      number,
      of: upload,
      .file(descriptor: file.number, range: range),
      proof
    ) { (kinds) async throws(TransferError) in
      let sums = try await ObjectPublishing.onDisk(environment) { () throws(DiskFailure) in
        try PartChecksums.of(range, in: file, kinds)
      }
      return sums ?? PartChecksums()
    }
    part.size = range.count
    return part
  }

  /// Where its parts are; nil if it could not be begun.
  package func upload() async -> UploadTarget? {
    guard let creation = creation.withLock({ $0 }),
      case .success(let reference) = await creation.value
    else { return nil }
    return UploadTarget(store: storeName, reference: reference)
  }

  private func begun() async -> Result<UploadReference, TransferError> {
    let task = creation.withLock { creation in
      if let creation { return creation }
      let task = Task { await begin() }
      creation = task
      return task
    }
    return await task.value
  }

  /// Begins the upload and puts its id on the disk.
  private func begin() async -> Result<UploadReference, TransferError> {
    do throws(TransferError) {
      let (disk, path, storeName) = (steps.environment.disk, checkpointPath, storeName)
      let identity = CheckpointIdentity(
        store: "draft",
        version: ObjectVersion(
          key: target.key,
          etag: nil,
          size: 0,
          lastModified: Timestamp(nanoseconds: 0)
        ),
        task: ["kind": "publish"]
      )
      let reference = try await steps.create { (reference) async throws(TransferError) in
        let text = UploadCheckpoint(
          identity: identity,
          upload: UploadTarget(store: storeName, reference: reference)
        ).text
        do throws(PartFile.OpenError) {
          _ = try await disk.run { () throws(PartFile.OpenError) in
            try CheckpointFile.replace(path, with: text, isLasting: true)
          }
        } catch {
          throw TransferError(error, path: path)
        }
        return reference
      }
      return .success(reference)
    } catch {
      return .failure(error)
    }
  }
}
