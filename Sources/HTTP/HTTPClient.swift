package import Core

/// Sends requests: the seam between the protocols of stores and the network.
///
/// Conformers: `CurlClient` and the scripted client in StoreClient's tests.
package protocol HTTPClient: AnyObject, Sendable {
  /// Sends `request`, hands the answer to `receiver` and returns its head once the body is whole.
  ///
  /// Cancelling the task ends the transfer at once. After the call has ended the receiver is not
  /// called again.
  func perform(
    _ request: HTTPRequest,
    receiver: any HTTPReceiver
  ) async throws(HTTPError) -> HTTPResponseHead
}

/// Takes an answer as it arrives, on the transport's thread.
///
/// It must not block on anything but the local disk.
package protocol HTTPReceiver: AnyObject, Sendable {
  /// Takes the head of the final answer (not of a `100 Continue`), once, before any of its body.
  ///
  /// - Returns: false to end the transfer here; it then fails with `.stopped`.
  func receive(head: HTTPResponseHead) -> Bool
  /// Takes the next bytes of the body; they are valid during the call.
  func receive(body: RawSpan) throws(DiskFailure)
}
