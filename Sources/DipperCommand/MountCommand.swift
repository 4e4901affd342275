internal import Core
internal import Daemon
internal import Dipper
internal import Support

/// `dipper mount`: starts the daemon and waits until its mount answers, or is the daemon.
struct MountCommand {
  private let program: Program

  init(_ program: Program) {
    self.program = program
  }

  func run() throws(Failure) {
    let invocation = program.invocation
    let url = try BucketURL(invocation.operands[0], for: .bucket)
    let settings: MountSettings
    do throws(UsageError) {
      settings = try MountSettings(
        invocation,
        url: url,
        environment: ProcessEnvironment.variables
      )
    } catch {
      throw Failure(error.message, code: .usage)
    }
    try Self.run(
      settings,
      invocation: invocation,
      arguments: program.arguments,
      report: program.report
    )
  }

  /// Mounts in the foreground, as the daemon, or by starting the daemon with `arguments`.
  static func run(
    _ settings: MountSettings,
    invocation: Invocation,
    arguments: [[UInt8]],
    report: StartReport
  ) throws(Failure) {
    let isForeground = invocation.has(.foreground)
    guard isForeground || report.isBackground else {
      try startDaemon(arguments, logFile: invocation.text(.logFile))
      return
    }
    let place =
      isForeground || invocation.has(.logFile) ? nil : DaemonLog(mountpoint: settings.mountpoint)
    let log: Log
    do throws(DiskFailure) {
      log = try Log(invocation, otherwise: place?.target ?? .standardError)
    } catch {
      throw Failure("the log can't be written: \(error)")
    }
    let notes = [place?.note].compactMap(\.self)
    let code = MountRun(settings, report: report, log: log, notes: notes).run()
    // What went wrong has been reported.
    if code != .done { throw Failure(nil, code: code) }
  }

  private static func startDaemon(
    _ arguments: [[UInt8]],
    logFile: String?
  ) throws(Failure) {
    // The daemon has a session of its own, so Ctrl-C reaches only this process.
    let daemon = Lock<Subprocess?>(nil)
    do throws(DiskFailure) {
      try SignalWatch.start([.interrupt, .terminate]) { _ in
        daemon.withLock { $0 }?.send(signal: SignalWatch.Signal.terminate.number)
      }
    } catch {
      throw Failure("\(error)")
    }
    let outcome = BackgroundStart.run(
      arguments: arguments,
      logFile: logFile,
      onChild: { child in daemon.withLock { $0 = child } },
      note: { Console.complain($0) }
    )
    guard outcome.code != 0 else { return }
    throw Failure(outcome.message, code: ExitCode(rawValue: outcome.code) ?? .failed)
  }
}
