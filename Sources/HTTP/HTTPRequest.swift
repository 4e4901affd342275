package import Core

/// One request, ready for the wire.
package struct HTTPRequest: Sendable {
  /// `GET`, `HEAD`, `PUT`, `POST` or `DELETE`.
  package var method: String
  /// The absolute URL, percent-encoded; it is sent exactly as it stands (`//` and `..` are kept).
  package var url: String
  /// The header fields, without `Content-Length`, `Transfer-Encoding` and `Expect`.
  package var fields: HeaderFields
  /// The body.
  package var body: BodySource
  /// When it must have ended, the wait for a connection included; a moment of the system's clock.
  package var deadline: Instant
  /// How long nothing may move, if not the client's own limit.
  ///
  /// A copy on the server may stay silent for minutes.
  package var idleTimeout: Duration?
  /// True to go before the requests that aren't urgent while there are too few connections.
  package var isUrgent: Bool
  /// How large the answer's body will be, roughly; nil if nothing is known.
  ///
  /// It decides the size of a buffer and nothing else.
  package var expectedBodySize: Int?
  /// False to go to the server itself, whatever proxies the environment names.
  ///
  /// Services on the machine's own link are nobody else's: their credentials pass no proxy.
  package var usesProxy: Bool
  /// Sees the body as it goes out; nil if nobody does.
  package var watcher: (any BodyWatcher)?

  /// Creates a request.
  package init(
    method: String,
    url: String,
    fields: HeaderFields = HeaderFields(),
    body: BodySource = .empty,
    deadline: Instant,
    idleTimeout: Duration? = nil,
    isUrgent: Bool = true,
    expectedBodySize: Int? = nil,
    usesProxy: Bool = true,
    watcher: (any BodyWatcher)? = nil
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.deadline = deadline
    self.idleTimeout = idleTimeout
    self.isUrgent = isUrgent
    self.expectedBodySize = expectedBodySize
    self.usesProxy = usesProxy
    self.watcher = watcher
  }
}

/// Sees the bytes of a request's body as they are handed to the transport.
package protocol BodyWatcher: AnyObject, Sendable {
  /// The next bytes of the body go out; `offset` is where they lie in it.
  ///
  /// It comes from the transport's thread and must not wait. An offset that was passed already means
  /// that the body is sent anew from there.
  func sent(_ bytes: RawSpan, at offset: Int)
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
