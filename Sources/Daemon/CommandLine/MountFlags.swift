/// The kernel's flags of a mount, as `-o` gives them: of two that contradict each other the last counts.
package struct MountFlags: Hashable, Sendable {
  /// What `ro` or `rw` said, if one of them was there.
  package private(set) var isReadOnly: Bool?
  private var isNotExecutable = false
  private var keepsNoAccessTimes = false
  /// What is changed is to be stored before the call that changes it returns.
  package private(set) var isSynchronous = false
  private var isDirectorySynchronous = false

  /// Creates none.
  package init() {}

  /// What goes to the kernel, in mount(8)'s words.
  ///
  /// `nosuid` and `nodev` are not among them: every mount has these. `ro` is an option of its own.
  package var kernelOptions: [String] {
    [
      isNotExecutable ? "noexec" : nil, keepsNoAccessTimes ? "noatime" : nil,
      isSynchronous ? "sync" : nil, isDirectorySynchronous ? "dirsync" : nil,
    ].compactMap(\.self)
  }

  /// Takes a word of an `-o` list.
  ///
  /// - Returns: false if it is no flag of the kernel's that can be had here.
  mutating func take(_ word: String) -> Bool {
    switch word {
    case "ro": isReadOnly = true
    case "rw": isReadOnly = false
    case "noexec": isNotExecutable = true
    case "exec": isNotExecutable = false
    case "noatime": keepsNoAccessTimes = true
    case "atime": keepsNoAccessTimes = false
    case "sync": isSynchronous = true
    case "async": isSynchronous = false
    case "dirsync": isDirectorySynchronous = true
    // These say how every mount is: neither can be turned off, so neither needs turning on.
    case "nosuid", "nodev": break
    default: return false
    }
    return true
  }
}
