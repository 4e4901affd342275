internal import Glibc
internal import Support

/// Whether the kernel reads whole files by itself, and how often it was let.
package struct Passthrough: Hashable, Sendable {
  /// How it stands.
  package enum State: Hashable, Sendable {
    /// The kernel has not been asked yet. Next: `on` or `off`.
    case undecided
    /// It does.
    case on
    /// Every read comes here; in words, why.
    case off(String)
  }

  /// How it stands.
  package var state: State
  /// Opens after which no read came here.
  package var openCount = 0

  /// In words, for a status: `on`, or `off` and why.
  package var description: String {
    switch state {
    case .undecided: "not decided yet"
    case .on: "on"
    case .off(let reason): "off: \(reason)"
    }
  }

  /// Why it can't be with this answer of the kernel's.
  static func reason(_ number: Int32) -> String {
    switch number {
    case EPERM: "it takes the right CAP_SYS_ADMIN"
    case ELOOP: "the cache is on a file system that lies on another, such as an overlay"
    case EOPNOTSUPP, EINVAL, ENOTTY: "the cache's file system or the kernel can't do it"
    default: errnoDescription(number)
    }
  }

  /// Whether an answer of the kernel's will be the same for every file.
  static func isFinal(_ number: Int32) -> Bool {
    [EPERM, ELOOP, EOPNOTSUPP, EINVAL, ENOTTY].contains(number)
  }
}
