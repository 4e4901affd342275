package import Support

extension MountTable.Entry {
  /// True if it is one of ours.
  package var isDipper: Bool { type == "fuse.dipper" }
}
