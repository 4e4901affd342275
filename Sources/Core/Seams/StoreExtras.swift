/// What to rename into what, on the server.
package struct RenameRequest: Hashable, Sendable {
  /// The old key; a directory's ends in `/` and takes all below it along.
  package var source: ObjectKey
  /// The new key; of the same kind.
  package var target: ObjectKey
  /// False fails with `.alreadyExists` if there is something at the new key.
  package var replaces: Bool

  /// Creates a request.
  package init(source: ObjectKey, target: ObjectKey, replaces: Bool = true) {
    self.source = source
    self.target = target
    self.replaces = replaces
  }
}

/// What a key is, answered by one request.
package enum KeyStatus: Hashable, Sendable {
  /// An object.
  case object(ObjectMetadata)
  /// No object, but others' keys begin with it and a `/`.
  case prefix
  /// Nothing.
  case nothing
}

/// How soon an archived object is to be readable.
package enum RestoreTier: String, Hashable, Sendable, CaseIterable {
  /// Minutes.
  case expedited = "Expedited"
  /// Hours.
  case standard = "Standard"
  /// Hours to days, at the lowest price.
  case bulk = "Bulk"
}

/// Where a link leads.
package struct LinkTarget: Hashable, Sendable {
  /// Another bucket's name; nil is the link's own.
  package var bucket: String?
  /// The object's key.
  package var key: ObjectKey

  /// Creates a target.
  package init(bucket: String? = nil, key: ObjectKey) {
    self.bucket = bucket
    self.key = key
  }
}
