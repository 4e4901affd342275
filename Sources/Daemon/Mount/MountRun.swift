internal import Caching
internal import Core
internal import Dipper
internal import Filesystem
internal import FuseBridge
internal import Glibc
package import Support
internal import Transfer

/// The life of one mount in this process: check, reach the bucket, mount, serve, leave.
///
/// What can fail is tried in the order in which it leaves nothing behind: first the mountpoint and the
/// device, then the bucket, then the cache directory, and the mount at last.
package final class MountRun: Sendable {
  private let settings: MountSettings
  private let report: StartReport
  private let log: Log
  private let notes: [String]
  private let lifecycle = Lock(LifecycleMachine())
  private let session = Lock<FuseSession?>(nil)
  // Opened when everything is put away, so that `unmount` returns no sooner.
  private let isFinished = Monitor(false)
  // What could not be stored at the end, in a sentence.
  private let unsaved = Lock(String?.none)

  /// Creates a run; nothing happens yet.
  ///
  /// - Parameters:
  ///   - settings: what to mount, where and how.
  ///   - report: where to say how it went.
  ///   - log: where to write what happens.
  ///   - notes: what a person should know once it is mounted.
  package init(_ settings: MountSettings, report: StartReport, log: Log, notes: [String] = []) {
    self.settings = settings
    self.report = report
    self.log = log
    self.notes = notes
  }

  /// Runs until the mount has ended, on the main thread before any other has been started.
  ///
  /// - Returns: the exit code; what there was to say has been reported.
  package func run() -> ExitCode {
    let openFileCountMax = ProcessLimits.raiseOpenFiles()
    ProcessLimits.forbidCoreFiles()
    umask(0o077)
    defer { log.flush() }
    do throws(MountFailure) {
      try watchSignals()
      try MountPreparation.checkOpenFiles(openFileCountMax)
      try serve()
      return .done
    } catch {
      report.failed(code: error.code, error.sentence)
      return error.code
    }
  }

  private func watchSignals() throws(MountFailure) {
    do throws(DiskFailure) {
      try SignalWatch.start(Set(SignalWatch.Signal.allCases)) { [self] signal in
        switch signal {
        case .interrupt, .terminate, .quit, .powerFailure, .processorLimit: stop()
        // There is no configuration to read again, but the log may have been moved away.
        case .hangUp: log.reopen()
        case .user1, .user2, .alarm: break
        }
      }
    } catch {
      throw MountFailure("\(error)")
    }
  }

  private func serve() throws(MountFailure) {
    let mountpoint = try MountPreparation.mountpoint(settings, report: report)
    // From here on nothing hangs on the directory that this was started in.
    chdir("/")
    let parts = try AsyncWork.wait { [settings, report, log] () async throws(MountFailure) in
      try await MountParts.make(settings, mountpoint: mountpoint, report: report, log: log)
    }
    // Not looked at from this process: a thread that waits for an answer of its own process can't be
    // killed, and neither can the process then. The starter looks.
    let session = parts.session(at: mountpoint) { [report] in report.ready(at: mountpoint.path) }
    lifecycle.withLock { $0.mountStarted() }
    do throws(MountError) {
      try session.mount()
    } catch {
      AsyncWork.wait { await parts.close() }
      throw MountFailure(error.message)
    }
    self.session.withLock { $0 = session }
    for note in notes { report.note(note) }
    let control = startControl(mountpoint, parts)
    log.write(.info, "mounted", ["bucket": parts.bucketName, "mountpoint": mountpoint.path])
    if lifecycle.withLock({ $0.mounted() }) == .leave { leave(session) }
    let failure = serveRequests(session)
    let left = AsyncWork.wait { await parts.finish() }
    if let sentence = PendingWords.unsaved(left, mountpoint: mountpoint.path) {
      log.write(.error, sentence)
      unsaved.withLock { $0 = sentence }
    }
    AsyncWork.wait { await parts.close() }
    log.write(.info, "unmounted", ["mountpoint": mountpoint.path])
    isFinished.withLock(wakingAll: true) { $0 = true }
    control?.finish()
    if let failure { throw MountFailure(failure.message) }
  }

  private func serveRequests(_ session: FuseSession) -> MountError? {
    do throws(MountError) {
      try session.run()
      return nil
    } catch {
      log.write(.error, "serving the mount failed: \(error.message)")
      return error
    }
  }

  private func startControl(_ mountpoint: Mountpoint, _ parts: MountParts) -> ControlServer? {
    let cacheRequests = parts.cacheRequests
    do throws(DiskFailure) {
      let server = try ControlServer(
        mountpoint: mountpoint.path,
        directories: RuntimeDirectory.ofThisUser,
        log: log
      ) { [self] request, caller in
        switch request.command {
        case .status:
          let passthrough = session.withLock { $0 }?.passthrough
          caller(ControlAnswer(status: parts.status(at: mountpoint, passthrough)))
        case .unmount: unmount(mountpoint, parts, caller)
        case .renamings: recover(parts, finishes: false, caller)
        case .finishRenamings: recover(parts, finishes: true, caller)
        case .warm, .evict, .map: cacheRequests.carryOut(request, for: caller)
        }
      }
      try server.start()
      return server
    } catch {
      // The mount is as good without; only `status` and a polite `unmount` miss it.
      log.write(.warning, "there is no control socket: \(error)")
      report.note("'dipper status' will not show this mount: \(error)")
      return nil
    }
  }

  /// `dipper recover`: says every second that it is still at it.
  private func recover(_ parts: MountParts, finishes: Bool, _ answer: ControlCaller) {
    let outcome = Monitor<Result<RecoveryReport, TransferError>?>(nil)
    Task {
      let found = await parts.recover(finishes: finishes)
      outcome.withLock(wakingAll: true) { $0 = found }
    }
    while true {
      let end = SystemClock().now + .seconds(1)
      let found: Result<RecoveryReport, TransferError>? = outcome.wait { outcome, deadline in
        if let outcome { return .some(.some(outcome)) }
        deadline = end.nanoseconds
        return SystemClock().now >= end ? .some(.none) : nil
      }
      switch found {
      case nil: answer(ControlAnswer(waiting: "renamings to be finished"))
      case .success(let report):
        answer(ControlAnswer(recovery: report))
        return
      case .failure(let error):
        answer(ControlAnswer(error: "\(error)"))
        return
      }
    }
  }

  /// `dipper unmount`: refuses if the mount is in use, else returns when all is put away.
  private func unmount(
    _ mountpoint: Mountpoint,
    _ parts: MountParts,
    _ answer: ControlCaller
  ) {
    guard let session = session.withLock({ $0 }) else {
      answer(ControlAnswer(error: "the mount is not up yet; try again"))
      return
    }
    let device = MountTable.current().top(at: mountpoint.path)?.device
    do throws(MountError) {
      try session.unmount()
    } catch {
      answer(ControlAnswer(error: error.message, isBusy: error.code == .busy))
      return
    }
    lifecycle.withLock { $0.takenOff() }
    var secondsOfCopies = 0
    while secondsOfCopies < Self.copiesPatienceSeconds {
      if waitUntilFinished(.seconds(1)) {
        answer(
          unsaved.withLock { $0 }.map { ControlAnswer(error: $0) } ?? ControlAnswer(isDone: true)
        )
        return
      }
      if let pending = parts.pendingWords {
        answer(ControlAnswer(waiting: pending))
        continue
      }
      secondsOfCopies += 1
      // The kernel lets go of a mount only when its last copy in any namespace is gone.
      let copies = secondsOfCopies < 2 ? nil : device.flatMap { MountCopies.find(of: $0).words }
      let cause = copies.map { "the copy of the mount that \($0) has in another mount namespace" }
      answer(ControlAnswer(waiting: cause ?? "the kernel to let go of the mount"))
    }
    let words = device.flatMap { MountCopies.find(of: $0).words } ?? "something that can't be seen"
    answer(
      ControlAnswer(
        error:
          "\(mountpoint.path) is unmounted here, but \(words) has a copy of it in another mount "
          + "namespace, such as a container's; the daemon (pid \(Disk.processID)) ends with the last "
          + "copy, or when it is sent SIGTERM"
      )
    )
  }

  // Whoever unmounts waits for so long for copies of the mount in other namespaces.
  private static let copiesPatienceSeconds = 10

  private func waitUntilFinished(_ patience: Duration) -> Bool {
    let end = SystemClock().now + patience
    return isFinished.wait { isFinished, deadline in
      if isFinished { return true }
      deadline = end.nanoseconds
      return SystemClock().now >= end ? false : nil
    }
  }

  /// Somebody wants the process to end, on the thread of signals.
  private func stop() {
    switch lifecycle.withLock({ $0.stopRequested() }) {
    case .wait:
      break
    case .end:
      report.failed(code: .failed, "stopped before anything was mounted")
      Thread.exitProcess(ExitCode.failed.rawValue)
    case .leave:
      if let session = session.withLock({ $0 }) { leave(session) }
    case .force:
      session.withLock({ $0 })?.exit()
    }
  }

  /// Takes the mount off; in use, it leaves the tree at once and what is open in it fails.
  private func leave(_ session: FuseSession) {
    do throws(MountError) {
      try session.unmount()
    } catch {
      log.write(.warning, "the mount is in use and taken off all the same: \(error.message)")
      try? session.unmount(lazily: true)
      session.exit()
    }
  }
}

/// Why a mount did not come up or ended badly.
struct MountFailure: Error, Hashable, Sendable {
  let code: ExitCode
  let sentence: String

  init(_ sentence: String, code: ExitCode = .failed) {
    self.code = code
    self.sentence = sentence
  }
}
