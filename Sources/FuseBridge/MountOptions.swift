/// How a file system is mounted.
package struct MountOptions: Hashable, Sendable {
  /// What `/proc/mounts` shows as the source, such as `s3://bucket`.
  package var fsName: String
  /// The type is `fuse.` and this.
  package var subtype = "dipper"
  /// Writes fail with `EROFS` without asking us.
  package var isReadOnly = false
  /// Other users than the one who mounts may enter.
  package var allowsOther = false
  /// The kernel checks permissions by the attributes that it is told.
  package var usesDefaultPermissions = true
  /// How far the kernel reads ahead of a sequential reader, in KiB.
  ///
  /// Above 128 only where the mount's `read_ahead_kb` can be written, which takes root.
  package var readAheadKibibytes = 4096
  /// The most bytes that the kernel asks for at once.
  ///
  /// Half of what it could: up to here an answer is spliced out of the cache file; a whole MiB does
  /// not fit into a pipe with its header, and copying it cost 1.5 times as much in the server when
  /// measured.
  package var readSizeMax = 512 * 1024
  /// Where the files lie that the kernel may read by itself when an answer to an open names one; nil
  /// has it ask for every byte.
  ///
  /// It takes root, Linux 6.9 and a file system that doesn't lie on another.
  package var backingDirectory: String?
  /// How many threads serve requests; they are started as they are needed, and kept.
  package var threadCountMax = 10
  /// Options as after `mount -o`, one each.
  ///
  /// Those that other tools leave for each other (`x-...`, `_netdev`, `nofail`) are not passed on.
  package var extraOptions: [String] = []

  /// Creates options with the defaults.
  package init(fsName: String) {
    self.fsName = fsName
  }
}
