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
