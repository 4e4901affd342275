/// How to download an object.
public struct DownloadOptions: Hashable, Sendable {
  /// A particular version; nil is the current one.
  public var versionID: String?
  /// What must hold of the object.
  public var conditions = TransferConditions()
  /// Where the parts are gathered, on the target's file system; nil is beside the target.
  public var temporaryPath: String?
  /// Where the checkpoint lies.
  public var checkpoint = CheckpointPlace.off
  /// The parts.
  public var parts = PartOptions()
  /// True to start over, whatever an earlier try left.
  public var forcesRestart = false

  /// Creates the default options.
  public init() {}
}
