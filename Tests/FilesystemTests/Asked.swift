import Core
import Support
import Testing

/// One request to a file system and what became of it: stands in for the kernel.
final class Asked<Answer: Sendable>: ReplyPort {
  private struct State {
    var outcome: Result<Answer, FileError>?
    var answerCount = 0
    var isInterrupted = false
    var onInterrupt: (@Sendable () -> Void)?
  }

  private let state = Lock(State())
  private let gate = Gate()
  /// False for a caller that is gone when the answer comes.
  private let takesAnswer: Bool

  init(takesAnswer: Bool = true) {
    self.takesAnswer = takesAnswer
  }

  /// The reply to hand to the file system; `transform` is applied while it is being answered.
  func reply(
    _ transform: @escaping @Sendable (Answer) -> Answer = { $0 }
  ) -> Reply<Answer> {
    Reply(RequestToken(1), port: self) { [self] _, _, answer in
      end(.success(transform(answer)))
      return takesAnswer
    }
  }

  func fail(_ request: RequestToken, _ error: FileError) { end(.failure(error)) }

  func whenInterrupted(_ request: RequestToken, _ action: @escaping @Sendable () -> Void) {
    let isInterrupted = state.withLock { state in
      state.onInterrupt = action
      return state.isInterrupted
    }
    if isInterrupted { action() }
  }

  /// The caller gets a signal.
  func interrupt() {
    let action = state.withLock { state in
      state.isInterrupted = true
      return state.onInterrupt.take()
    }
    action?()
  }

  /// The outcome, if there is one already.
  var outcome: Result<Answer, FileError>? { state.withLock { $0.outcome } }

  /// Waits for the outcome; a request that is never answered fails the test.
  func answer() async throws -> Answer {
    let token = testTimers.schedule(after: .seconds(30)) { [gate] in gate.open() }
    await gate.wait()
    testTimers.cancel(token)
    return try #require(outcome, "the request was not answered within 30 s").get()
  }

  /// Waits for the outcome, which must be a failure, and returns its code.
  func failure() async throws -> FileError {
    do {
      let answer = try await answer()
      throw Unexpected(what: "\(answer)")
    } catch let error as FileError {
      return error
    }
  }

  private func end(_ outcome: Result<Answer, FileError>) {
    let count = state.withLock { state in
      state.outcome = state.outcome ?? outcome
      state.answerCount += 1
      return state.answerCount
    }
    #expect(count == 1, "a request is answered exactly once")
    gate.open()
  }
}

/// The timers of all tests: each would have a thread of its own.
let testTimers = Timers()

/// A success where a failure was due.
struct Unexpected: Error {
  let what: String
}

/// Waits until `condition` holds; fails the test after ten seconds.
func eventually(_ what: String, _ condition: () -> Bool) async throws {
  let clock = SystemClock()
  let deadline = clock.now + .seconds(60)
  while !condition() {
    if clock.now > deadline { throw Unexpected(what: "never: \(what)") }
    await testTimers.sleep(until: clock.now + .milliseconds(1))
  }
}
