internal import Core
internal import Support

extension ObjectCopy {
  /// How long a request without a sign of life may take, its retries included, beside the time that the
  /// bytes need.
  private static let silentPatience = Duration.seconds(120)
  /// A store that copies less than this per second is taken for dead.
  private static let byteRateMin = 1 << 20

  /// How long copying so many bytes may take.
  private func patience(forCopying byteCount: Int) -> Duration {
    Self.silentPatience + .seconds(byteCount / Self.byteRateMin)
  }

  /// Copies all by one request.
  func copyWhole(
    _ found: ObjectMetadata,
    _ put: PutRequest
  ) async throws(TransferError) -> ObjectMetadata {
    report(.started(size: found.size, partCount: 0, presentByteCount: 0))
    let steps = self.steps(put)
    let replaces = request.facts != .carried
    let metadata: ObjectMetadata
    do throws(StoreError) {
      metadata = try await target.copy(
        CopyRequest(
          source: request.source(found.version),
          target: put,
          replacesMetadata: replaces,
          replacesTags: replaces || request.tags != nil,
          known: found
        ),
        context: steps.context(patience(forCopying: found.size))
      )
    } catch {
      throw await failure(error, of: found, steps)
    }
    _ = try await steps.verified(StoredObject(metadata), crc64: found.crc64)
    return metadata
  }

  /// Copies range by range.
  func copyParts(
    _ found: ObjectMetadata,
    _ put: PutRequest,
    _ plan: PartPlan,
    _ earlier: UploadCheckpoint?
  ) async throws(TransferError) -> StoredObject {
    let steps = self.steps(put)
    let pacer = Pacer(rate: request.rateMax, time: environment.time)
    let task = MultipartTask(
      steps: steps,
      plan: plan,
      identity: CheckpointIdentity(
        store: request.sourceStoreName,
        version: found.version,
        task: request.task
      ),
      storeName: request.targetStoreName,
      checkpointPath: checkpointPath,
      parallel: PartLimits.parallel(request.parallel),
      crc64: found.crc64,
      faults: faults,
      send: { (upload, number, range) async throws(TransferError) in
        await pacer.pass(range.count, environment.timers)
        do throws(StoreError) {
          return try await target.uploadPartCopy(
            upload,
            partNumber: number,
            source: request.source(found.version),
            range: range,
            context: steps.context(patience(forCopying: range.count))
          )
        } catch {
          throw error.kind == .preconditionFailed
            ? .sourceChanged(was: found.version, isNow: nil) : TransferError(error)
        }
      },
      checkSource: { () async throws(TransferError) in try await checkUnchanged(found) }
    )
    return try await task.run(earlier)
  }

  /// Asks once more when all parts are there: not every store looks at the condition of a part.
  private func checkUnchanged(_ found: ObjectMetadata) async throws(TransferError) {
    let now: ObjectMetadata
    do throws(StoreError) {
      now = try await source.head(
        request.sourceKey,
        versionID: request.versionID,
        ifMatch: nil,
        context: steps(PutRequest(key: request.targetKey)).context()
      )
    } catch {
      throw TransferError(error)
    }
    let version = now.version.pinned(to: request.versionID)
    guard found.version.isSameContent(as: version) else {
      throw .sourceChanged(was: found.version, isNow: version)
    }
  }

  /// Tells whether a refused copy's source or its target was not as required.
  private func failure(
    _ error: StoreError,
    of found: ObjectMetadata,
    _ steps: MultipartSteps
  ) async -> TransferError {
    guard error.isRefusedCondition else { return TransferError(error) }
    do throws(TransferError) {
      try await checkUnchanged(found)
    } catch {
      if case .sourceChanged = error { return error }
    }
    return steps.failure(error)
  }
}
