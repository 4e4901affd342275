package import Core

/// A protocol that stores speak: everything in which one differs from another, as values.
///
/// Conformers: `S3Dialect`, `TOSDialect`. A request says what goes on the wire; `Endpoint` and
/// `Signer` do the rest. What a protocol doesn't have throws `.unsupported` before anything is sent.
package protocol WireDialect: Sendable {
  /// How requests are built, the common ones and the protocol's own.
  associatedtype Requests: WireRequests
  /// How answers are read.
  associatedtype Answers: WireAnswers

  /// The bucket's name.
  var bucket: String { get }
  /// How requests are signed.
  var signature: SignatureDialect { get }
  /// The header field of an answer with the store's id for it.
  var requestIDField: String { get }
  /// The most keys that one request removes.
  var deletedKeyCountMax: Int { get }
  /// True if a delete can name the version that must be there.
  var hasConditionalDelete: Bool { get }

  /// Returns what a store of this protocol can do; nil is a bucket that hasn't been asked yet.
  func capabilities(of bucket: BucketFacts?) -> StoreCapabilities
  /// Returns the endpoint of another region, for an `endpoint` that was made of its region; nil if
  /// there is none.
  func endpoint(_ endpoint: Endpoint, in region: String) -> Endpoint?
  /// Returns what to call the place behind `endpoint`, the same however it is reached.
  func place(of endpoint: Endpoint) -> String

  /// Returns what an answer that isn't a success means.
  func error(_ answer: WireAnswer, to request: WireRequest) -> StoreError
  /// Returns what could help against a failure.
  func remedy(for failure: StoreError) -> RetryPolicy.Remedy
  /// Returns true if a directory was not removed because there is something in it.
  func meansNotEmpty(_ failure: StoreError) -> Bool
  /// Returns the region that any answer says the bucket is in.
  func regionHint(_ answer: WireAnswer) -> String?
  /// The checksum that goes along with a body unless another is chosen; nil is none.
  var usualChecksum: ChecksumKind? { get }
  /// Returns CRC-64/XZ that the store computed of the body it took; nil if it doesn't tell.
  func bodyChecksum(_ answer: WireAnswer) -> UInt64?

  /// Returns the request for a range of an object, whose answer streams.
  func getObject(_ request: GetRequest) throws(StoreError) -> WireRequest
  /// Reads the head of the answer to `getObject`; see `WireAnswers.objectRange`.
  func objectRange(
    _ answer: WireAnswer,
    to request: WireRequest,
    get: GetRequest
  ) throws(StoreError) -> ObjectMetadata

  /// Asks for an object's facts.
  func headObject(
    _ key: ObjectKey,
    versionID: String?,
    conditions: ReadConditions
  ) throws(StoreError) -> WireCall<ObjectMetadata>
  /// Asks for a page of a listing.
  func listObjects(
    _ request: ListRequest,
    in facts: BucketFacts?
  ) throws(StoreError) -> WireCall<ListAnswer>
  /// Asks for the bucket's facts.
  func headBucket() throws(StoreError) -> WireCall<BucketFacts>
  /// Stores an object.
  func putObject(
    _ request: PutRequest,
    bodyHash: WireRequest.BodyHash
  ) throws(StoreError) -> WireCall<WriteAnswer>
  /// Removes an object.
  func deleteObject(_ key: ObjectKey, ifMatch: ETag?) throws(StoreError) -> WireCall<Void>
  /// Returns true if a key can be removed together with others by one request.
  func canDeleteTogether(_ key: ObjectKey) -> Bool
  /// Removes objects, at most `deletedKeyCountMax`, all of which can be removed together.
  func deleteObjects(
    _ keys: [ObjectKey]
  ) throws(StoreError) -> WireCall<[ObjectKey: StoreError]>
  /// Copies an object on the server.
  func copyObject(_ request: CopyRequest) throws(StoreError) -> WireCall<WriteAnswer>
  /// Asks for an object's tags.
  func objectTags(
    _ key: ObjectKey,
    versionID: String?
  ) throws(StoreError) -> WireCall<[String: String]>

  /// Starts an upload and returns its id.
  func createMultipartUpload(_ request: PutRequest) throws(StoreError) -> WireCall<String>
  /// Stores a part.
  func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    bodyHash: WireRequest.BodyHash
  ) throws(StoreError) -> WireCall<PartAnswer>
  /// Copies a range of an object into a part.
  func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange
  ) throws(StoreError) -> WireCall<PartAnswer>
  /// Makes parts the object.
  func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition
  ) throws(StoreError) -> WireCall<CompletedUpload>
  /// Gives an upload up.
  func abortMultipartUpload(_ upload: UploadReference) throws(StoreError) -> WireCall<Void>
  /// Asks for a page of an upload's parts.
  func listParts(
    _ upload: UploadReference,
    after marker: Int?
  ) throws(StoreError) -> WireCall<PartsPage>
  /// Asks for a page of the uploads that are under way.
  func listMultipartUploads(
    prefix: ObjectKey,
    after marker: UploadReference?
  ) throws(StoreError) -> WireCall<UploadsPage>

  /// Renames an object or a directory.
  func rename(
    _ request: RenameRequest,
    in bucket: BucketFacts?
  ) throws(StoreError) -> WireCall<Void>
  /// Replaces an object's headers and user metadata where it is.
  func replaceMetadata(_ request: PutRequest) throws(StoreError) -> WireCall<Void>
  /// Sets an object's modification time.
  func setModificationTime(
    of key: ObjectKey,
    to time: Timestamp
  ) throws(StoreError) -> WireCall<Void>
  /// Asks what a key is.
  func status(
    of key: ObjectKey,
    in bucket: BucketFacts
  ) throws(StoreError) -> WireCall<KeyStatus>
  /// Removes a directory and all below it.
  func deleteDirectory(_ key: ObjectKey) throws(StoreError) -> WireCall<Void>
  /// Asks for an archived object to be readable.
  func restore(
    _ key: ObjectKey,
    days: Int,
    tier: RestoreTier
  ) throws(StoreError) -> WireCall<Void>
  /// Makes a link.
  func putLink(_ key: ObjectKey, to target: LinkTarget) throws(StoreError) -> WireCall<Void>
  /// Asks where a link leads.
  func linkTarget(of key: ObjectKey) throws(StoreError) -> WireCall<LinkTarget>
}
