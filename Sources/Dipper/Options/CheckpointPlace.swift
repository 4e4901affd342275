/// Where a transfer keeps what it needs to be gone on with after an interruption.
///
/// A checkpoint holds no credentials, so a resumed transfer may use others. Each transfer needs its own:
/// a second one at the same place is refused while the first runs.
public enum CheckpointPlace: Hashable, Sendable {
  /// Nowhere: an interrupted transfer starts over.
  case off
  /// Beside the file that a download becomes.
  case besideTarget
  /// In this file, or in this directory, which exists, under a name made for the transfer.
  case at(path: String)
}
