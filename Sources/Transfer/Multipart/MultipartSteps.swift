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
  let environment: TransferEnvironment
  let report: @Sendable (MultipartEvent) -> Void

  /// How long a request takes at most that moves no object's bytes.
  static let shortPatience = Duration.seconds(60)
  /// How long completing may take.
  ///
  /// Source: Amazon S3 API Reference, "CompleteMultipartUpload": it can take several minutes.
  static let completionPatience = Duration.seconds(600)
  /// How often an upload that is still there is given up once more.
  private static let abortCountMax = 3

  /// What goes along with a request that takes up to `patience`.
  func context(_ patience: Duration? = nil) -> RequestContext {
    RequestContext(
      deadline: environment.time.now + (patience ?? Self.shortPatience),
      retryCountMax: retryCountMax
    )
  }

  /// What a failure of the store means where the target's condition may be its reason.
  func failure(_ error: StoreError) -> TransferError {
    error.isRefusedCondition && request.condition != .none
      ? .targetChanged(error) : TransferError(error)
  }

  /// Begins an upload.
  ///
  /// - Throws: `.invalid` if the store would not look at the condition when it is completed.
  func create() async throws(TransferError) -> UploadReference {
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
  ///
  /// A part that was on its way may arrive after the abort and be kept; it is given up again until the
  /// store knows nothing of it.
  ///
  /// Source: Amazon S3 API Reference, "AbortMultipartUpload".
  func giveUp(_ reference: UploadReference) async throws(TransferError) {
    do throws(StoreError) {
      for _ in 0..<Self.abortCountMax {
        try await store.abortMultipartUpload(reference, context: context())
        _ = try await store.listParts(reference, context: context())
      }
    } catch {
      guard error.kind == .noSuchUpload else { throw TransferError(error) }
    }
  }
}

extension StoreError {
  /// The store looked at a write's condition, and it doesn't hold.
  var isRefusedCondition: Bool { kind == .alreadyExists || kind == .preconditionFailed }
}
