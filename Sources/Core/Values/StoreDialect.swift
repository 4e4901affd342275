/// The protocol that a store speaks: how a request is addressed, spelled and signed, and how an
/// answer is read.
package enum StoreDialect: String, Hashable, Sendable, CaseIterable {
  /// That of Amazon S3 and of all who speak like it.
  case s3
  /// TOS's own, of Volcengine and BytePlus.
  case tos
}
