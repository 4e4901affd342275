/// What an object has beside its bytes, and what a program may change of it.
package struct ObjectFacts: Hashable, Sendable {
  /// What its bytes are served with.
  package var headers: ContentHeaders
  /// User metadata by lower-case name.
  package var userMetadata: [String: String]
  /// Tags by name.
  package var tags: [String: String]
  /// The storage class; nil is the store's standard.
  package var storageClass: String?

  /// Creates facts.
  package init(
    headers: ContentHeaders = ContentHeaders(),
    userMetadata: [String: String] = [:],
    tags: [String: String] = [:],
    storageClass: String? = nil
  ) {
    self.headers = headers
    self.userMetadata = userMetadata
    self.tags = tags
    self.storageClass = storageClass
  }
}

extension PutRequest {
  /// Creates a request for an object with these facts.
  package init(key: ObjectKey, condition: WriteCondition, facts: ObjectFacts) {
    self.init(
      key: key,
      condition: condition,
      userMetadata: facts.userMetadata,
      storageClass: facts.storageClass
    )
    headers = facts.headers
    tags = facts.tags
  }
}
