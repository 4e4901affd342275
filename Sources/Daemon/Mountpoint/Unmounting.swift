internal import Core
internal import FuseBridge
internal import Glibc
internal import Support

/// Takes a mount off, as root by the system call and as an ordinary user through `fusermount3`.
package enum Unmounting {
  /// How it went.
  package enum Outcome: Hashable, Sendable {
    /// It is off.
    case done
    /// Something uses it.
    case busy
    /// It failed; one sentence says why.
    case failed(String)
  }

  /// With how much regard for those who use it.
  package enum Manner: Hashable, Sendable {
    /// Not while something uses it.
    case polite
    /// Out of the tree at once; those who use it go on until they let go.
    case lazy
    /// Out of the tree at once, and what waits in it fails (as an ordinary user: as `lazy`).
    case forced
  }

  /// Unmounts `path`.
  ///
  /// - Parameters:
  ///   - path: the mountpoint, as the kernel spells it.
  ///   - manner: with how much regard.
  /// - Returns: how it went.
  package static func unmount(_ path: String, _ manner: Manner) -> Outcome {
    if geteuid() == 0 {
      // Not following links, so that nobody can lead root elsewhere.
      // Forced, the kernel ends what waits for an answer, also of a daemon that can't die for that.
      let flags: [Int32] =
        switch manner {
        case .polite: []
        case .lazy: [Int32(MNT_DETACH)]
        case .forced: [Int32(MNT_DETACH), Int32(MNT_FORCE)]
        }
      if umount2(path, flags.reduce(Int32(UMOUNT_NOFOLLOW), |)) == 0 { return .done }
      let number = errno
      return number == EBUSY
        ? .busy : .failed("\(path) can't be unmounted: \(errnoDescription(number))")
    }
    return throughHelper(path, isLazy: manner != .polite)
  }

  private static func throughHelper(_ path: String, isLazy: Bool) -> Outcome {
    do throws(MountError) {
      try FuseSession.unmountThroughFusermount(path, lazily: isLazy)
      return .done
    } catch {
      guard MountTable.current().top(at: path) != nil else { return .done }
      return error.code == .busy && !isLazy ? .busy : .failed(error.message)
    }
  }
}
