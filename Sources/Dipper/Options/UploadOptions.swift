/// How to upload an object.
public struct UploadOptions: Hashable, Sendable {
  /// What may be replaced by the new object.
  public enum Condition: Hashable, Sendable {
    /// Whatever is there.
    case none
    /// Nothing: there must be no object at the key.
    case ifAbsent
    /// The object with this tag.
    case ifMatch(String)
  }

  /// Headers, user metadata and tags.
  public var facts = ObjectFacts()
  /// The storage class in the store's spelling; nil is the store's standard.
  public var storageClass: String?
  /// What may be replaced.
  public var condition = Condition.none
  /// Where the checkpoint lies; only for a file, and never beside the target, which isn't one.
  public var checkpoint = CheckpointPlace.off
  /// The parts.
  public var parts = PartOptions()
  /// True to start over, whatever an earlier try left.
  public var forcesRestart = false

  /// Creates the default options.
  public init() {}
}
