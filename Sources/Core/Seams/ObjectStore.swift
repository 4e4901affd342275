/// A bucket: the seam between everything that transfers and everything that speaks a protocol.
///
/// Conformers: `RemoteStore` (S3, later TOS), `LocalStore` (a directory) and `SimulatedStore` (tests);
/// one contract suite runs against all three. A conformer retries what its policy lets it retry
/// and throws only what is left; it never returns bytes of another range or version than asked.
/// Every call ends by `context.deadline` and at once when its task is cancelled.
package protocol ObjectStore: AnyObject, Sendable {
  /// The bucket as the user named it, such as `s3://data`, without a prefix.
  var name: String { get }

  /// What this store can do: known or probed, never assumed.
  var capabilities: StoreCapabilities { get }

  /// Returns what the store says of the object at `key`.
  ///
  /// - Throws: `.notFound` if there is none; `.preconditionFailed` if `ifMatch` names another version.
  func head(
    _ key: ObjectKey,
    versionID: String?,
    ifMatch: ETag?,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata

  /// Fetches bytes of an object and hands them to `sink` in order, without a gap or an overlap.
  ///
  /// After a dropped connection the call goes on behind the last byte that the sink took. When it
  /// returns, the sink has exactly `request.range`.
  ///
  /// - Throws: `.preconditionFailed` if the object is no longer `request.ifMatch`; `.sinkRefused`
  ///   if the sink threw. Bytes handed over before the failure are good.
  func get(
    _ request: GetRequest,
    into sink: any BodySink,
    context: RequestContext
  ) async throws(StoreError) -> GetAnswer

  /// Returns one page of a listing.
  func list(
    _ request: ListRequest,
    context: RequestContext
  ) async throws(StoreError) -> ListPage

  /// Checks that the bucket exists and may be read, and learns where it lives.
  func probe(context: RequestContext) async throws(StoreError)

  /// Stores an object in one request; other clients see the old object or the whole new one.
  func put(
    _ request: PutRequest,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata

  /// Removes the object at `key`; no error if there is none.
  func delete(
    _ key: ObjectKey,
    ifMatch: ETag?,
    context: RequestContext
  ) async throws(StoreError)

  /// Copies an object on the server, within the store.
  func copy(
    _ request: CopyRequest,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata

  /// Starts a multipart upload and returns its id.
  func createMultipartUpload(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) -> String

  /// Stores upload part `partNumber` (1 to 10,000) and returns its tag.
  func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> ETag

  /// Copies a range of an object into upload part `partNumber` and returns its tag.
  func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> ETag

  /// Makes the uploaded parts the object at the upload's key.
  func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> ETag

  /// Gives an upload up and frees its parts.
  func abortMultipartUpload(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError)

  /// Returns the parts that the store has of an upload, by ascending number.
  func listParts(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) -> [UploadedPart]
}

/// Takes the bytes of a body, in order, on whatever thread they arrive on.
package protocol BodySink: AnyObject, Sendable {
  /// Takes the next bytes of the object; `offset` is where they lie in it.
  ///
  /// - Throws: `DiskFailure` if they can't be taken; the transfer then ends with `.sinkRefused`.
  func receive(_ bytes: RawSpan, at offset: Int) throws(DiskFailure)
}

/// The bytes of a request's body.
package enum BodySource: Sendable {
  /// No bytes.
  case empty
  /// These bytes.
  case bytes([UInt8])
  /// `range` of an open file; the descriptor stays open and its bytes unchanged until the call ends.
  case file(descriptor: Int32, range: ByteRange)

  /// The number of bytes.
  package var count: Int {
    switch self {
    case .empty: 0
    case .bytes(let bytes): bytes.count
    case .file(_, let range): range.count
    }
  }
}

/// What goes along with every request.
package struct RequestContext: Sendable {
  /// When the call must have ended, all retries included; a moment of the store's time source.
  package var deadline: Instant
  /// How often a failed request may be tried again before the deadline; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// True if a reader waits for it; false for work done ahead.
  package var isUrgent: Bool

  /// Creates a context.
  package init(deadline: Instant, retryCountMax: Int? = nil, isUrgent: Bool = true) {
    self.deadline = deadline
    self.retryCountMax = retryCountMax
    self.isUrgent = isUrgent
  }
}

/// What to fetch: a range of one version.
package struct GetRequest: Hashable, Sendable {
  /// The object's key.
  package var key: ObjectKey
  /// The bytes wanted; not empty, and inside the object.
  package var range: ByteRange
  /// The version they must belong to; nil asks for whatever is there.
  package var ifMatch: ETag?
  /// A particular version's id, in a bucket that keeps versions.
  package var versionID: String?
  /// The object's size, to check the answer's total against; nil if unknown.
  package var objectSize: Int?
  /// When the version was last modified: what tells it from others if it has no tag.
  package var lastModified: Timestamp?

  /// Creates a request.
  package init(
    key: ObjectKey,
    range: ByteRange,
    ifMatch: ETag?,
    versionID: String? = nil,
    objectSize: Int? = nil
  ) {
    precondition(!range.isEmpty, "an empty range can't be asked for")
    self.key = key
    self.range = range
    self.ifMatch = ifMatch
    self.versionID = versionID
    self.objectSize = objectSize
  }

  /// A request for bytes of `version`.
  package init(version: ObjectVersion, range: ByteRange) {
    self.init(
      key: version.key,
      range: range,
      ifMatch: version.etag,
      versionID: version.versionID,
      objectSize: version.size
    )
    if version.etag == nil { lastModified = version.lastModified }
  }
}

/// What came with the bytes.
package struct GetAnswer: Hashable, Sendable {
  /// The facts of the answer's head.
  package var metadata: ObjectMetadata
  /// How many requests it took beyond the first.
  package var retryCount: Int

  /// Creates an answer.
  package init(metadata: ObjectMetadata, retryCount: Int) {
    self.metadata = metadata
    self.retryCount = retryCount
  }
}

/// Which keys to list.
package struct ListRequest: Hashable, Sendable {
  /// Only keys that start with it.
  package var prefix: ObjectKey
  /// Groups keys by their first `/` behind the prefix into common prefixes.
  package var isDelimited: Bool
  /// Where the previous page ended; nil starts over.
  package var continuationToken: String?
  /// Only keys after it; for the first page only.
  package var startAfter: ObjectKey?
  /// At most this many keys and prefixes, 1 to 1,000.
  package var countMax: Int

  /// Creates a request.
  package init(
    prefix: ObjectKey,
    isDelimited: Bool,
    continuationToken: String? = nil,
    startAfter: ObjectKey? = nil,
    countMax: Int = 1000
  ) {
    self.prefix = prefix
    self.isDelimited = isDelimited
    self.continuationToken = continuationToken
    self.startAfter = startAfter
    self.countMax = countMax
  }
}

/// One page of a listing: at most 1,000 entries, possibly none although more follow.
package struct ListPage: Hashable, Sendable {
  /// The objects, in the store's order (not always byte order).
  package var objects: [ObjectMetadata]
  /// The common prefixes, each ending in `/`, in the store's order.
  package var commonPrefixes: [ObjectKey]
  /// Asks for the next page; nil on the last.
  package var nextToken: String?

  /// Creates a page.
  package init(objects: [ObjectMetadata], commonPrefixes: [ObjectKey], nextToken: String?) {
    self.objects = objects
    self.commonPrefixes = commonPrefixes
    self.nextToken = nextToken
  }
}

/// On what condition a write may replace what is there.
package enum WriteCondition: Hashable, Sendable {
  /// Whatever is there.
  case none
  /// Only if nothing is there.
  case ifAbsent
  /// Only if this version is there.
  case ifMatch(ETag)
}

/// What to store, and with which facts.
package struct PutRequest: Hashable, Sendable {
  /// The object's key.
  package var key: ObjectKey
  /// On what condition.
  package var condition: WriteCondition
  /// The media type; nil leaves it to the store.
  package var contentType: String?
  /// User metadata by lower-case name.
  package var userMetadata: [String: String]
  /// The storage class; nil is the store's standard.
  package var storageClass: String?

  /// Creates a request.
  package init(
    key: ObjectKey,
    condition: WriteCondition = .none,
    contentType: String? = nil,
    userMetadata: [String: String] = [:],
    storageClass: String? = nil
  ) {
    self.key = key
    self.condition = condition
    self.contentType = contentType
    self.userMetadata = userMetadata
    self.storageClass = storageClass
  }
}

/// An object to copy from.
package struct CopySource: Hashable, Sendable {
  /// Another bucket's name; nil is the store's own.
  package var bucket: String?
  /// The object's key.
  package var key: ObjectKey
  /// A particular version's id.
  package var versionID: String?
  /// The version that it must be.
  package var ifMatch: ETag?

  /// Creates a source.
  package init(
    bucket: String? = nil,
    key: ObjectKey,
    versionID: String? = nil,
    ifMatch: ETag? = nil
  ) {
    self.bucket = bucket
    self.key = key
    self.versionID = versionID
    self.ifMatch = ifMatch
  }
}

/// What to copy where.
package struct CopyRequest: Hashable, Sendable {
  /// Where the bytes come from.
  package var source: CopySource
  /// The new object and, if `replacesMetadata`, its facts.
  package var target: PutRequest
  /// True to give the copy the target's facts instead of the source's.
  package var replacesMetadata: Bool

  /// Creates a request.
  package init(source: CopySource, target: PutRequest, replacesMetadata: Bool = false) {
    self.source = source
    self.target = target
    self.replacesMetadata = replacesMetadata
  }
}

/// A multipart upload that is under way.
package struct UploadReference: Hashable, Sendable {
  /// The key that the upload will become.
  package var key: ObjectKey
  /// The store's id for it.
  package var uploadID: String

  /// Creates a reference.
  package init(key: ObjectKey, uploadID: String) {
    self.key = key
    self.uploadID = uploadID
  }
}

/// A part of a multipart upload that the store has.
package struct UploadedPart: Hashable, Sendable {
  /// Its number, 1 to 10,000.
  package var partNumber: Int
  /// The tag that completing must name.
  package var etag: ETag
  /// Its size in bytes; nil if not known.
  package var size: Int?

  /// Creates a part.
  package init(partNumber: Int, etag: ETag, size: Int? = nil) {
    self.partNumber = partNumber
    self.etag = etag
    self.size = size
  }
}

/// What a store can do; known per dialect and bucket, or probed, never assumed.
package struct StoreCapabilities: Hashable, Sendable {
  /// The store renames an object without copying it.
  package var hasNativeRename = false
  /// `If-None-Match: *` on PUT is honoured; nil if not known yet.
  package var hasConditionalCreate: Bool?
  /// `If-Match` on PUT is honoured; nil if not known yet.
  package var hasConditionalReplace: Bool?
  /// Listings come in the byte order of their keys; nil if not known yet.
  package var listsInByteOrder: Bool?
  /// Directories exist by themselves, not only as prefixes.
  package var hasDirectories = false

  /// Creates capabilities of a store of which nothing is known.
  package init() {}
}
