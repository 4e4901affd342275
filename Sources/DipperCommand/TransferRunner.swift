internal import Core
internal import Daemon
internal import Dipper
internal import Support

/// Runs a transfer of the command line: signals pause it, and how it ends is an exit code and a sentence.
struct TransferRunner {
  let invocation: Invocation
  /// The transfer, to be put in a sentence: "the download of /tmp/x".
  let name: String
  /// The same command goes on with it after a pause.
  let isResumable: Bool
  /// The object's bytes go to standard output.
  var writesOutput = false

  /// Runs `body`, which is given the log and what a signal must pause.
  func run(
    _ body: @escaping @Sendable (Log, Pause) async throws(DipperError) -> Void
  ) throws(Failure) {
    let log: Log
    do throws(DiskFailure) {
      log = try Log(invocation, otherwise: .standardError)
    } catch {
      throw Failure("the log can't be written: \(error)")
    }
    ProcessLimits.raiseOpenFiles()
    ProcessLimits.forbidCoreFiles()
    let toleratesClosedPipe = ClosedPipe.isIgnored
    // Before there is a second thread: all of them leave these signals to the watch.
    let pause = Pause()
    do throws(DiskFailure) {
      try SignalWatch.start([.interrupt, .terminate]) { pause.request($0) }
    } catch {
      throw Failure("\(error)")
    }
    do throws(DipperError) {
      try AsyncWork.wait { () async throws(DipperError) in
        try await pause.run { () async throws(DipperError) in try await body(log, pause) }
      }
    } catch {
      if writesOutput, Console.isOutputClosed, pause.signal == nil {
        guard toleratesClosedPipe else { ClosedPipe.endProcess() }
        throw Failure("standard output can't be written: nobody reads it any more (broken pipe)")
      }
      throw failure(error, pause.signal)
    }
  }

  /// Says so if there was nothing that `--abort` could give up: a misspelled name would look the same.
  static func tellAbort(_ hadSomething: Bool, of name: String) {
    if !hadSomething { Console.complain("there is nothing to give up of \(name)") }
  }

  private func failure(_ error: DipperError, _ signal: SignalWatch.Signal?) -> Failure {
    let isStopped = [.paused, .cancelled].contains(error.kind)
    if let signal, isStopped {
      let code: ExitCode = signal == .interrupt ? .interrupted : .terminated
      let isKept = isResumable && error.kind == .paused
      return Failure(isKept ? "paused; the same command resumes \(name)" : "stopped", code: code)
    }
    return switch error.kind {
    // Output that could not be written has been told.
    case .cancelled where writesOutput: Failure(nil)
    case .changed: Failure(error.description, code: .sourceChanged)
    case .held: Failure(error.description, code: .checkpointHeld)
    default: Failure(error.description)
    }
  }
}

/// Lets a signal end a task early.
final class Pause: Sendable {
  private struct State {
    var signal: SignalWatch.Signal?
    var cancel: (@Sendable () -> Void)?
  }

  private let state = Lock(State())

  /// The signal that asked for a pause, if one did.
  var signal: SignalWatch.Signal? { state.withLock { $0.signal } }

  /// Asks for a pause; a second signal ends the process as it is, which loses nothing recorded.
  func request(_ signal: SignalWatch.Signal) {
    let (isFirst, cancel) = state.withLock { state in
      defer { state.signal = state.signal ?? signal }
      return (state.signal == nil, state.cancel)
    }
    guard isFirst else { Thread.exitProcess(128 + signal.number) }
    cancel?()
  }

  /// Runs `body` so that a signal cancels it, also one that came before.
  func run(
    _ body: @escaping @Sendable () async throws(DipperError) -> Void
  ) async throws(DipperError) {
    let task = Task<Result<Void, DipperError>, Never> {
      do throws(DipperError) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    }
    arm { task.cancel() }
    try await task.value.get()
  }

  /// Shows a transfer's events to its end, so that a signal pauses it rather than all around it.
  ///
  /// - Returns: what came of it.
  func follow<Event: Sendable, Success: Sendable>(
    _ transfer: TransferTask<Event, Success>,
    show: (Event) -> Void
  ) async throws(DipperError) -> Success {
    // An error means that it has ended already.
    arm { try? transfer.control.pause() }
    for await event in transfer.events { show(event) }
    return try await transfer.value
  }

  private func arm(_ cancel: @escaping @Sendable () -> Void) {
    let isRequested = state.withLock { state in
      state.cancel = cancel
      return state.signal != nil
    }
    if isRequested { cancel() }
  }
}
