internal import CCurl

extension HTTPError {
  /// Returns true if a handshake failed because the other side speaks something else, such as HTTP
  /// without TLS; `reason` is libcurl's, with the words of the library it uses.
  static func isWithoutTLS(_ code: CURLcode, _ reason: String) -> Bool {
    // Observed: OpenSSL 3.0. Source: GnuTLS, lib/errors.c, GNUTLS_E_UNEXPECTED_PACKET.
    let words = ["wrong version number", "unexpected TLS packet"]
    return code == CURLE_SSL_CONNECT_ERROR && words.contains { reason.contains($0) }
  }
}

extension HTTPError.Kind {
  /// What a failure of libcurl's means.
  ///
  /// - Parameters:
  ///   - code: the failure.
  ///   - wasSent: true if the request had begun to go out.
  init(_ code: CURLcode, wasSent: Bool) {
    self =
      switch code {
      case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
        CURLE_INTERFACE_FAILED, CURLE_PROXY, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER:
        .unreachable
      // Only the connect timeout is libcurl's; the other limits are the driver's.
      case CURLE_OPERATION_TIMEDOUT:
        .unreachable
      case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CACERT_BADFILE,
        CURLE_SSL_CRL_BADFILE, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        .untrusted
      case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY,
        CURLE_BAD_CONTENT_ENCODING, CURLE_LOGIN_DENIED, CURLE_BAD_FUNCTION_ARGUMENT,
        CURLE_UNKNOWN_OPTION, CURLE_NOT_BUILT_IN, CURLE_TOO_MANY_REDIRECTS,
        // The reading of a header line that is longer than libcurl's limit of 100 KiB.
        CURLE_OUT_OF_MEMORY:
        .invalid
      // Partial file, send and receive errors, nothing received, a broken chunk, and what newer
      // versions may add.
      default:
        wasSent ? .interrupted : .unreachable
      }
  }
}
