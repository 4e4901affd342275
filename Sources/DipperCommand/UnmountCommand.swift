internal import Core
internal import Daemon
internal import Glibc
internal import Support

/// `dipper unmount`.
struct UnmountCommand {
  private let invocation: Invocation

  // The daemon says every second what it waits for; one that is silent for so long won't answer.
  private static let patience = Duration.seconds(8)

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
    // This process must not be what keeps the mount busy.
    chdir("/")
    if invocation.has(.lazy) {
      try take(mountpoint, off: .lazy)
    } else {
      try askDaemon(mountpoint)
    }
  }

  private func askDaemon(_ mountpoint: Mountpoint) throws(Failure) {
    let showsProgress = !invocation.has(.noProgress)
    let outcome = ControlClient().ask(
      ControlRequest(.unmount),
      at: mountpoint.path,
      patience: Self.patience
    ) { waiting in
      if showsProgress { Console.show("dipper: waiting for \(waiting)\n") }
    }
    switch outcome {
    case .answered(let answer) where answer.done == true:
      return
    case .answered(let answer) where answer.busy == true:
      throw busy(mountpoint, otherwise: answer.error)
    case .answered(let answer):
      throw Failure(answer.error ?? "the daemon gave no answer that makes sense")
    case .absent:
      try unmountWithoutDaemon(mountpoint, processID: nil)
    case .silent(let processID):
      try unmountWithoutDaemon(mountpoint, processID: processID)
    }
  }

  /// Nobody answers: the daemon is gone, hangs, or is another user's.
  private func unmountWithoutDaemon(
    _ mountpoint: Mountpoint,
    processID: Int32?
  ) throws(Failure) {
    let kind = mountpoint.facts().kind
    // A dead connection has nothing to lose; a live one is taken off only if nobody uses it.
    let isDead = kind == .disconnected || kind == .silent
    try take(mountpoint, off: isDead ? .forced : .polite)
    guard isDead else { return }
    if let processID {
      Console.complain(
        "\(mountpoint.path) is unmounted, but its daemon (pid \(processID)) did not answer and may "
          + "still be there"
      )
    } else {
      Console.complain(
        "\(mountpoint.path) had no daemon that answered; the dead mount is cleared"
      )
    }
  }

  private func take(
    _ mountpoint: Mountpoint,
    off manner: Unmounting.Manner
  ) throws(Failure) {
    switch Unmounting.unmount(mountpoint.path, manner) {
    case .done: return
    case .busy: throw busy(mountpoint, otherwise: nil)
    case .failed(let reason): throw Failure(reason)
    }
  }

  /// Says what uses the mount, or else what the daemon said.
  private func busy(_ mountpoint: Mountpoint, otherwise sentence: String?) -> Failure {
    let users = MountUsers.find(at: mountpoint.path)
    if users == MountUsers(), let sentence { return Failure(sentence) }
    return Failure(users.sentence(at: mountpoint.path))
  }
}
