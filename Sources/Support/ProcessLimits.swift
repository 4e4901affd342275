internal import CLinux
internal import Glibc

/// What this process may use and leave behind.
package enum ProcessLimits {
  /// Raises the limit of open files as far as it goes: every cached object that is open holds two.
  ///
  /// - Returns: the limit now; nil if the system doesn't say.
  @discardableResult
  package static func raiseOpenFiles() -> Int? {
    let limit = clinux_raise_open_files()
    return limit < 0 ? nil : limit
  }

  /// How many more files this process can open, looked for up to `countMax`.
  ///
  /// The limit is raised first. Call it before a second thread is started.
  package static func spareDescriptors(upTo countMax: Int) -> Int {
    guard countMax > 0 else { return 0 }
    raiseOpenFiles()
    var opened: [Int32] = []
    defer { for number in opened { close(number) } }
    while opened.count < countMax {
      let number = dup(STDIN_FILENO)
      // Whatever else is wrong with it, there is room.
      guard number >= 0 else { return [EMFILE, ENFILE].contains(errno) ? opened.count : countMax }
      opened.append(number)
    }
    return opened.count
  }

  /// Keeps secrets out of core files.
  package static func forbidCoreFiles() { _ = clinux_forbid_core_files() }

  /// The bytes of memory that this process has resident; 0 if the system doesn't say.
  package static var residentByteCount: Int {
    guard let text = try? SmallFile.read("/proc/self/statm"),
      let pages = String(decoding: text, as: UTF8.self).split(separator: " ").dropFirst().first,
      let count = Int(pages)
    else { return 0 }
    return count * sysconf(Int32(_SC_PAGESIZE))
  }
}

/// The columns of a terminal.
package enum Terminal {
  /// The columns of the terminal at `descriptor`; nil if there is none.
  package static func width(of descriptor: Int32) -> Int? {
    let width = clinux_terminal_width(descriptor)
    return width < 0 ? nil : width == 0 ? 80 : Int(width)
  }
}
