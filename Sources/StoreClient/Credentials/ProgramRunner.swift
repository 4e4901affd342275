package import Core
internal import Glibc
internal import Support

/// What came of a program that was run for its output.
package struct ProgramOutput: Hashable, Sendable {
  /// How it ended; nil if it had to be ended.
  package var exitCode: Int32?
  /// What it wrote to its standard output, as far as it is kept.
  package var output: [UInt8]
  /// What it wrote to its standard error, as far as it is kept.
  package var errors: [UInt8]
  /// True if it wrote more than it may.
  package var isTooLarge: Bool
  /// True if it took longer than it may.
  package var isLate: Bool

  /// Creates what came of a program.
  package init(
    exitCode: Int32? = 0,
    output: [UInt8] = [],
    errors: [UInt8] = [],
    isTooLarge: Bool = false,
    isLate: Bool = false
  ) {
    self.exitCode = exitCode
    self.output = output
    self.errors = errors
    self.isTooLarge = isTooLarge
    self.isLate = isLate
  }
}

/// Runs programs for their output: the seam to `credential_process`.
///
/// Conformers: `SystemProgramRunner` and a script in tests.
package protocol ProgramRunner: Sendable {
  /// Runs the program that the first of `words` names, with the others as arguments.
  func run(_ words: [String], patience: Duration) async throws(DiskFailure) -> ProgramOutput
}

/// Programs of this machine, each in a session of its own, with our environment and no input.
package struct SystemProgramRunner: ProgramRunner {
  /// 64 KiB: credentials are 2 KiB.
  static let outputSizeMax = 64 << 10
  /// 4 KiB: the beginning of what is wrong.
  static let errorSizeMax = 4 << 10
  // How often to look whether it has ended: it may leave a child behind that keeps the pipe open.
  private static let lookIntervalMilliseconds: Int32 = 20

  private let pool = BlockingPool(threadCount: 1)

  /// Creates it.
  package init() {}

  package func run(
    _ words: [String],
    patience: Duration
  ) async throws(DiskFailure) -> ProgramOutput {
    try await pool.run { () throws(DiskFailure) in try Self.runNow(words, patience) }
  }

  private static func runNow(
    _ words: [String],
    _ patience: Duration
  ) throws(DiskFailure) -> ProgramOutput {
    let deadline = SystemClock().now + patience
    let output = try Pipe()
    let errors = try Pipe()
    let input = try FileDescriptor.open("/dev/null", .read)
    let ends = [output.readEnd, errors.readEnd]
    let process = try Subprocess.start(
      words.first ?? "",
      arguments: words.map { Array($0.utf8) },
      descriptors: [input, output.writeEnd, errors.writeEnd],
      startsSession: true
    )
    let isFirst = running.withLock { running in
      running.processes.insert(process.processID)
      defer { running.endsAtExit = true }
      return !running.endsAtExit
    }
    if isFirst { atexit { SystemProgramRunner.endAll() } }
    return collect(process, ends, deadline)
  }

  private struct Running {
    var processes: Set<Int32> = []
    var endsAtExit = false
  }

  /// What runs now, each the first of a session.
  private static let running = Lock(Running())

  /// Ends what still runs, with all that it started: nobody reads its output any more.
  private static func endAll() {
    running.withLock { running in
      for process in running.processes { kill(-process, SIGKILL) }
    }
  }

  /// It has ended: its number may be another's as soon as it is waited for.
  private static func forget(_ process: Subprocess) {
    running.withLock { _ = $0.processes.remove(process.processID) }
  }

  /// Reads until the program has ended, has written too much, or has taken too long.
  private static func collect(
    _ process: Subprocess,
    _ ends: [FileDescriptor],
    _ deadline: Instant
  ) -> ProgramOutput {
    var result = ProgramOutput(exitCode: nil)
    while true {
      // Under the lock, so that a number that is free again is never signalled.
      let ending = running.withLock { running in
        let ending = process.endingIfEnded()
        if ending != nil { running.processes.remove(process.processID) }
        return ending
      }
      // What it wrote before its end lies in the pipes by now.
      let arrived = drain(ends, into: &result, waits: ending == nil)
      if let ending {
        // A pipe holds 64 KiB; what comes later is a child's that it left behind.
        var roundCount = 0
        while roundCount < 32, drain(ends, into: &result, waits: false) { roundCount += 1 }
        if case .exited(let code) = ending { result.exitCode = code }
        return result
      }
      result.isLate = SystemClock().now >= deadline
      if result.isTooLarge || result.isLate { break }
      if !arrived { usleep(1000) }
    }
    // With everything that it started: the session is its own.
    process.sendToGroup(signal: SIGKILL)
    forget(process)
    _ = process.wait()
    return result
  }

  /// Reads what is there; returns true if there was something.
  private static func drain(
    _ ends: [FileDescriptor],
    into result: inout ProgramOutput,
    waits: Bool
  ) -> Bool {
    var polls = ends.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
    guard poll(&polls, nfds_t(polls.count), waits ? lookIntervalMilliseconds : 0) > 0 else {
      return false
    }
    var buffer = [UInt8](repeating: 0, count: 4096)
    var hasRead = false
    for (index, entry) in polls.enumerated() where entry.revents != 0 {
      let count = read(entry.fd, &buffer, buffer.count)
      guard count > 0 else { continue }
      hasRead = true
      if index == 0 {
        let room = outputSizeMax - result.output.count
        result.output += buffer.prefix(min(count, room))
        result.isTooLarge = result.isTooLarge || count > room
      } else {
        result.errors += buffer.prefix(min(count, errorSizeMax - result.errors.count))
      }
    }
    return hasRead
  }
}
