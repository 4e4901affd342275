internal import Core
internal import Crypto

extension MultipartSteps {
  /// How often an upload that is there after all is completed.
  private static let completionCountMax = 3

  /// Makes the parts the object.
  ///
  /// - Parameters:
  ///   - reference: the upload.
  ///   - parts: all of its parts, each with its size.
  ///   - crc64: the checksum of the source's bytes, where it is known.
  /// - Returns: the object, of which the store has said that it is there.
  /// - Throws: `TransferError`: `.wrongChecksum` if the object is not what was sent; after any other the
  ///   upload may be completed again.
  func complete(
    _ reference: UploadReference,
    _ parts: [UploadedPart],
    crc64: UInt64?
  ) async throws(TransferError) -> StoredObject {
    let completion = Completion(parts, crc64: crc64)
    let isRecognizable =
      completion.etag != nil || (completion.crc64 != nil && tellsChecksums)
    let before = isRecognizable ? nil : await content(at: request.key)
    var count = 0
    while true {
      count += 1
      let error: StoreError
      switch await attempt(reference, completion) {
      case .success(let stored):
        return try await verified(stored, crc64: completion.crc64)
      case .failure(let failure): error = failure
      }
      if CompletionVerdict.isInDoubt(after: error) {
        switch await verdict(on: reference, completion, before: before) {
        case .done(let metadata):
          return try await verified(StoredObject(metadata), crc64: completion.crc64)
        case .notDone where count < Self.completionCountMax && !error.isRefusedCondition:
          continue
        case .notDone, .unknown:
          break
        }
      }
      report(.completionFailed(error))
      throw failure(error)
    }
  }

  /// Looks whether an upload that the store doesn't know any more has become its object.
  ///
  /// - Returns: the object; nil if nothing shows that it is there.
  /// - Throws: `TransferError` if the store can't be asked: what it has must not be sent again then, to be
  ///   refused for what is there.
  func completed(
    _ parts: [UploadedPart],
    crc64: UInt64?
  ) async throws(TransferError) -> StoredObject? {
    let completion = Completion(parts, crc64: crc64)
    let found = try await found()
    let verdict = CompletionVerdict(
      isUploadThere: false,
      found: found,
      size: completion.size,
      etag: completion.etag,
      crc64: completion.crc64,
      before: nil
    )
    guard case .done(let metadata) = verdict else { return nil }
    return StoredObject(metadata)
  }

  /// What is at the key; nil if nothing is.
  func found() async throws(TransferError) -> ObjectMetadata? {
    do throws(StoreError) {
      return try await store.head(request.key, versionID: nil, ifMatch: nil, context: context())
    } catch {
      guard error.kind == .notFound else { throw TransferError(error) }
      return nil
    }
  }

  /// The store computes a checksum of each object.
  private var tellsChecksums: Bool { store.capabilities.wholeObjectChecksum == .crc64 }

  private func attempt(
    _ reference: UploadReference,
    _ completion: Completion
  ) async -> Result<StoredObject, StoreError> {
    do throws(StoreError) {
      let answer = try await store.completeMultipartUpload(
        reference,
        parts: completion.parts,
        condition: request.condition,
        context: context(Self.completionPatience)
      )
      return .success(
        StoredObject(
          key: request.key,
          size: completion.size,
          etag: answer.etag,
          versionID: answer.versionID,
          crc64: answer.crc64
        )
      )
    } catch {
      return .failure(error)
    }
  }

  /// Asks the store what became of a completion.
  private func verdict(
    on reference: UploadReference,
    _ completion: Completion,
    before: CompletionVerdict.KeyContent?
  ) async -> CompletionVerdict {
    var isUploadThere: Bool?
    do throws(StoreError) {
      _ = try await store.listParts(reference, context: context())
      isUploadThere = true
    } catch {
      if error.kind == .noSuchUpload { isUploadThere = false }
    }
    let found = try? await store.head(
      request.key,
      versionID: nil,
      ifMatch: nil,
      context: context()
    )
    return CompletionVerdict(
      isUploadThere: isUploadThere,
      found: found,
      size: completion.size,
      etag: completion.etag,
      crc64: completion.crc64,
      before: before
    )
  }

  /// What is at a key; nil if it could not be asked.
  private func content(at key: ObjectKey) async -> CompletionVerdict.KeyContent? {
    do throws(StoreError) {
      let metadata = try await store.head(key, versionID: nil, ifMatch: nil, context: context())
      return .version(metadata.version)
    } catch {
      return error.kind == .notFound ? .nothing : nil
    }
  }

  /// Compares the object's checksum with the source's, where there are both.
  func verified(
    _ stored: StoredObject,
    crc64 expected: UInt64?
  ) async throws(TransferError) -> StoredObject {
    guard let expected else { return stored }
    var stored = stored
    if stored.crc64 == nil, tellsChecksums {
      let metadata = try? await store.head(
        stored.key,
        versionID: nil,
        ifMatch: stored.etag,
        context: context()
      )
      stored.crc64 = metadata?.crc64
    }
    if let actual = stored.crc64, actual != expected {
      throw .wrongChecksum(expected: expected, actual: actual)
    }
    return stored
  }
}

/// What completing an upload makes, as far as its parts tell.
private struct Completion: Sendable {
  /// By ascending number.
  let parts: [UploadedPart]
  let size: Int
  /// The object's tag, if the store makes tags as most do.
  let etag: ETag?
  /// The object's checksum.
  let crc64: UInt64?

  init(_ parts: [UploadedPart], crc64: UInt64?) {
    self.parts = parts.sorted { $0.partNumber < $1.partNumber }
    size = parts.reduce(0) { $0 + ($1.size ?? 0) }
    etag = ETag.ofParts(parts)
    self.crc64 = crc64 ?? Self.combined(self.parts)
  }

  /// The checksum of all parts from those of each; nil unless all are known.
  private static func combined(_ parts: [UploadedPart]) -> UInt64? {
    var sum: UInt64 = 0
    for part in parts {
      guard let crc = part.crc64, let size = part.size else { return nil }
      sum = CRC64.combine(sum, crc, lengthB: size)
    }
    return sum
  }
}
