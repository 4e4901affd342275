package import Core

/// Why there is no whole answer.
package struct HTTPError: Error, Hashable, Sendable {
  /// What went wrong.
  package enum Kind: Hashable, Sendable {
    /// The name could not be resolved or the connection not made: the request was not sent.
    case unreachable
    /// The connection broke, or the body was not as long as announced.
    case interrupted
    /// The server's certificate is not trusted.
    case untrusted
    /// The deadline passed.
    case timedOut
    /// Nothing moved for the idle timeout.
    case stalled
    /// The receiver could not take the bytes, or the request's body could not be read.
    case refused(DiskFailure)
    /// The receiver wanted no more.
    case stopped
    /// The task was cancelled, or the client shut down.
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
