internal import CFuse

/// The library that speaks FUSE.
package enum FuseLibrary {
  /// Its version, such as `3.14.0`.
  package static var version: String { String(cString: fuse_pkgversion()) }
}
