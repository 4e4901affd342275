internal import Core
internal import Daemon
internal import Glibc
internal import Support

/// `dipper unmount`.
struct UnmountCommand {
  private let invocation: Invocation

  // The daemon says every second what it waits for; one that is silent for so long won't answer.
  private static let patience = Duration.seconds(8)
  // What has just ended may still be letting go. Whoever keeps the mount busy for longer, and can't be
  // seen, is another user's.
  private static let busyPatience = Duration.seconds(2)
  private static let busyPauseMicroseconds: UInt32 = 50_000

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
    let end = SystemClock().now + Self.busyPatience
    while case .busy(let sentence) = try unmount(mountpoint) {
      let users = MountUsers.find(at: mountpoint.path)
      guard users == MountUsers(), SystemClock().now < end else {
        throw Failure(users == MountUsers() ? sentence : users.sentence(at: mountpoint.path))
      }
      usleep(Self.busyPauseMicroseconds)
      // Somebody else was faster.
      if mountpoint.mount()?.isDipper != true { return }
    }
  }

  /// How an attempt ended that did not fail.
  private enum Attempt {
    case done
    /// Something uses the mount; one sentence, should nobody be seen.
    case busy(String)
  }

  private func unmount(_ mountpoint: Mountpoint) throws(Failure) -> Attempt {
    try invocation.has(.lazy) ? take(mountpoint, off: .lazy) : askDaemon(mountpoint)
  }

  private func askDaemon(_ mountpoint: Mountpoint) throws(Failure) -> Attempt {
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
      return .done
    case .answered(let answer) where answer.busy == true:
      return .busy(answer.error ?? MountUsers().sentence(at: mountpoint.path))
    case .answered(let answer):
      throw Failure(answer.error ?? "the daemon gave no answer that makes sense")
    case .absent:
      return try unmountWithoutDaemon(mountpoint, processID: nil)
    case .silent(let processID):
      return try unmountWithoutDaemon(mountpoint, processID: processID)
    }
  }

  /// Nobody answers: the daemon is gone, hangs, or is another user's.
  private func unmountWithoutDaemon(
    _ mountpoint: Mountpoint,
    processID: Int32?
  ) throws(Failure) -> Attempt {
    let kind = mountpoint.facts().kind
    // A dead connection has nothing to lose; a live one is taken off only if nobody uses it.
    let isDead = kind == .disconnected || kind == .silent
    let attempt = try take(mountpoint, off: isDead ? .forced : .polite)
    guard isDead, case .done = attempt else { return attempt }
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
    return .done
  }

  private func take(
    _ mountpoint: Mountpoint,
    off manner: Unmounting.Manner
  ) throws(Failure) -> Attempt {
    switch Unmounting.unmount(mountpoint.path, manner) {
    case .done: return .done
    case .busy: return .busy(MountUsers().sentence(at: mountpoint.path))
    case .failed(let reason): throw Failure(reason)
    }
  }
}
