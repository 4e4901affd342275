package import Core

extension Signer {
  /// The longest time that a presigned URL may be valid: seven days, in both protocols.
  package static let lifetimeMax = Duration.seconds(604_800)

  /// Returns a URL that anyone can use for this request for `lifetime`.
  ///
  /// It covers the host and the fields of `request` with the dialect's prefix, which the user of
  /// the URL must send along.
  ///
  /// - Parameters:
  ///   - request: the request; its body is not covered.
  ///   - target: where it goes.
  ///   - credentials: who gives the URL away.
  ///   - time: from when it is valid.
  ///   - lifetime: for how long, in whole seconds; brought into 1 second to `lifetimeMax`.
  /// - Returns: the URL, signature included.
  package func presignedURL(
    of request: WireRequest,
    to target: RequestTarget,
    credentials: Credentials,
    at time: Timestamp,
    lifetime: Duration
  ) -> String {
    let (query, signature) = presignature(
      of: request,
      to: target,
      credentials: credentials,
      at: time,
      lifetime: lifetime
    )
    return RequestTarget(
      scheme: target.scheme,
      authority: target.authority,
      path: target.path,
      query: query
        + [WireRequest.QueryItem(dialect.queryPrefix + "Signature", signature.hexadecimal)]
    ).url
  }

  /// Returns the query without the signature, and the signature.
  func presignature(
    of request: WireRequest,
    to target: RequestTarget,
    credentials: Credentials,
    at time: Timestamp,
    lifetime: Duration
  ) -> (query: [WireRequest.QueryItem], signature: Signature) {
    let headers = CanonicalHeaders(
      fields: request.fields,
      authority: target.authority,
      covers: { $0.hasPrefix(dialect.headerPrefix) }
    )
    let seconds = min(max(lifetime, .seconds(1)), Self.lifetimeMax).components.seconds
    var query = target.query
    func add(_ name: String, _ value: String) {
      query.append(WireRequest.QueryItem(dialect.queryPrefix + name, value))
    }
    add("Algorithm", dialect.algorithm)
    add("Credential", "\(credentials.accessKey)/\(scope(time))")
    add("Date", time.basicISO8601)
    add("Expires", String(seconds))
    add("SignedHeaders", headers.names)
    if let token = credentials.sessionToken { add("Security-Token", token) }
    let signature = signature(
      method: request.method,
      path: target.path,
      query: query,
      headers: headers,
      payload: Self.unsignedPayload,
      credentials: credentials,
      at: time
    )
    return (query, signature)
  }
}
