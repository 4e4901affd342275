package import Core

/// One request, ready for the wire.
package struct HTTPRequest: Sendable {
  /// `GET`, `HEAD`, `PUT`, `POST` or `DELETE`.
  package var method: String
  /// The absolute URL, percent-encoded; it is sent exactly as it stands (`//` and `..` are kept).
  package var url: String
  /// The header fields, without `Content-Length`.
  package var fields: HeaderFields
  /// The body.
  package var body: BodySource
  /// When it must have ended.
  package var deadline: Instant

  /// Creates a request.
  package init(
    method: String,
    url: String,
    fields: HeaderFields = HeaderFields(),
    body: BodySource = .empty,
    deadline: Instant
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.deadline = deadline
  }
}

/// The head of an answer.
package struct HTTPResponseHead: Hashable, Sendable {
  /// The status, such as 206.
  package var status: Int
  /// The header fields.
  package var fields: HeaderFields

  /// Creates a head.
  package init(status: Int, fields: HeaderFields) {
    self.status = status
    self.fields = fields
  }
}

/// Takes an answer as it arrives, on the transport's thread.
///
/// It must not block on anything but the
/// local disk.
package protocol HTTPReceiver: AnyObject, Sendable {
  /// Takes the head of the final answer (not of a `100 Continue`).
  ///
  /// - Returns: false to end the transfer here; it then fails with `.stopped`.
  func receive(head: HTTPResponseHead) -> Bool
  /// Takes the next bytes of the body.
  func receive(body: RawSpan) throws(DiskFailure)
}

/// Why there is no whole answer.
package struct HTTPError: Error, Hashable, Sendable {
  /// What went wrong.
  package enum Kind: Hashable, Sendable {
    /// The name could not be resolved or the connection not made: nothing was sent.
    case unreachable
    /// The connection broke, or the body was shorter or longer than announced.
    case interrupted
    /// The server's certificate is not trusted.
    case untrusted
    /// The deadline passed.
    case timedOut
    /// Nothing moved for the idle timeout.
    case stalled
    /// The receiver could not take the bytes.
    case refused(DiskFailure)
    /// The receiver wanted no more.
    case stopped
    /// The task was cancelled.
    case cancelled
    /// The answer is not HTTP, or larger than allowed; or the request can't be sent (bad URL).
    case invalid
  }

  /// What went wrong.
  package var kind: Kind
  /// One sentence for a person.
  package var message: String

  /// Creates an error.
  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
