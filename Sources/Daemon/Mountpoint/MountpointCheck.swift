package import Support

/// Decides whether a directory can be mounted on, from what is known of it.
package enum MountpointCheck {
  /// What is known of a mountpoint.
  package struct Facts: Hashable, Sendable {
    /// The mount that it is already, if it is one.
    package var mount: MountTable.Entry?
    /// What `stat` says.
    package var kind: Kind
    /// True if there is something in it.
    package var hasEntries = false
    /// True if the user may write in it, which `fusermount3` asks for.
    package var isWritable = true

    /// What `stat` says of a path.
    package enum Kind: Hashable, Sendable {
      /// A directory.
      case directory
      /// Something else.
      case other
      /// Nothing.
      case missing
      /// A mount whose daemon is gone ("Transport endpoint is not connected").
      case disconnected
      /// It doesn't answer.
      case silent
      /// Another error, in words.
      case failed(String)
    }

    /// Creates facts.
    package init(
      mount: MountTable.Entry? = nil,
      kind: Kind,
      hasEntries: Bool = false,
      isWritable: Bool = true
    ) {
      self.mount = mount
      self.kind = kind
      self.hasEntries = hasEntries
      self.isWritable = isWritable
    }
  }

  /// What to do.
  package enum Verdict: Hashable, Sendable {
    /// Mount.
    case ready
    /// Clear the dead mount that is there, then look again.
    case clear
    /// Don't; one sentence says why.
    case refused(String)
  }

  /// Returns what to do with `path`.
  ///
  /// - Parameters:
  ///   - path: the mountpoint, for the sentence.
  ///   - facts: what is known of it.
  ///   - allowsEntries: true if it may have files in it, which the mount then hides.
  /// - Returns: the verdict.
  package static func verdict(_ path: String, _ facts: Facts, allowsEntries: Bool) -> Verdict {
    if let mount = facts.mount {
      switch facts.kind {
      case .disconnected where mount.isDipper:
        return .clear
      case .disconnected:
        return .refused(
          "\(path) is a dead mount of \(mount.source) (\(mount.type)); clear it with 'umount -l' first"
        )
      case .silent:
        return .refused(
          "\(path) is a mount of \(mount.source) that doesn't answer; unmount it first"
        )
      case .directory, .other, .missing, .failed:
        return .refused(
          "\(path) is already mounted (\(mount.source), \(mount.type)); "
            + (mount.isDipper ? "'dipper unmount' it first" : "unmount it first")
        )
      }
    }
    switch facts.kind {
    case .missing: return .refused("the mountpoint \(path) doesn't exist; make the directory first")
    case .other: return .refused("the mountpoint \(path) is not a directory")
    case .failed(let reason): return .refused("the mountpoint \(path) can't be used: \(reason)")
    case .silent: return .refused("the mountpoint \(path) is on a file system that doesn't answer")
    case .disconnected:
      return .refused("the mountpoint \(path) is below a dead mount; clear that one first")
    case .directory: break
    }
    if facts.hasEntries, !allowsEntries {
      return .refused(
        "the mountpoint \(path) is not empty; choose an empty directory, or hide its files with"
          + " -o nonempty"
      )
    }
    guard facts.isWritable else {
      return .refused("the mountpoint \(path) is not yours to write in, which mounting asks for")
    }
    return .ready
  }
}
