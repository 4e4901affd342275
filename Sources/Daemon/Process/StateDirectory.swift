internal import Core
internal import Support

/// Where tasks that have no file of their own keep what they resume from: `$XDG_STATE_HOME/dipper`, else
/// `~/.local/state/dipper`.
///
/// Source: XDG Base Directory Specification 0.8: state that should persist between restarts of a
/// program; a relative path in the variable is ignored.
package enum StateDirectory {
  /// Why there is no such directory; its description is one sentence.
  package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong and what to do.
    package let description: String
  }

  /// Its path; nil if the environment has neither the variable nor a home.
  package static func path(_ environment: [String: String]) -> String? {
    if let base = environment["XDG_STATE_HOME"], base.hasPrefix("/") { return "\(base)/dipper" }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
    return "\(home)/.local/state/dipper"
  }

  /// Makes it, for this user alone, and what is missing above it.
  ///
  /// - Returns: its path.
  package static func prepare(_ environment: [String: String]) throws(Problem) -> String {
    guard let path = path(environment) else {
      throw Problem(
        description: "there is no place for the checkpoint: set HOME or XDG_STATE_HOME, or give "
          + "--checkpoint or --no-checkpoint"
      )
    }
    do throws(DiskFailure) {
      var made = ""
      for component in path.split(separator: "/") {
        made += "/\(component)"
        // A slash leads through a link to a directory.
        if try Disk.status(of: made + "/") == nil { try Disk.createDirectory(made) }
      }
    } catch {
      throw Problem(
        description: "there is no place for the checkpoint: \(error); give --checkpoint or "
          + "--no-checkpoint"
      )
    }
    return path
  }
}
