/// What `doctor` knows of this machine; what it means is `MachineJudgement`'s.
package struct MachineFacts: Hashable, Sendable {
  /// Why /dev/fuse can't be used; nil if it can.
  package var deviceProblem: String?
  /// True if the user is root, who needs no helper.
  package var isRoot: Bool
  /// Where fusermount3 is, and whether it runs as root; nil if it is nowhere.
  package var helper: Helper?
  /// The kernel's release, such as `6.1.0-18-amd64`.
  package var kernel: String
  /// The libraries and their versions.
  package var libraries: [String]
  /// How many files a process may open at most; nil if it isn't known.
  package var openFileCountMax: Int?
  /// True if the system has a log that listens.
  package var hasSystemLog = true
  /// The cache directory.
  package var cache: Cache
  /// Mounts that nobody answers for, and the process ids of daemons that are still there.
  package var silentMounts: [SilentMount]
  /// How many mounts answer.
  package var answeringMountCount: Int

  /// A mount that doesn't answer.
  package struct SilentMount: Hashable, Sendable {
    /// Where it is.
    package var mountpoint: String
    /// Its daemon; nil if that is gone.
    package var processID: Int32?

    /// Creates the facts.
    package init(mountpoint: String, processID: Int32?) {
      self.mountpoint = mountpoint
      self.processID = processID
    }
  }

  /// The program that mounts for ordinary users.
  package struct Helper: Hashable, Sendable {
    /// Where it is.
    package var path: String
    /// True if it runs with root's rights.
    package var isSetUserID: Bool

    /// Creates the facts.
    package init(path: String, isSetUserID: Bool) {
      self.path = path
      self.isSetUserID = isSetUserID
    }
  }

  /// The directory of the cache, or the nearest one above that is there.
  package struct Cache: Hashable, Sendable {
    /// Where it is or will be.
    package var path: String
    /// Why it can't be used; nil if it can.
    package var problem: Problem?
    /// False if the first mount makes it.
    package var exists: Bool
    /// Its permissions.
    package var permissions: UInt32
    /// Bytes that are free on its disk.
    package var freeByteCount: Int?
    /// The kind of its file system, such as `ext4`; nil if it isn't known.
    package var fileSystem: String?

    /// What is wrong with the directory.
    package enum Problem: Hashable, Sendable {
      /// It is something else than a directory, or a link.
      case noDirectory
      /// It is another user's.
      case foreign(UInt32)
      /// Others may write in it.
      case open
      /// This user can't.
      case unwritable
      /// It can't be looked at.
      case failed(String)
    }

    /// Creates facts of a directory in which nothing is wrong.
    package init(path: String, exists: Bool = true, permissions: UInt32 = 0o700) {
      self.path = path
      self.exists = exists
      self.permissions = permissions
    }
  }

  /// Creates facts; what can be wrong isn't.
  package init(isRoot: Bool, kernel: String, libraries: [String], cache: Cache) {
    self.isRoot = isRoot
    self.kernel = kernel
    self.libraries = libraries
    self.cache = cache
    silentMounts = []
    answeringMountCount = 0
  }
}
