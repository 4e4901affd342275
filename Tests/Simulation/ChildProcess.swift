package import Core
internal import Glibc
internal import Support

/// A program that a test runs: its output is kept, and it ends with its owner.
///
/// The program inherits no descriptors but the standard three, so that it keeps nobody's pipe or
/// socket open. Its standard input is a pipe that stays open until `closeInput` or the end of the
/// owner: a helper that reads it to the end can't outlive the test, even one that crashes.
package final class ChildProcess: Sendable {
  /// How a program ended.
  package enum Exit: Hashable, Sendable {
    /// By itself, with a status.
    case status(Int32)
    /// By a signal.
    case signal(Int32)
  }

  /// Where the program's standard error goes.
  package enum ErrorOutput: Sendable {
    /// To the test's own.
    case inherited
    /// Among its output.
    case merged
  }

  /// What was waited for did not come.
  package struct Failure: Error, CustomStringConvertible {
    /// What was waited for, and what the program has said so far.
    package let description: String
  }

  private struct State {
    var output: [UInt8] = []
    var hasOutputEnded = false
    var exit: Exit?
    var gates: [Gate] = []
  }

  /// What the threads that serve the child hold on to; not the owner, which would then never go.
  private final class Record: Sendable {
    let state = Lock(State())

    /// Notes what happened and lets everyone who waits look again.
    func change(_ body: (inout State) -> Void) {
      let gates = state.withLock { state in
        body(&state)
        defer { state.gates = [] }
        return state.gates
      }
      for gate in gates { gate.open() }
    }
  }

  private static let timers = Timers()

  /// The program's process id; it may be another's once the program has ended.
  package let id: Int32
  private let record = Record()
  private let input: Lock<FileDescriptor?>

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - program: its path, or its name to be looked up in `PATH`.
  ///   - arguments: its arguments, without its name.
  ///   - environment: what differs from the test's own environment; nil removes a variable.
  ///   - errorOutput: where its standard error goes.
  /// - Throws: the system's reason why it can't be started.
  package init(
    _ program: String,
    _ arguments: [String] = [],
    environment: [String: String?] = [:],
    errorOutput: ErrorOutput = .inherited
  ) throws(DiskFailure) {
    let input = try Pipe()
    let output = try Pipe()
    let errors =
      switch errorOutput {
      case .inherited: try FileDescriptor.duplicate(of: STDERR_FILENO)
      case .merged: output.writeEnd
      }
    id = try Subprocess.start(
      program,
      arguments: ([program] + arguments).map { Array($0.utf8) },
      extraEnvironment: environment.compactMap { name, value in value.map { "\(name)=\($0)" } },
      withheldEnvironment: environment.filter { $0.value == nil }.map(\.key),
      descriptors: [input.readEnd, output.writeEnd, errors]
    ).processID
    self.input = Lock(input.writeEnd)
    let (record, id, readEnd) = (record, id, output.readEnd)
    try Thread.require("child-output") { Self.collectOutput(readEnd, record) }
    try Thread.require("child-exit") { Self.reap(id, record) }
  }

  /// Runs a program to its end and returns how it ended and what it said.
  package static func run(
    _ program: String,
    _ arguments: [String] = [],
    environment: [String: String?] = [:],
    errorOutput: ErrorOutput = .merged,
    within limit: Duration = .seconds(30)
  ) async throws -> (exit: Exit, output: String) {
    let child = try ChildProcess(
      program,
      arguments,
      environment: environment,
      errorOutput: errorOutput
    )
    child.closeInput()
    let exit = try await child.exit(within: limit)
    try await child.wait(within: limit, for: "the end of the output") { state in
      state.hasOutputEnded ? true : nil
    }
    return (exit, child.output)
  }

  /// Everything the program has said so far.
  package var output: String {
    String(decoding: record.state.withLock { $0.output }, as: UTF8.self)
  }

  /// How the program ended; nil while it runs.
  package var exit: Exit? { record.state.withLock { $0.exit } }

  /// Waits for a line of output and returns it, without its end.
  ///
  /// Lines that came before the call count too; several may wait for lines of the same program.
  ///
  /// - Throws: `Failure` if the output ends before, or if it takes longer than `limit`.
  package func line(
    within limit: Duration = .seconds(60),
    where isWanted: (String) -> Bool
  ) async throws -> String {
    var searched = 0
    return try await wait(within: limit, for: "a line of output") { state -> String? in
      while let end = state.output[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: state.output[searched..<end], as: UTF8.self)
        searched = end + 1
        if isWanted(line) { return line }
      }
      guard !state.hasOutputEnded else { throw Failure(description: "the output ended") }
      return nil
    }
  }

  /// Waits for the program's end.
  ///
  /// - Throws: `Failure` if it takes longer than `limit`.
  @discardableResult
  package func exit(within limit: Duration = .seconds(60)) async throws -> Exit {
    try await wait(within: limit, for: "the program's end") { $0.exit }
  }

  /// Writes to the program's standard input; for little, as it blocks while the pipe is full.
  package func send(_ text: String) throws(DiskFailure) {
    guard let descriptor = input.withLock({ $0 }) else { return }
    try descriptor.write(Array(text.utf8))
  }

  /// Ends the program's standard input.
  package func closeInput() {
    input.withLock { $0 = nil }
  }

  /// Sends a signal, unless the program has ended.
  package func signal(_ number: Int32) {
    // The lock keeps the id from being reaped, and perhaps given to another, in between.
    record.state.withLock { state in
      if state.exit == nil { Glibc.kill(id, number) }
    }
  }

  /// Ends the program at once.
  package func kill() {
    signal(SIGKILL)
  }

  deinit {
    kill()
  }
}

extension ChildProcess {
  /// Asks `answer` after each change until it has one.
  @discardableResult
  private func wait<Answer>(
    within limit: Duration,
    for purpose: String,
    _ answer: (State) throws -> Answer?
  ) async throws -> Answer {
    let deadline = SystemClock().now + limit
    while true {
      let gate = Gate()
      let state = record.state.withLock { state in
        state.gates.append(gate)
        return state
      }
      if let answer = try answer(state) { return answer }
      try Task.checkCancellation()
      guard SystemClock().now < deadline else {
        throw Failure(description: "waited \(limit) for \(purpose); so far it said: \(output)")
      }
      let token = Self.timers.schedule(at: deadline) { gate.open() }
      await withTaskCancellationHandler {
        await gate.wait()
      } onCancel: {
        gate.open()
      }
      Self.timers.cancel(token)
    }
  }

  private static func collectOutput(_ descriptor: FileDescriptor, _ record: Record) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor.number, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      record.change { $0.output += buffer[..<count] }
    }
    record.change { $0.hasOutputEnded = true }
  }

  private static func reap(_ id: Int32, _ record: Record) {
    var information = siginfo_t()
    // Waits without reaping: that is done with the lock held, so that `signal` can't hit another.
    while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
    record.change { state in
      var status: Int32 = 0
      waitpid(id, &status, 0)
      let signal = status & 0x7F
      state.exit = signal == 0 ? .status((status >> 8) & 0xFF) : .signal(signal)
    }
  }
}
