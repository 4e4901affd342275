internal import Core
internal import Daemon
internal import Dipper
internal import Glibc
internal import Support

/// `dipper get`.
struct GetCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    let url = try BucketURL(invocation.operands[0], for: .object)
    try url.checkOptions(invocation)
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
    let isStream = invocation.operands.dropFirst().first?.bytes == Array("-".utf8)
    let target = isStream ? "" : try target(of: url)
    let work = GetWork(
      invocation: invocation,
      url: url,
      target: target,
      display: GetDisplay(invocation, name: isStream ? "" : target),
      log: log
    )
    do throws(DipperError) {
      try AsyncWork.wait { () async throws(DipperError) in
        try await pause.run { () async throws(DipperError) in
          try await isStream ? work.stream() : work.download()
        }
      }
    } catch {
      if isStream, Console.isOutputClosed, pause.signal == nil {
        guard toleratesClosedPipe else { ClosedPipe.endProcess() }
        throw Failure("standard output can't be written: nobody reads it any more (broken pipe)")
      }
      try fail(error, pause: pause, target: target, isStream: isStream)
    }
  }

  private func fail(
    _ error: DipperError,
    pause: Pause,
    target: String,
    isStream: Bool
  ) throws(Failure) {
    if let signal = pause.signal {
      let code: ExitCode = signal == .interrupt ? .interrupted : .terminated
      guard !isStream, !invocation.has(.noCheckpoint) else { throw Failure("stopped", code: code) }
      throw Failure("paused; the same command resumes the download of \(target)", code: code)
    }
    switch error.kind {
    case .changed: throw Failure(error.description, code: .sourceChanged)
    case .held: throw Failure(error.description, code: .checkpointHeld)
    case .cancelled where isStream: throw Failure(nil)
    default: throw Failure(error.description)
    }
  }

  /// The file to write: the operand, in it if it is a directory, or the key's last component here.
  private func target(of url: BucketURL) throws(Failure) -> String {
    let name = String(
      validating: url.key.split(separator: UInt8(ascii: "/")).last ?? [],
      as: UTF8.self
    )
    let isName = name.map { $0 != "." && $0 != ".." && !$0.utf8.contains(0) } ?? false
    let isDirectoryKey = url.key.last == UInt8(ascii: "/")
    var path = ""
    if invocation.operands.count > 1 {
      do throws(UsageError) {
        path = try invocation.operands[1].path(named: "FILE")
      } catch {
        throw Failure(error.message, code: .usage)
      }
      guard path.hasSuffix("/") || isDirectory(path) else {
        return ProcessEnvironment.absolute(path)
      }
      if !path.hasSuffix("/") { path += "/" }
    }
    guard let name, isName, !isDirectoryKey else {
      throw Failure("the key's last component can't be a file's name; give FILE", code: .usage)
    }
    return ProcessEnvironment.absolute(path + name)
  }

  private func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}

/// Lets a signal cancel a task.
private final class Pause: Sendable {
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
    let isPaused = state.withLock { state in
      state.cancel = { task.cancel() }
      return state.signal != nil
    }
    if isPaused { task.cancel() }
    try await task.value.get()
  }
}

/// What `get` does once its command line is understood.
private struct GetWork: Sendable {
  let invocation: Invocation
  let url: BucketURL
  let target: String
  let display: GetDisplay
  let log: Log

  func download() async throws(DipperError) {
    let bucket = try await bucket()
    if invocation.has(.abort) {
      try await bucket.abortDownload(url.key, to: target, options: options)
      return
    }
    defer { display.end() }
    try await bucket.download(url.key, to: target, options: options) { [display] event in
      display.show(event)
    }
  }

  func stream() async throws(DipperError) {
    try await bucket().read(url.key, options: options) { bytes in
      bytes.withUnsafeBytes { Console.write(Array($0)) }
    }
  }

  private func bucket() async throws(DipperError) -> Bucket {
    var stated = BucketOptions(invocation)
    stated.requestCountMax = options.parallel + 2
    return try await Bucket.open(
      url,
      options: stated,
      environment: ProcessEnvironment.variables,
      metrics: Metrics(),
      log: log
    )
  }

  private var options: DownloadOptions {
    var options = DownloadOptions()
    options.versionID = invocation.text(.versionID)
    options.etag = invocation.text(.ifMatch)
    options.temporaryPath = invocation.text(.tempFile).map(ProcessEnvironment.absolute)
    options.checkpointPath = invocation.text(.checkpoint).map(ProcessEnvironment.absolute)
    options.keepsCheckpoint = !invocation.has(.noCheckpoint)
    let partSize = invocation.number(.partSize) ?? 0
    options.partSize = partSize == 0 ? options.partSize : partSize
    options.parallel = min(max(invocation.number(.parallel) ?? options.parallel, 1), 1000)
    options.retryCountMax = invocation.number(.maxRetries) ?? options.retryCountMax
    options.forcesRestart = invocation.has(.forceRestart)
    return options
  }
}
