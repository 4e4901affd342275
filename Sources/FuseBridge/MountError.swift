/// Why a file system could not be mounted, served or unmounted, in one sentence that says what to do.
package struct MountError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// There is nothing at the mountpoint's path.
    case mountpointMissing
    /// The mountpoint is no directory.
    case notDirectory
    /// The user may not mount there.
    case permissionDenied
    /// There is no /dev/fuse.
    case deviceMissing
    /// /dev/fuse can't be opened, or mounting isn't permitted here.
    case deviceNotPermitted
    /// An ordinary user's mount needs fusermount3.
    case fusermountMissing
    /// `allow_other` is not permitted to ordinary users.
    case allowOtherNotEnabled
    /// This file system is mounted there already.
    case alreadyMounted
    /// A mount whose process is gone is still there.
    case stale
    /// The mount is in use.
    case busy
    /// The kernel or fusermount3 said no in another way.
    case refused
    /// libfuse could not start, or its loop failed.
    case sessionFailed
    /// The session was not mounted, or has ended.
    case notMounted
  }

  /// The kind.
  package let code: Code
  /// What was wrong and what to do.
  package let message: String

  /// Creates an error.
  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
