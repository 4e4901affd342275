internal import CCurl
internal import Core
internal import Support

/// Sends requests with libcurl: one thread, one multi handle, connections used again.
///
/// A call of `perform` leaves its request in the `Mailbox`; the thread, which belongs to
/// `CurlDriver`, starts it when a connection is free, hands the answer to the receiver and resumes
/// the caller. Proxies are taken from the environment (`http_proxy`, `HTTPS_PROXY`, `NO_PROXY`).
package final class CurlClient: HTTPClient {
  private let mailbox: Mailbox

  /// Creates a client and starts its thread.
  ///
  /// - Throws: `.unreachable` if the system gives no memory or descriptors for it.
  package init(_ configuration: Configuration = Configuration()) throws(HTTPError) {
    let multi = try MultiHandle(connectionCountMax: configuration.connectionCountMax)
    let mailbox = Mailbox(multi: multi)
    self.mailbox = mailbox
    do throws(DiskFailure) {
      try Thread.require("dipper-http") { CurlDriver(mailbox, configuration).run() }
    } catch {
      throw HTTPError(.unreachable, "\(error)")
    }
  }

  package func perform(
    _ request: HTTPRequest,
    receiver: any HTTPReceiver
  ) async throws(HTTPError) -> HTTPResponseHead {
    let origin = try request.checkedOrigin()
    let ticket = Ticket()
    let outcome = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        mailbox.post(
          Submission(
            ticket: ticket,
            request: request,
            origin: origin,
            receiver: receiver,
            continuation: continuation
          )
        )
      }
    } onCancel: {
      mailbox.cancel(ticket)
    }
    return try outcome.get()
  }

  /// Ends the client: what is in flight and what comes later fails with `.cancelled`.
  ///
  /// When it returns no receiver is called any more and the thread has nothing left to do.
  package func shutDown() async {
    mailbox.close()
    await mailbox.ended.wait()
  }

  deinit {
    mailbox.close()
  }
}

extension CurlClient {
  /// The versions of libcurl and of what it is built on, in its own words.
  package static var libraryVersion: String { String(cString: curl_version()) }
}

extension CurlClient {
  /// How a client connects and how long it waits.
  package struct Configuration: Sendable {
    /// How long a connection may take: the name, the TCP and the TLS handshake.
    package var connectTimeout = Duration.seconds(10)
    /// How long a request may go without a byte in either direction before it is `.stalled`.
    package var idleTimeout = Duration.seconds(30)
    /// How many connections there may be; further requests wait for one.
    package var connectionCountMax = 64
    /// How many connections there may be to one server.
    package var hostConnectionCountMax = 64
    /// Bytes per second that all transfers together may move in each direction; nil is no limit.
    package var rateMax: Int?
    /// A PEM file of the authorities to trust instead of the system's.
    package var certificateAuthorityFile: String?
    /// What the client calls itself, such as `dipper/1.0`.
    package var userAgent = "dipper"

    /// Creates the default configuration.
    package init() {}
  }
}
