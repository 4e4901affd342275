internal import Core
internal import Glibc

/// What is wrong with the directory that a store was to be kept in.
enum DirectoryProblem {
  case missing
  case notDirectory
  case unreadable

  /// Tells the problem from why the directory couldn't be opened; nil if it is another one.
  init?(_ failure: DiskFailure) {
    switch failure.errno {
    case ENOENT: self = .missing
    case ENOTDIR: self = .notDirectory
    case EACCES, EPERM: self = .unreadable
    default: return nil
    }
  }
}
