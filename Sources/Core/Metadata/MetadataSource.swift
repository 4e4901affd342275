/// Where a mount learns what files have beside their bytes: owner, mode, time, and whether they are links.
package enum MetadataSource: String, Hashable, Sendable, CaseIterable {
  /// From listings, which don't tell it, and from whatever is asked of an object for another reason: no
  /// request is made for it.
  case listing
  /// Each file and directory that is shown is asked for.
  case head
}
