internal import Core
internal import Support

extension MultipartSteps {
  /// How long a body may be on its way.
  ///
  /// A part may be 5 GiB on a slow line; what a store that stalls costs is the transport's business.
  private static let bodyPatience = Duration.seconds(24 * 3600)

  /// Stores an object that is one part by one request.
  func putWhole(_ bytes: [UInt8]) async throws(TransferError) -> StoredObject {
    try await putWhole(bytes.isEmpty ? .empty : .bytes(bytes)) { (kinds) throws(TransferError) in
      PartChecksums.of(bytes, kinds)
    }
  }

  /// Stores an object by one request.
  ///
  /// - Parameters:
  ///   - body: its bytes.
  ///   - checksums: what the bytes are.
  /// - Returns: what the store says of the object.
  /// - Throws: `TransferError`: `.targetChanged` if the condition doesn't hold.
  func putWhole(
    _ body: BodySource,
    checksums: (ChecksumKinds) async throws(TransferError) -> PartChecksums
  ) async throws(TransferError) -> StoredObject {
    report(.started(size: body.count, partCount: 0, presentByteCount: 0))
    let metadata: ObjectMetadata
    do throws(StoreError) {
      metadata = try await store.put(request, body: body, context: context(Self.bodyPatience))
    } catch {
      throw failure(error)
    }
    // The store's tag of a whole object the store's client compares.
    let kinds = ChecksumKinds(crc64: PartProof(store.capabilities).kinds.crc64, md5: false)
    return try await verified(StoredObject(metadata), crc64: try await checksums(kinds).crc64)
  }

  /// Sends a part, once more if the store got something else than was sent.
  ///
  /// - Parameters:
  ///   - number: the part's number, from 1.
  ///   - upload: the upload that it belongs to.
  ///   - body: its bytes.
  ///   - proof: which holds the store's answer against what was sent.
  ///   - checksums: what the bytes are; computed anew before each try.
  /// - Returns: the part as the store has it.
  /// - Throws: `TransferError`, when all tries have failed.
  func uploadPart(
    _ number: Int,
    of upload: UploadReference,
    _ body: BodySource,
    _ proof: PartProof,
    checksums: (ChecksumKinds) async throws(TransferError) -> PartChecksums
  ) async throws(TransferError) -> UploadedPart {
    var retryCount = 0
    while true {
      let sums = try await checksums(proof.kinds)
      let error: StoreError
      do throws(StoreError) {
        let part = try await store.uploadPart(
          upload,
          partNumber: number,
          body: body,
          context: context(Self.bodyPatience)
        )
        return try proof.checked(part, sums, of: request.key)
      } catch let failure {
        error = failure
      }
      guard error.kind == .invalidAnswer, retryCount < retryCountMax ?? 3 else {
        throw TransferError(error)
      }
      retryCount += 1
    }
  }
}
