package import Core

/// What has happened to a draft, as its journal says it.
package enum DraftChange: Hashable, Sendable {
  /// It was begun, or its journal was: as the empty file, or as an object's version.
  case began(DraftHead)
  /// Bytes were written into a data file.
  case wrote(ByteRange, file: Int, at: Timestamp)
  /// It got another size.
  case resized(Int, at: Timestamp)
  /// A range became zeros.
  case punched(ByteRange, at: Timestamp)
  /// A range became that of an object.
  case inserted(ObjectVersion, at: Int, as: ByteRange, now: Timestamp)
  /// Its facts are these; `isNew` if the store doesn't have them.
  case facts(ObjectFacts, isNew: Bool)
  /// A program set its time.
  case timed(Timestamp)
  /// It is to be another object; what the store has moved there of it, if it has.
  case moved(ObjectKey, WriteCondition, ObjectVersion?)
  /// It is published as it is now; the token tells this state from all others.
  case frozen(String)
  /// The store has it as it was when it was frozen under this token.
  case published(ObjectVersion, of: String)
  /// The store didn't take what was frozen last.
  case refused
  /// Its name is gone.
  case discarded
}

/// How a draft begins.
package struct DraftHead: Hashable, Sendable {
  /// The object to be.
  package var key: ObjectKey
  /// On what condition.
  package var condition: WriteCondition
  /// The object that is edited; nil for a new one.
  package var base: ObjectVersion?
  /// The file begins empty although an object is edited.
  package var isTruncated: Bool
  /// The store lacks it from the start.
  package var isDirty: Bool
  /// Its time.
  package var modified: Timestamp

  /// Creates a beginning.
  package init(
    key: ObjectKey,
    condition: WriteCondition,
    base: ObjectVersion?,
    isTruncated: Bool,
    isDirty: Bool,
    modified: Timestamp
  ) {
    self.key = key
    self.condition = condition
    self.base = base
    self.isTruncated = isTruncated
    self.isDirty = isDirty
    self.modified = modified
  }
}
