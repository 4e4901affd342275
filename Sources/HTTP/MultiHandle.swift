internal import CCurl

/// A libcurl multi handle: the connections, and where the driver thread waits for them.
///
/// The driver thread alone uses it, but for `wakeUp`; it is a class so that a thread that is about
/// to wake the driver up keeps it alive.
final class MultiHandle: @unchecked Sendable {
  // Safety: `curl_multi_wakeup` may be called from any thread (Source: its manual page); everything
  // else is called by the driver thread, and `deinit` by whoever is the last to hold it.
  private let multi: UnsafeMutableRawPointer

  /// Creates a handle that keeps up to `connectionCountMax` connections open.
  ///
  /// - Throws: `.unreachable` if the system gives no memory or descriptors for it.
  init(connectionCountMax: Int) throws(HTTPError) {
    guard CurlLibrary.isReady, let multi = curl_multi_init() else {
      throw HTTPError(.unreachable, "can't set up libcurl")
    }
    self.multi = multi
    ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
    ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connectionCountMax)
    // libcurl goes on without its wake-up descriptors if it can't have them; the driver would then
    // sleep for good. So the first wake-up is tried here.
    guard curl_multi_wakeup(multi) == CURLM_OK else {
      throw HTTPError(.unreachable, "can't set up libcurl: no descriptors left")
    }
  }

  /// Ends the present or the next call of `poll`; for any thread.
  func wakeUp() {
    curl_multi_wakeup(multi)
  }

  /// Starts the transfer that `easy` is set up for.
  func add(_ easy: EasyHandle) throws(HTTPError) {
    let code = curl_multi_add_handle(multi, easy.pointer)
    guard code == CURLM_OK else { throw Self.error(code) }
  }

  /// Ends a transfer, finished or not; a connection in the middle of one is closed.
  func remove(_ easy: EasyHandle) {
    curl_multi_remove_handle(multi, easy.pointer)
  }

  /// Does what can be done without waiting; calls the transfers' callbacks.
  func perform() throws(HTTPError) {
    var runningCount: Int32 = 0
    let code = curl_multi_perform(multi, &runningCount)
    guard code == CURLM_OK else { throw Self.error(code) }
  }

  /// Takes the next transfer that has finished; nil if there is none.
  func nextFinished() -> (transfer: CurlTransfer, code: CURLcode)? {
    var easy: UnsafeMutableRawPointer?
    var code = CURLE_OK
    while ccurl_multi_next_finished(multi, &easy, &code) {
      // Safety: the private pointer is the transfer's; the driver's table keeps it alive until its
      // handle is removed from this multi handle.
      guard let context = ccurl_get_private(easy) else { continue }
      return (Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue(), code)
    }
    return nil
  }

  /// Waits until there is something to do: a socket, a timer of libcurl's, a wake-up, or `milliseconds`.
  func poll(milliseconds: Int32) throws(HTTPError) {
    let code = curl_multi_poll(multi, nil, 0, milliseconds, nil)
    guard code == CURLM_OK else { throw Self.error(code) }
  }

  private static func error(_ code: CURLMcode) -> HTTPError {
    HTTPError(.interrupted, "libcurl: \(String(cString: curl_multi_strerror(code)))")
  }

  deinit {
    curl_multi_cleanup(multi)
  }
}

/// libcurl's own state, set up once in a process.
enum CurlLibrary {
  /// True if it could be set up.
  static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
