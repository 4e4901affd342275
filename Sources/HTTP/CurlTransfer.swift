internal import CCurl
internal import Core
internal import Support

/// One request on the wire; only the driver thread touches it.
///
/// The callbacks in `CurlCallbacks.swift` call its `receive`, `send` and `rewind`. The first of them
/// that fails leaves its reason in `failure` and makes libcurl end the transfer.
final class CurlTransfer {
  /// How often a transfer starts over: each of the idle connections may have gone stale.
  private static let restartCountMax = 100

  let submission: Submission
  let easy: EasyHandle
  /// Why a callback ended the transfer.
  private(set) var failure: HTTPError?
  /// The final head, once it is there.
  private(set) var head: HTTPResponseHead?
  /// How long nothing may move.
  let idleTimeout: Duration
  /// True once anything of an answer has arrived.
  private var hasAnswer = false
  private var restartCount = 0
  private var parser = ResponseHeadParser()
  private var body: BodyCursor
  private var announcedSize: Int?
  private var receivedSize = 0
  private var lastMovement: Instant
  private var sentSize = 0
  private let sockets: ConnectionSockets
  private let bodies: BodyBuffer
  private var openedSockets: [Int32] = []
  private let clock = SystemClock()
  /// True if the connection was unfit, and nothing has been sent on it.
  private var isConnectionUnfit = false

  init(
    _ submission: Submission,
    easy: EasyHandle,
    sockets: ConnectionSockets,
    bodies: BodyBuffer,
    idleTimeout: Duration
  ) {
    self.sockets = sockets
    self.bodies = bodies
    self.submission = submission
    self.easy = easy
    self.idleTimeout = submission.request.idleTimeout ?? idleTimeout
    body = BodyCursor(submission.request.body, watcher: submission.request.watcher)
    lastMovement = clock.now
  }

  /// A socket was made for a connection that is to come.
  func opened(_ socket: Int32) {
    openedSockets.append(socket)
  }

  /// The request is about to go out on `connection`; false to end the transfer.
  func connected(_ connection: ConnectionSockets.Connection) -> Bool {
    lastMovement = clock.now
    guard easy.isConnectionReused else {
      sockets.made(connection, candidates: openedSockets)
      return true
    }
    isConnectionUnfit = !sockets.isFit(connection)
    return !isConnectionUnfit
  }

  /// Takes a line of a head; false to end the transfer.
  func receive(headerLine line: UnsafeBufferPointer<UInt8>) -> Bool {
    hasAnswer = true
    lastMovement = clock.now
    do throws(ResponseHeadParser.Defect) {
      guard let head = try parser.received(line: line) else { return true }
      self.head = head
      announcedSize = head.announcedBodySize(method: submission.request.method)
      guard submission.receiver.receive(head: head) else {
        return fail(.stopped, "the receiver wanted no more")
      }
      return true
    } catch {
      return fail(.invalid, error.reason)
    }
  }

  /// Takes bytes of the body; false to end the transfer.
  func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
    lastMovement = clock.now
    guard head != nil else { return fail(.invalid, "the answer has no head") }
    receivedSize += bytes.count
    // libcurl cuts off what exceeds the announced length; this is the second look.
    if let announcedSize, receivedSize > announcedSize {
      return fail(.interrupted, "the body is longer than the \(announcedSize) bytes announced")
    }
    // Its receiver may have refused what libcurl had handed over before.
    guard failure == nil else { return false }
    return bodies.take(bytes, of: self, isLast: receivedSize == announcedSize)
  }

  /// Hands bytes of the body to the receiver; false to end the transfer.
  func hand(on bytes: UnsafeRawBufferPointer) -> Bool {
    do throws(DiskFailure) {
      try submission.receiver.receive(body: bytes.bytes)
      return true
    } catch {
      return fail(.refused(error), error.description)
    }
  }

  /// Fills `buffer` with the next bytes of the request's body; nil to end the transfer.
  func send(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    lastMovement = clock.now
    do throws(DiskFailure) {
      return try body.read(into: buffer)
    } catch {
      _ = fail(.refused(error), error.description)
      return nil
    }
  }

  /// Goes back in the request's body, to send it again on another connection.
  ///
  /// Not if all of it was sent: the server may have done what it says, and only who asked can find that
  /// out. The transfer then fails as one whose answer was lost.
  func rewind(to offset: Int) -> Bool {
    guard !body.isAtEnd else {
      return fail(.interrupted, "the connection ended when the request had been sent")
    }
    return body.seek(to: offset)
  }

  /// Returns true if the transfer failed because its connection had gone stale, and may start over.
  ///
  /// libcurl itself starts over, with any method, when nothing is received on a connection that was
  /// used before, but not when the request can't be sent in the first place. A request that was not
  /// sent as a whole was not carried out.
  func mayStartAgain(_ code: CURLcode) -> Bool {
    guard failure == nil, !hasAnswer, restartCount < Self.restartCountMax else { return false }
    guard isConnectionUnfit || (code == CURLE_SEND_ERROR && easy.isConnectionReused) else {
      return false
    }
    restartCount += 1
    isConnectionUnfit = false
    openedSockets = []
    return body.seek(to: 0)
  }

  /// The failure of a body that ended too early, if it did.
  var shortfall: HTTPError? {
    guard let announcedSize, receivedSize < announcedSize else { return nil }
    return error(.interrupted, "the body ended after \(receivedSize) of \(announcedSize) bytes")
  }

  /// When to look at the transfer again: its deadline, or the end of the idle time.
  var nextCheck: Instant {
    min(submission.request.deadline, lastMovement + idleTimeout)
  }

  /// Returns why the transfer must end now, if it must.
  func expired(at now: Instant) -> HTTPError? {
    if now >= submission.request.deadline { return .deadlinePassed(submission.origin) }
    guard now >= lastMovement + idleTimeout else { return nil }
    // A slow server takes what is in libcurl's and the kernel's buffers without a callback.
    let sentSize = easy.sentSize
    if sentSize != self.sentSize {
      self.sentSize = sentSize
      lastMovement = now
      return nil
    }
    return error(.stalled, "nothing moved for \(idleTimeout)")
  }

  /// An error with the server's name before `reason`.
  func error(_ kind: HTTPError.Kind, _ reason: String) -> HTTPError {
    HTTPError(kind, "\(submission.origin): \(reason)")
  }

  private func fail(_ kind: HTTPError.Kind, _ reason: String) -> Bool {
    failure = failure ?? error(kind, reason)
    return false
  }
}

extension HTTPError {
  /// The deadline passed before the answer was whole.
  static func deadlinePassed(_ origin: Origin) -> HTTPError {
    HTTPError(.timedOut, "\(origin): no whole answer before the deadline")
  }
}
