package import Core
internal import Crypto

/// A renaming: what becomes what, and how.
package struct RenamePlan: Hashable, Sendable {
  /// What gets another name.
  package enum Subject: Hashable, Sendable {
    /// All keys that begin with `source`, which begin with `target` then.
    case tree
    /// The object at `source`, which is at `target` then.
    case object(RenamedObject)
  }

  /// The bucket as the user named it, with its endpoint.
  package var storeName: String
  /// The old key, or the old beginning of keys; a directory's ends in `/`.
  package var source: ObjectKey
  /// The new one.
  package var target: ObjectKey
  /// What gets another name.
  package var subject: Subject
  /// Where journals, and checkpoints of copies made in parts, lie; it exists.
  package var journalDirectory: String
  /// The beginning of keys below which a tree's marker is put (`RenameMarker.place`); nil puts none.
  package var markerBeginning: ObjectKey?
  /// Copies in flight; of a single object, parts of it.
  package var parallel = 16
  /// Up to this size one request copies an object; nil leaves it to what the store takes.
  package var wholeSizeMax: Int?
  /// Bytes of a part of a larger one; 0 is the usual size.
  package var partSize = 0
  /// How large parts may be; only tests need others.
  package var limits = PartLimits()
  /// How often the store retries each request; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// For how long the store retries each request; nil leaves it to the deadline.
  ///
  /// A copy may take minutes, and a store that is gone is not to be waited for as long.
  package var retryPatience: Duration?

  /// How a journal's name ends.
  static let suffix = ".rename"

  /// Creates a plan.
  package init(
    _ subject: Subject,
    from source: ObjectKey,
    to target: ObjectKey,
    of storeName: String,
    journalDirectory: String
  ) {
    self.subject = subject
    self.source = source
    self.target = target
    self.storeName = storeName
    self.journalDirectory = journalDirectory
  }

  /// The journal's path, named after what becomes what.
  var journalPath: String { journalDirectory + "/" + digits + Self.suffix }

  /// The marker's key, of the same name; nil if there is to be none.
  var markerKey: ObjectKey? {
    guard let beginning = markerBeginning, subject == .tree else { return nil }
    return ObjectKey(beginning.bytes + Array((RenameMarker.place + digits).utf8))
  }

  private var digits: String {
    SHA256.digest(of: source.bytes + [0] + target.bytes).prefix(16).hexadecimal
  }

  /// The journal of a renaming that begins.
  var journal: RenameJournal {
    RenameJournal(store: storeName, source: source, target: target, subject: subject)
  }
}

/// One object that gets another key.
package struct RenamedObject: Hashable, Sendable {
  /// The version that is moved; if the store has another by now, nothing is.
  package var version: ObjectVersion
  /// Its storage class, which the copy gets; nil is the store's standard.
  package var storageClass: String?
  /// The state of what was at the new key before (`ObjectVersion.state`); nil if nothing was.
  package var replaced: String?
  /// False fails if there is something at the new key after all.
  package var mayReplace: Bool
  /// What the copy is to have beside its bytes, all of it; nil is what the object has.
  package var facts: ObjectFacts?

  /// Creates a description.
  package init(
    _ version: ObjectVersion,
    storageClass: String? = nil,
    replacing replaced: ObjectVersion? = nil,
    mayReplace: Bool = true,
    facts: ObjectFacts? = nil
  ) {
    self.version = version
    self.storageClass = storageClass
    self.replaced = replaced?.state
    self.mayReplace = mayReplace
    self.facts = facts
    self.facts?.storageClass = storageClass
  }

  /// What a listing would say of it.
  var metadata: ObjectMetadata {
    var metadata = ObjectMetadata(version: version)
    metadata.storageClass = storageClass
    return metadata
  }
}

extension ObjectVersion {
  /// What tells this state of an object from others: its tag, or size and time where there is none.
  var state: String { etag?.value ?? "\(size)@\(lastModified.nanoseconds)" }
}

extension ObjectMetadata {
  /// The store's own words prove that both have the same bytes.
  ///
  /// Equal tags are digests of the bytes, or of equal parts of them: stores whose tags are something else
  /// give no two objects the same.
  func hasBytes(of other: ObjectMetadata) -> Bool {
    guard size == other.size else { return false }
    if let mine = version.etag, mine == other.version.etag { return true }
    return crc64 != nil && crc64 == other.crc64
  }
}
