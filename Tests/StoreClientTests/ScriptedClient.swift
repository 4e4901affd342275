import Core
import HTTP
import Support

/// An answer that the scripted client gives, byte for byte.
struct ScriptedAnswer: Sendable {
  var status = 200
  var fields = HeaderFields()
  var body: [UInt8] = []
  /// What ends the exchange after the body's bytes; nil if it ends well.
  var failure: HTTPError.Kind?
  /// True if the failure comes before the head.
  var hasNoHead = false
  /// How long the exchange takes.
  var duration: Duration = .milliseconds(10)
  /// True if it comes before the request's body has gone out.
  var leavesBodyUnread = false

  /// An answer with these fields; `Content-Length` is added unless `fields` has one.
  static func answer(
    _ status: Int,
    _ fields: KeyValuePairs<String, String> = [:],
    _ body: [UInt8] = []
  ) -> ScriptedAnswer {
    var answer = ScriptedAnswer(status: status, fields: HeaderFields(fields), body: body)
    if answer.fields["Content-Length"] == nil, answer.fields["Transfer-Encoding"] == nil {
      answer.fields["Content-Length"] = String(body.count)
    }
    return answer
  }

  /// An answer with text for a body.
  static func answer(
    _ status: Int,
    _ fields: KeyValuePairs<String, String> = [:],
    text: String
  ) -> ScriptedAnswer {
    .answer(status, fields, Array(text.utf8))
  }

  /// S3's error document.
  static func error(
    _ status: Int,
    _ code: String,
    _ fields: KeyValuePairs<String, String> = [:],
    extra: String = ""
  ) -> ScriptedAnswer {
    .answer(
      status,
      fields,
      text: """
        <?xml version="1.0" encoding="UTF-8"?>
        <Error><Code>\(code)</Code><Message>scripted</Message>\(extra)<RequestId>R1</RequestId></Error>
        """
    )
  }

  /// No answer at all.
  static func failure(_ kind: HTTPError.Kind) -> ScriptedAnswer {
    ScriptedAnswer(failure: kind, hasNoHead: true)
  }

  /// The same answer, cut off after `count` bytes of the body.
  func cut(after count: Int, _ kind: HTTPError.Kind = .interrupted) -> ScriptedAnswer {
    var answer = self
    answer.body = Array(body.prefix(count))
    answer.failure = kind
    return answer
  }

  /// The same answer, `duration` after the request.
  func lasting(_ duration: Duration) -> ScriptedAnswer {
    var answer = self
    answer.duration = duration
    return answer
  }
}

/// A network that follows a script and keeps what it was asked.
final class ScriptedClient: HTTPClient {
  typealias Script = @Sendable (_ request: HTTPRequest, _ index: Int) -> ScriptedAnswer

  private let time: ManualTime
  private let script: Script
  private let asked = Lock<[HTTPRequest]>([])

  /// A network whose answer to each request is what `script` says.
  init(time: ManualTime, script: @escaping Script) {
    self.time = time
    self.script = script
  }

  /// A network that gives these answers in order; the last one again and again.
  convenience init(time: ManualTime, _ answers: [ScriptedAnswer]) {
    self.init(time: time) { _, index in answers[min(index, answers.count - 1)] }
  }

  /// Every request so far, in order.
  var requests: [HTTPRequest] { asked.withLock { $0 } }

  func perform(
    _ request: HTTPRequest,
    receiver: any HTTPReceiver
  ) async throws(HTTPError) -> HTTPResponseHead {
    let index = asked.withLock { asked in
      asked.append(request)
      return asked.count - 1
    }
    if Task.isCancelled { throw HTTPError(.cancelled, "cancelled") }
    let answer = script(request, index)
    if !answer.leavesBodyUnread { Self.send(request) }
    time.advance(by: answer.duration)
    if time.now >= request.deadline { throw HTTPError(.timedOut, "no answer in time") }
    if answer.hasNoHead, let failure = answer.failure { throw HTTPError(failure, "scripted") }
    let head = HTTPResponseHead(status: answer.status, fields: answer.fields)
    guard receiver.receive(head: head) else { throw HTTPError(.stopped, "stopped") }
    if request.method != "HEAD" { try Self.deliver(answer.body, to: receiver) }
    if let failure = answer.failure { throw HTTPError(failure, "scripted") }
    return head
  }

  /// Shows the body to whoever watches it go out: a beginning, and then all of it anew, as when a
  /// connection that was taken up again turns out to be dead.
  private static func send(_ request: HTTPRequest) {
    guard let watcher = request.watcher, case .bytes(let bytes) = request.body else { return }
    let half = bytes.count / 2
    watcher.sent(bytes.span.bytes.extracting(first: half), at: 0)
    watcher.sent(bytes.span.bytes.extracting(first: half), at: 0)
    watcher.sent(bytes.span.bytes.extracting(half..<bytes.count), at: half)
  }

  /// Hands the body over in small uneven pieces, as a network does.
  private static func deliver(
    _ body: [UInt8],
    to receiver: any HTTPReceiver
  ) throws(HTTPError) {
    var offset = 0
    while offset < body.count {
      let count = min(body.count - offset, 3 + offset % 61)
      do throws(DiskFailure) {
        try receiver.receive(body: body.span.bytes.extracting(offset..<offset + count))
      } catch {
        throw HTTPError(.refused(error), "refused")
      }
      offset += count
    }
  }
}
