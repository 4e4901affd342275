package import Support

/// Where a daemon in the background logs unless it is told: to the system's log, else to a file beside
/// its control socket.
package struct DaemonLog: Sendable {
  /// Where the lines go.
  package let target: Log.Target
  /// What to tell the user if nothing keeps the lines; `dipper status` says where they are else.
  package let note: String?

  /// Chooses a place; nothing is written yet.
  ///
  /// - Parameters:
  ///   - mountpoint: the mountpoint, as it was given.
  ///   - system: the system's log.
  ///   - directories: where the file may be, the preferred one first.
  package init(
    mountpoint: String,
    system: SystemLog = SystemLog(),
    directories: [RuntimeDirectory] = RuntimeDirectory.ofThisUser
  ) {
    if system.connect() {
      target = .system(system)
      note = nil
      return
    }
    guard let directory = directories.first(where: { (try? $0.prepare()) != nil }) else {
      target = .system(system)
      note = "there is no system log here and no directory for one; --log-file keeps what happens"
      return
    }
    let path = directory.logPath(for: mountpoint)
    target = .file(LogFile(madeWhenNeededAt: path))
    note = nil
  }
}
