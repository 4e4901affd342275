internal import Core
internal import Support

extension Bucket {
  /// Begins a multipart upload by hand: create, send or copy parts, complete.
  ///
  /// `upload` and `copy` do all of this, and resume; by hand nothing is recorded.
  ///
  /// - Parameters:
  ///   - key: the key of the object to be.
  ///   - facts: headers, user metadata and tags; a part copy takes none over.
  ///   - storageClass: the storage class in the store's spelling; nil is the store's standard.
  /// - Returns: the upload, which the store keeps until it is completed or aborted.
  /// - Throws: `DipperError` with the store's reason.
  public func createMultipartUpload(
    _ key: Key,
    facts: ObjectFacts = ObjectFacts(),
    storageClass: String? = nil
  ) async throws(DipperError) -> MultipartUpload {
    let request = PutRequest(key: key.objectKey, facts, storageClass)
    do throws(StoreError) {
      let id = try await store.createMultipartUpload(request, context: .byHand(.seconds(60)))
      return MultipartUpload(bucket: self, key: key, id: id)
    } catch {
      throw DipperError(error)
    }
  }

  /// Returns an upload that was begun before, by its id.
  public func multipartUpload(_ key: Key, id: String) -> MultipartUpload {
    MultipartUpload(bucket: self, key: key, id: id)
  }
}

/// A multipart upload that is driven by hand.
public struct MultipartUpload: Sendable {
  /// A part that the store has.
  public struct Part: Hashable, Sendable {
    /// Its number, 1 to 10,000.
    public let number: Int
    /// The store's tag of it, without quotes.
    public let etag: String
    /// Its bytes; nil if not known.
    public let size: Int?

    /// Creates a part from what an earlier answer said; quotes around the tag are taken off.
    public init(number: Int, etag: String, size: Int? = nil) {
      self.number = number
      self.etag = ETag(etag).value
      self.size = size
    }

    init(_ part: UploadedPart) {
      self.init(number: part.partNumber, etag: part.etag.value, size: part.size)
    }

    var core: UploadedPart {
      UploadedPart(partNumber: number, etag: ETag("\"\(etag)\""), size: size)
    }
  }

  /// The bucket that gets the object.
  public let bucket: Bucket
  /// The key of the object to be.
  public let key: Bucket.Key
  /// The store's id for the upload.
  public let id: String

  private var reference: UploadReference {
    UploadReference(key: key.objectKey, uploadID: id)
  }

  /// Copies bytes of an object into a part, on the server.
  ///
  /// - Parameters:
  ///   - number: the part's number, 1 to 10,000.
  ///   - sourceKey: the object to copy from.
  ///   - source: the bucket that it is in; nil is the upload's own. It must be of the same store.
  ///   - range: which bytes of it; every part but the last has at least 5 MiB.
  ///   - options: the source's version and conditions; the rest is ignored.
  /// - Returns: the part, to be named when the upload is completed.
  /// - Throws: `DipperError`; `.changed` if a condition doesn't hold.
  public func copyPart(
    _ number: Int,
    from sourceKey: Bucket.Key,
    in source: Bucket? = nil,
    range: Range<Int>,
    options: CopyOptions = CopyOptions()
  ) async throws(DipperError) -> Part {
    let source = source ?? bucket
    if let obstacle = bucket.obstacle(toCopyingFrom: source) {
      throw DipperError(.invalid, obstacle)
    }
    guard range.lowerBound >= 0, !range.isEmpty else {
      throw DipperError(.invalid, "the range of a part must have bytes, and begin at 0 or later")
    }
    var copySource = CopySource(
      bucket: source.location == bucket.location ? nil : source.url.bucket,
      key: sourceKey.objectKey,
      versionID: options.versionID
    )
    copySource.conditions = options.conditions.core
    do throws(StoreError) {
      return Part(
        try await bucket.store.uploadPartCopy(
          reference,
          partNumber: number,
          source: copySource,
          range: ByteRange(range.lowerBound, range.upperBound),
          context: .byHand(.seconds(120 + range.count >> 20), options.parts.retryCountMax)
        )
      )
    } catch {
      throw DipperError(error)
    }
  }

  /// Sends bytes as a part.
  ///
  /// - Parameters:
  ///   - number: the part's number, 1 to 10,000.
  ///   - bytes: the part; every one but the last has at least 5 MiB.
  /// - Returns: the part, to be named when the upload is completed.
  /// - Throws: `DipperError` with the store's reason.
  public func uploadPart(_ number: Int, _ bytes: [UInt8]) async throws(DipperError) -> Part {
    do throws(StoreError) {
      return Part(
        try await bucket.store.uploadPart(
          reference,
          partNumber: number,
          body: bytes.isEmpty ? .empty : .bytes(bytes),
          context: .byHand(.seconds(86_400))
        )
      )
    } catch {
      throw DipperError(error)
    }
  }

  /// Makes the parts the object.
  ///
  /// - Parameter parts: the parts, in any order.
  /// - Returns: what the store says of the object.
  /// - Throws: `DipperError` with the store's reason; the upload is still there then.
  public func complete(_ parts: [Part]) async throws(DipperError) -> ObjectInfo {
    let sorted = parts.sorted { $0.number < $1.number }.map(\.core)
    do throws(StoreError) {
      let completed = try await bucket.store.completeMultipartUpload(
        reference,
        parts: sorted,
        condition: .none,
        context: .byHand(.seconds(600))
      )
      return ObjectInfo(key, completed, size: sorted.reduce(0) { $0 + ($1.size ?? 0) })
    } catch {
      throw DipperError(error)
    }
  }

  /// Gives the upload up and frees its parts.
  ///
  /// - Throws: `DipperError` with the store's reason.
  public func abort() async throws(DipperError) {
    do throws(StoreError) {
      try await bucket.store.abortMultipartUpload(reference, context: .byHand(.seconds(60)))
    } catch {
      throw DipperError(error)
    }
  }

  /// The parts that the store has, by ascending number.
  public var parts: [Part] {
    get async throws(DipperError) {
      do throws(StoreError) {
        return try await bucket.store.listParts(reference, context: .byHand(.seconds(60)))
          .map { Part($0) }
      } catch {
        throw DipperError(error)
      }
    }
  }
}

extension RequestContext {
  /// What goes along with a request that a caller makes by hand.
  fileprivate static func byHand(
    _ patience: Duration,
    _ retryCountMax: Int = PartOptions().retryCountMax
  ) -> RequestContext {
    RequestContext(deadline: SystemClock().now + patience, retryCountMax: retryCountMax)
  }
}
