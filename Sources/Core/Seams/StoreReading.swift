/// What goes along with every request.
package struct RequestContext: Sendable {
  /// When the call must have ended, all retries included; a moment of the store's time source.
  package var deadline: Instant
  /// How often a failed request may be tried again before the deadline; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// How long after its first failure in a row a request is tried again; nil leaves it to the deadline.
  ///
  /// Bytes take the time that they take, so the deadline of a body is far away; a store that doesn't answer
  /// is given up sooner.
  package var retryPatience: Duration?
  /// True if a reader waits for it; false for work done ahead.
  package var isUrgent: Bool

  /// Creates a context.
  package init(
    deadline: Instant,
    retryCountMax: Int? = nil,
    retryPatience: Duration? = nil,
    isUrgent: Bool = true
  ) {
    self.deadline = deadline
    self.retryCountMax = retryCountMax
    self.retryPatience = retryPatience
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

/// What must hold of an object that is read or copied from, or the request does nothing.
///
/// Source: RFC 9110 section 13.1.
package struct ReadConditions: Hashable, Sendable {
  /// It must be this version.
  package var ifMatch: ETag?
  /// It must not be this version.
  package var ifNoneMatch: ETag?
  /// It must have been modified after this moment; whole seconds count.
  package var ifModifiedSince: Timestamp?
  /// It must not have been modified after this moment; whole seconds count.
  package var ifUnmodifiedSince: Timestamp?

  /// Creates conditions of which only the first may be given.
  package init(ifMatch: ETag? = nil) {
    self.ifMatch = ifMatch
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
