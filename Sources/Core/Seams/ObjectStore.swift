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

  /// Returns the store's time when this machine's clock says `own`, as far as its last answer told; `own` if
  /// none has.
  func storeTime(at own: Timestamp) -> Timestamp

  /// Returns what the store says of the object at `key`.
  ///
  /// - Throws: `.notFound` if there is none; `.preconditionFailed` if a condition doesn't hold.
  func head(
    _ key: ObjectKey,
    versionID: String?,
    conditions: ReadConditions,
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

  /// Stores upload part `partNumber` (1 to 10,000) and returns what the store has then.
  func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart

  /// Copies a range of an object into upload part `partNumber` and returns what the store has then.
  func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart

  /// Makes the uploaded parts the object at the upload's key.
  func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> CompletedUpload

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

  /// Returns the uploads to keys that start with `prefix` and were neither completed nor given up.
  func listMultipartUploads(
    prefix: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> [UnfinishedUpload]

  /// Removes objects, as many as there are; no error for one that isn't there.
  ///
  /// - Returns: why, by key, for those that could not be removed.
  func delete(
    _ keys: [ObjectKey],
    context: RequestContext
  ) async throws(StoreError) -> [ObjectKey: StoreError]

  /// Returns an object's tags by name.
  func tags(
    of key: ObjectKey,
    versionID: String?,
    context: RequestContext
  ) async throws(StoreError) -> [String: String]

  /// Renames an object, or a directory where there are such, in one step on the server.
  ///
  /// - Throws: `.unsupported` if the bucket has no such operation; nothing happened then.
  func rename(
    _ request: RenameRequest,
    context: RequestContext
  ) async throws(StoreError)

  /// Replaces an object's headers and user metadata where it is; what `request` lacks is gone then.
  ///
  /// - Throws: `.unsupported` if the store can't.
  func replaceMetadata(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError)

  /// Sets an object's modification time.
  ///
  /// - Throws: `.unsupported` if the store can't.
  func setModificationTime(
    of key: ObjectKey,
    to time: Timestamp,
    context: RequestContext
  ) async throws(StoreError)

  /// Tells by one request whether a key is an object, the beginning of others, or nothing.
  ///
  /// - Throws: `.unsupported` if the store can't.
  func status(
    of key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> KeyStatus

  /// Removes a directory and all below it by one request.
  ///
  /// - Throws: `.unsupported` if the store can't.
  func deleteDirectory(
    _ key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError)

  /// Asks for an archived object to be readable for some days.
  ///
  /// - Throws: `.unsupported` if the store has no archive.
  func restore(
    _ key: ObjectKey,
    days: Int,
    tier: RestoreTier,
    context: RequestContext
  ) async throws(StoreError)

  /// Makes an object that stands for another.
  ///
  /// - Throws: `.unsupported` if the store has no links.
  func putLink(
    _ key: ObjectKey,
    to target: LinkTarget,
    context: RequestContext
  ) async throws(StoreError)

  /// Returns where the link at `key` leads.
  ///
  /// - Throws: `.unsupported` if the store has no links.
  func linkTarget(
    of key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> LinkTarget
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

extension ObjectStore {
  /// The same time: a store that has no clock of its own has this machine's.
  package func storeTime(at own: Timestamp) -> Timestamp { own }
}
