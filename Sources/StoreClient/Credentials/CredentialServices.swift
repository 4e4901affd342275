internal import Core
internal import HTTP
internal import StoreWire
internal import Support

/// What the sources need that ask a program or a service: the network, the clock, the disk.
package struct CredentialServices: Sendable {
  var client: any HTTPClient
  var time: any TimeSource
  var sleep: @Sendable (Instant) async -> Void
  var random: @Sendable () -> Double
  var files: any FileReader
  var programs: any ProgramRunner

  /// Creates services on a store's own network and clock.
  package init(
    _ surroundings: RemoteStore.Surroundings,
    files: any FileReader = DiskFileReader(),
    programs: any ProgramRunner = SystemProgramRunner()
  ) {
    client = surroundings.client
    time = surroundings.time
    sleep = surroundings.sleep
    random = surroundings.random
    self.files = files
    self.programs = programs
  }

  /// A question to a service that hands out credentials.
  struct Question {
    var method = "GET"
    var url: String
    var fields = HeaderFields()
    var body: BodySource = .empty
    /// False for services of this machine and its link.
    var usesProxy = false
    /// How long each try may take.
    var patience: Duration
    /// How many tries there may be.
    var tryCountMax: Int
  }

  /// 64 KiB: credentials are 2 KiB.
  private static let answerSizeMax = 64 << 10

  /// Asks until there is an answer other than "not now".
  ///
  /// - Returns: the last answer, whatever its status.
  /// - Throws: `HTTPError` if there was none.
  func ask(_ question: Question, by deadline: Instant) async throws(HTTPError) -> WireAnswer {
    var tryCount = 0
    while true {
      tryCount += 1
      let isLast = tryCount >= question.tryCountMax
      do throws(HTTPError) {
        let answer = try await askOnce(question, by: deadline)
        if isLast || (answer.status < 500 && answer.status != 429) { return answer }
      } catch {
        switch error.kind {
        case .unreachable, .interrupted, .timedOut, .stalled: if isLast { throw error }
        case .untrusted, .refused, .stopped, .cancelled, .invalid: throw error
        }
      }
      let pauseMax = Duration.milliseconds(100) * (1 << min(tryCount, 10))
      let pause = pauseMax * random()
      guard time.now + pause < deadline else {
        throw HTTPError(.timedOut, "no answer in time")
      }
      await sleep(time.now + pause)
    }
  }

  private func askOnce(
    _ question: Question,
    by deadline: Instant
  ) async throws(HTTPError) -> WireAnswer {
    let receiver = CollectingReceiver(sizeMax: Self.answerSizeMax)
    let request = HTTPRequest(
      method: question.method,
      url: question.url,
      fields: question.fields,
      body: question.body,
      deadline: min(deadline, time.now + question.patience),
      usesProxy: question.usesProxy
    )
    do throws(HTTPError) {
      let head = try await client.perform(request, receiver: receiver)
      return WireAnswer(status: head.status, fields: head.fields, body: receiver.body)
    } catch {
      guard receiver.isTooLarge else { throw error }
      throw HTTPError(.invalid, "the answer is larger than credentials can be")
    }
  }
}
