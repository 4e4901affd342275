internal import CLinux
internal import Glibc

/// The environment that this process was started with.
package enum ProcessEnvironment {
  /// The variables, with a home; what is not UTF-8 is left out.
  package static var variables: [String: String] {
    var variables: [String: String] = [:]
    var next = clinux_environment()
    while let variable = next?.pointee {
      if let text = String(validatingCString: variable), let equals = text.firstIndex(of: "=") {
        let name = String(text[..<equals])
        // The first of two counts, as for getenv.
        if variables[name] == nil { variables[name] = String(text[text.index(after: equals)...]) }
      }
      next = next?.advanced(by: 1)
    }
    return withHome(variables, homeDirectory)
  }

  /// The variables with `home` as HOME if they have none, as at boot, where fstab is mounted.
  package static func withHome(_ variables: [String: String], _ home: String?) -> [String: String] {
    guard (variables["HOME"] ?? "").isEmpty, let home else { return variables }
    var variables = variables
    variables["HOME"] = home
    return variables
  }

  /// The user who runs this.
  package static var userID: UInt32 { geteuid() }

  /// The group of the user who runs this.
  package static var groupID: UInt32 { getegid() }

  /// The home directory as the system's list of users has it.
  package static var homeDirectory: String? {
    guard let entry = getpwuid(geteuid()), let directory = entry.pointee.pw_dir else { return nil }
    let path = String(cString: directory)
    return path.hasPrefix("/") && path != "/nonexistent" ? path : nil
  }

  /// The directory that relative paths start from.
  package static var workingDirectory: String? {
    guard let path = getcwd(nil, 0) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }

  /// Returns `path` as it is from anywhere: relative to the working directory if it is relative.
  package static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let directory = workingDirectory else { return tidied(path) }
    return tidied("\(directory)/\(path)")
  }

  /// An absolute path without `.` components and double slashes.
  ///
  /// `..` stays: behind a link it leads elsewhere than to the component before it.
  private static func tidied(_ path: String) -> String {
    guard path.hasPrefix("/") else { return path }
    let components = path.split(separator: "/").filter { $0 != "." }
    let isDirectory = path.hasSuffix("/") || path.hasSuffix("/.")
    guard !components.isEmpty else { return "/" }
    return "/" + components.joined(separator: "/") + (isDirectory ? "/" : "")
  }
}
