/// On what condition a write may replace what is there.
package enum WriteCondition: Hashable, Sendable {
  /// Whatever is there.
  case none
  /// Only if nothing is there.
  case ifAbsent
  /// Only if this version is there.
  case ifMatch(ETag)

  /// True if a certain version must be there.
  package var namesVersion: Bool {
    if case .ifMatch = self { true } else { false }
  }
}

/// What to store, and with which facts.
package struct PutRequest: Hashable, Sendable {
  /// The object's key.
  package var key: ObjectKey
  /// On what condition.
  package var condition: WriteCondition
  /// What its bytes are served with; a field that isn't given is left to the store.
  package var headers: ContentHeaders
  /// User metadata by lower-case name.
  package var userMetadata: [String: String]
  /// Tags by name.
  package var tags: [String: String] = [:]
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
    headers = ContentHeaders(contentType: contentType)
    self.userMetadata = userMetadata
    self.storageClass = storageClass
  }

  /// Creates a request for an object that says of itself what `metadata` says of another.
  ///
  /// Tags aren't among it: a store tells them apart only when asked.
  package init(key: ObjectKey, like metadata: ObjectMetadata, condition: WriteCondition = .none) {
    self.key = key
    self.condition = condition
    headers = metadata.headers
    userMetadata = metadata.userMetadata ?? [:]
    storageClass = metadata.storageClass
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
  /// What must hold of it, or nothing is copied.
  package var conditions: ReadConditions

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
    conditions = ReadConditions(ifMatch: ifMatch)
  }

  /// The version that it must be.
  package var ifMatch: ETag? {
    get { conditions.ifMatch }
    set { conditions.ifMatch = newValue }
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
  /// True to give the copy the target's tags instead of the source's.
  package var replacesTags: Bool
  /// What the store has said of the source, which must be the version that `source` demands; nil if unknown.
  ///
  /// With it the store need not be asked what the copy is, if its answer shows that the copy is of that.
  package var known: ObjectMetadata?

  /// Creates a request.
  package init(
    source: CopySource,
    target: PutRequest,
    replacesMetadata: Bool = false,
    replacesTags: Bool = false,
    known: ObjectMetadata? = nil
  ) {
    self.source = source
    self.target = target
    self.replacesMetadata = replacesMetadata
    self.replacesTags = replacesTags
    self.known = known
  }
}
