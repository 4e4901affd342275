internal import Core
internal import Daemon
internal import Glibc
internal import Support

/// `dipper status`.
struct StatusCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    let mountpoint = try mountpoint()
    // Each mount is asked over a descriptor of its own.
    ProcessLimits.raiseOpenFiles()
    while true {
      let report = try report(of: mountpoint)
      let text =
        invocation.has(.json)
        ? (invocation.has(.watch) ? StatusReport.text(of: report) : report.json) + "\n"
        : StatusText.text(report)
      guard invocation.has(.watch) else {
        Console.write(text)
        return
      }
      // Home and clear, for a terminal; elsewhere one report after the other.
      let isScreen = Console.isOutputTerminal && !invocation.has(.json)
      guard Console.write((isScreen ? "\u{1B}[H\u{1B}[2J" : "") + text) else { return }
      usleep(1_000_000)
    }
  }

  private func mountpoint() throws(Failure) -> String? {
    guard let operand = invocation.operands.first else { return nil }
    do {
      return try Mountpoint(operand.path(named: "MOUNTPOINT")).path
    } catch let error as UsageError {
      throw Failure(error.message, code: .usage)
    } catch {
      throw Failure("\(error)")
    }
  }

  private func report(of mountpoint: String?) throws(Failure) -> StatusReport {
    let table = MountTable.current()
    let statuses = ControlClient(directories: RuntimeDirectory.readable(table)).statuses(table)
    guard let mountpoint else { return StatusReport(mounts: statuses) }
    let found = statuses.filter { $0.mountpoint == mountpoint }
    guard !found.isEmpty else {
      throw Failure("\(mountpoint) is not a mount of dipper that you may ask about")
    }
    return StatusReport(mounts: found)
  }
}
