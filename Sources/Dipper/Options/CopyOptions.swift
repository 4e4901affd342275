/// How to copy an object on the server.
public struct CopyOptions: Hashable, Sendable {
  /// What the copy gets besides the bytes.
  public enum MetadataDirective: Hashable, Sendable {
    /// Headers, user metadata and tags of the source.
    case copy
    /// These, and nothing of the source's.
    case replace(ObjectFacts)
  }

  /// A particular version of the source; nil is the current one.
  public var versionID: String?
  /// What must hold of the source.
  public var conditions = TransferConditions()
  /// What goes along with the bytes.
  public var metadata = MetadataDirective.copy
  /// The copy's storage class in the store's spelling; nil is the source's.
  public var storageClass: String?
  /// The copy's tags; nil is the source's, or those of `metadata` where that replaces them.
  public var tags: [String: String]?
  /// Where the checkpoint lies; a copy has no file to put it beside.
  public var checkpoint = CheckpointPlace.off
  /// The parts, where it is copied in parts.
  public var parts = PartOptions()
  /// An object up to this size is copied by one request; nil leaves it to what the store takes, 5 GiB.
  public var wholeSizeMax: Int?
  /// Bytes that the store may copy per second, as parts are begun; nil is no limit.
  public var rateMax: Int?
  /// True to start over, whatever an earlier try left.
  public var forcesRestart = false

  /// Creates the default options.
  public init() {}
}
