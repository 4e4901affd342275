internal import Core
internal import Crypto
internal import Support

/// The requests that every multipart upload is made of, whatever its parts are.
struct MultipartSteps: Sendable {
  /// The store that gets the object.
  let store: any ObjectStore
  /// The object to be, and on what condition.
  let request: PutRequest
  /// How often the store retries each request; nil leaves it to the deadline.
  let retryCountMax: Int?
  /// How long after its first failure a request is tried again; nil leaves it to the deadline.
  var retryPatience: Duration?
  let environment: TransferEnvironment
  let report: @Sendable (MultipartEvent) -> Void

  /// How long a request takes at most that moves no object's bytes.
  static let shortPatience = Duration.seconds(60)
  /// How long completing may take.
  ///
  /// Source: Amazon S3 API Reference, "CompleteMultipartUpload": it can take several minutes.
  static let completionPatience = Duration.seconds(600)
  /// How long a task that is paused while it begins an upload waits for the store's answer.
  ///
  /// The answer has the upload's id, and without it nobody would know the upload.
  static let creationPatienceAfterPause = Duration.seconds(5)
  /// How often an upload that is still there is given up once more.
  private static let abortCountMax = 3

  /// What goes along with a request that takes up to `patience`.
  func context(_ patience: Duration? = nil) -> RequestContext {
    RequestContext(
      deadline: environment.time.now + (patience ?? Self.shortPatience),
      retryCountMax: retryCountMax,
      retryPatience: retryPatience
    )
  }

  /// What a failure of the store means where the target's condition may be its reason.
  func failure(_ error: StoreError) -> TransferError {
    error.isRefusedCondition && request.condition != .none
      ? .targetChanged(error) : TransferError(error)
  }

  /// Begins an upload, and has `keep` see to it that it is not forgotten.
  ///
  /// A task that is paused meanwhile has both done first: the pause shows in whatever it does next.
  ///
  /// - Throws: `.paused` if it was paused before, or the store doesn't answer in time after a pause;
  ///   `.invalid` if the store would not look at the condition when it is completed; what `keep` throws,
  ///   after which the upload is given up.
  func create<Kept: Sendable>(
    _ keep: @escaping @Sendable (UploadReference) async throws(TransferError) -> Kept
  ) async throws(TransferError) -> Kept {
    if Task.isCancelled { throw .paused }
    return try await Shielded.run(
      lingering: Self.creationPatienceAfterPause,
      timers: environment.timers
    ) { () async throws(TransferError) in
      let reference = try await create()
      do throws(TransferError) {
        return try await keep(reference)
      } catch {
        await putAway(reference)
        throw error
      }
    }
  }

  private func create() async throws(TransferError) -> UploadReference {
    if case .ifMatch = request.condition, store.capabilities.hasConditionalComplete == false {
      throw .invalid(
        "this store can't replace one version of an object in parts: send it in one part (a larger part "
          + "size), or without the condition"
      )
    }
    do throws(StoreError) {
      let id = try await store.createMultipartUpload(request, context: context())
      let reference = UploadReference(key: request.key, uploadID: id)
      report(.createdUpload(reference))
      return reference
    } catch {
      report(.creationFailed(error))
      throw failure(error)
    }
  }

  /// Gives an upload up; one that is gone already is as good.
  func giveUp(_ reference: UploadReference) async throws(TransferError) {
    do throws(StoreError) { try await abort(reference) } catch { throw TransferError(error) }
  }

  /// Gives an upload up that no checkpoint knows, also after a pause.
  ///
  /// If the store doesn't do it, the log has the upload's id: nothing else has.
  func putAway(_ reference: UploadReference) async {
    do throws(StoreError) {
      try await Shielded.run { () async throws(StoreError) in try await abort(reference) }
    } catch {
      environment.log.write(
        .warning,
        "the unfinished upload \(reference.uploadID) of \(reference.key) is left at the store, which "
          + "didn't give it up: \(error)"
      )
    }
  }

  /// A part that was on its way may arrive after the abort and be kept; it is given up again until the
  /// store knows nothing of it.
  ///
  /// Source: Amazon S3 API Reference, "AbortMultipartUpload".
  private func abort(_ reference: UploadReference) async throws(StoreError) {
    do throws(StoreError) {
      for _ in 0..<Self.abortCountMax {
        try await store.abortMultipartUpload(reference, context: context())
        _ = try await store.listParts(reference, context: context())
      }
    } catch {
      guard error.kind == .noSuchUpload else { throw error }
    }
  }
}

extension StoreError {
  /// The store looked at a write's condition, and it doesn't hold.
  var isRefusedCondition: Bool { kind == .alreadyExists || kind == .preconditionFailed }
}
