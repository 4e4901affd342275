/// What a store can do; known per dialect and bucket type, or probed once, never assumed.
///
/// Callers choose their way by what is here, not by which store it is. Nil means not known yet:
/// a caller that needs it tries, and the store remembers what came of it.
package struct StoreCapabilities: Hashable, Sendable {
  /// The store renames an object without copying it; nil if only a try can tell (TOS, flat buckets).
  package var hasNativeRename: Bool? = false
  /// A PUT that must not replace anything is honoured.
  package var hasConditionalCreate: Bool?
  /// A PUT that must replace a certain version is honoured.
  package var hasConditionalReplace: Bool?
  /// Both conditions are honoured where a multipart upload is completed.
  package var hasConditionalComplete: Bool?
  /// A removal that names the version to remove costs no question before it.
  package var hasConditionalDelete = false
  /// Listings come in the byte order of their keys.
  package var listsInByteOrder: Bool?
  /// Directories exist by themselves, not only as prefixes.
  package var hasDirectories = false
  /// A directory is removed with all that is in it by one request.
  package var hasRecursiveDelete = false
  /// An object's metadata can be replaced where it is, without copying the object.
  package var hasInPlaceMetadata = false
  /// An object's modification time can be set.
  package var hasSettableTime = false
  /// Bytes can be added at the end of an object.
  package var hasAppend = false
  /// One request tells whether a key is an object, the beginning of others, or nothing.
  package var hasKeyStatus = false
  /// An object can stand for another.
  package var hasLinks = false
  /// Objects can carry tags.
  package var hasTags = true
  /// The checksum of a whole object that the store keeps and tells.
  package var wholeObjectChecksum = WholeObjectChecksum.none
  /// The most bytes that one copy or one PUT takes.
  package var singleRequestSizeMax = 5 << 30
  /// The fewest bytes of a multipart upload's part, the last one apart.
  package var partSizeMin = 5 << 20
  /// The most parts that an upload takes.
  package var partCountMax = 10_000

  /// Which checksum of a whole object a store keeps.
  package enum WholeObjectChecksum: Hashable, Sendable {
    /// None that a client could compare with.
    case none
    /// CRC-64/XZ (TOS).
    case crc64
  }

  /// Creates capabilities of a store of which nothing is known.
  package init() {}
}
