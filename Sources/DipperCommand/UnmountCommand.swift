internal import Core
internal import Daemon
internal import Glibc
internal import Support

/// `dipper unmount`.
struct UnmountCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    let mountpoint: Mountpoint
    do {
      mountpoint = try Mountpoint(invocation.operands[0].path(named: "MOUNTPOINT"))
    } catch let error as UsageError {
      throw Failure(error.message, code: .usage)
    } catch {
      throw Failure("\(error)")
    }
    guard let mount = mountpoint.mount() else { throw Failure("\(mountpoint.path) is not a mount") }
    guard mount.isDipper else {
      throw Failure(
        "\(mountpoint.path) is a mount of \(mount.source) (\(mount.type)), not of dipper"
      )
    }
    try askDaemon(mountpoint)
  }

  private func askDaemon(_ mountpoint: Mountpoint) throws(Failure) {
    let showsProgress = !invocation.has(.noProgress)
    let outcome = ControlClient().ask(
      ControlRequest(.unmount),
      at: mountpoint.path,
      // The daemon says every second what it waits for.
      patience: .seconds(20)
    ) { waiting in
      if showsProgress { Console.show("dipper: waiting for \(waiting)\n") }
    }
    switch outcome {
    case .answered(let answer) where answer.done == true:
      return
    case .answered(let answer):
      throw Failure(answer.error ?? "the daemon gave no answer that makes sense")
    case .absent, .silent(_):
      try unmountWithoutDaemon(mountpoint)
    }
  }

  /// Nobody answers: the daemon is gone, hangs, or is another user's.
  private func unmountWithoutDaemon(_ mountpoint: Mountpoint) throws(Failure) {
    let kind = mountpoint.facts().kind
    // A dead connection has nothing to lose; a live one is taken off only if nobody uses it.
    let isLazy = kind == .disconnected || kind == .silent
    switch Unmounting.unmount(mountpoint.path, isLazy: isLazy) {
    case .done:
      if isLazy {
        Console.complain(
          "\(mountpoint.path) had no daemon that answered; the dead mount is cleared"
        )
      }
    case .busy:
      throw Failure("\(mountpoint.path) is in use; close what uses it and try again")
    case .failed(let reason):
      throw Failure(reason)
    }
  }
}
