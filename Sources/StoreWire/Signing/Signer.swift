package import Core
internal import Crypto

/// Signs requests, in header fields or in the URL.
///
/// A pure value: the time comes from the caller, who corrects it when the store's clock differs.
/// The signing key is derived anew each time; its four HMACs cost less than the request's SHA-256
/// and leave nothing to invalidate.
package struct Signer: Sendable {
  /// S3 or TOS.
  package let dialect: SignatureDialect
  /// The region in the scope.
  package var region: String

  /// Creates a signer.
  package init(dialect: SignatureDialect, region: String) {
    self.dialect = dialect
    self.region = region
  }

  /// What goes into one signature, in the three steps of the protocol.
  package struct Signature: Hashable, Sendable {
    /// The request in its canonical spelling.
    package let canonicalRequest: String
    /// The algorithm, the time, the scope, and the hash of the canonical request.
    package let stringToSign: String
    /// The signature in lower-case hexadecimal.
    package let hexadecimal: String
    /// The names of the covered fields, sorted, between semicolons.
    package let signedHeaders: String
  }

  /// Returns the request's fields with everything that signing adds except `Host`, which the
  /// transport derives from the URL.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - target: where it goes.
  ///   - credentials: who asks.
  ///   - time: the store's present time.
  /// - Returns: the fields to send with `target.url`.
  package func fields(
    of request: WireRequest,
    to target: RequestTarget,
    credentials: Credentials,
    at time: Timestamp
  ) -> HeaderFields {
    var fields = unsignedFields(of: request, credentials: credentials, at: time)
    let signature = signature(
      of: request,
      to: target,
      fields: fields,
      credentials: credentials,
      at: time
    )
    fields["Authorization"] =
      "\(dialect.algorithm) Credential=\(credentials.accessKey)/\(scope(time)), "
      + "SignedHeaders=\(signature.signedHeaders), Signature=\(signature.hexadecimal)"
    return fields
  }

  /// Returns the signature of a request that carries it in a header field.
  package func signature(
    of request: WireRequest,
    to target: RequestTarget,
    credentials: Credentials,
    at time: Timestamp
  ) -> Signature {
    signature(
      of: request,
      to: target,
      fields: unsignedFields(of: request, credentials: credentials, at: time),
      credentials: credentials,
      at: time
    )
  }

  /// The request's fields and those that say when, by whom and of what body it is.
  private func unsignedFields(
    of request: WireRequest,
    credentials: Credentials,
    at time: Timestamp
  ) -> HeaderFields {
    var fields = request.fields
    fields[dialect.headerPrefix + "date"] = time.basicISO8601
    switch request.bodyHash {
    case .undeclared: break
    case .empty, .sha256, .unsigned:
      fields[dialect.headerPrefix + "content-sha256"] = Self.payload(request.bodyHash)
    }
    if let token = credentials.sessionToken {
      fields[dialect.headerPrefix + "security-token"] = token
    }
    return fields
  }

  private func signature(
    of request: WireRequest,
    to target: RequestTarget,
    fields: HeaderFields,
    credentials: Credentials,
    at time: Timestamp
  ) -> Signature {
    signature(
      method: request.method,
      path: target.path,
      query: target.query,
      headers: CanonicalHeaders(
        fields: fields,
        authority: target.authority,
        covers: dialect.covers
      ),
      payload: Self.payload(request.bodyHash),
      credentials: credentials,
      at: time
    )
  }

  /// Joins the six fields of the canonical request and signs them.
  func signature(
    method: WireRequest.Method,
    path: String,
    query: [WireRequest.QueryItem],
    headers: CanonicalHeaders,
    payload: String,
    credentials: Credentials,
    at time: Timestamp
  ) -> Signature {
    let pairs = query.map { ($0.name, $0.value) }.sorted { $0 < $1 }
    let canonicalRequest = [
      method.rawValue,
      path,
      pairs.map { "\($0.0)=\($0.1)" }.joined(separator: "&"),
      headers.block,
      headers.names,
      payload,
    ].joined(separator: "\n")
    let stringToSign = [
      dialect.algorithm,
      time.basicISO8601,
      scope(time),
      SHA256.digest(of: Array(canonicalRequest.utf8)).hexadecimal,
    ].joined(separator: "\n")
    let key = signingKey(secret: credentials.secretKey, at: time)
    return Signature(
      canonicalRequest: canonicalRequest,
      stringToSign: stringToSign,
      hexadecimal: HMACSHA256.code(of: Array(stringToSign.utf8), key: key).hexadecimal,
      signedHeaders: headers.names
    )
  }

  /// The day, the region, the service and the terminator: what a signing key is good for.
  func scope(_ time: Timestamp) -> String {
    "\(time.basicDate)/\(region)/\(dialect.service)/\(dialect.terminator)"
  }

  /// Returns the key that signs on the day of `time`.
  func signingKey(secret: String, at time: Timestamp) -> [UInt8] {
    var key = Array((dialect.keyPrefix + secret).utf8)
    for message in [time.basicDate, region, dialect.service, dialect.terminator] {
      key = HMACSHA256.code(of: Array(message.utf8), key: key)
    }
    return key
  }

  /// The last field of the canonical request.
  static func payload(_ hash: WireRequest.BodyHash) -> String {
    switch hash {
    case .empty, .undeclared: emptyHash
    case .sha256(let hash): hash
    case .unsigned: unsignedPayload
    }
  }

  static let unsignedPayload = "UNSIGNED-PAYLOAD"

  // SHA-256 of no bytes.
  private static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}

/// The header fields that a signature covers, in their canonical spelling.
struct CanonicalHeaders {
  /// A line `name:value` for each, by name, each with its line feed.
  let block: String
  /// The names between semicolons.
  let names: String

  /// Chooses from `fields` those that `covers` accepts, and the host.
  init(fields: HeaderFields, authority: String, covers: (String) -> Bool) {
    var values: [String: String] = ["host": authority]
    for field in fields.fields {
      let name = field.name.lowercased()
      guard name != "host", covers(name) else { continue }
      let value = Self.canonical(field.value)
      values[name] = values[name].map { "\($0),\(value)" } ?? value
    }
    let sorted = values.sorted { $0.key < $1.key }
    block = sorted.map { "\($0.key):\($0.value)\n" }.joined()
    names = sorted.map(\.key).joined(separator: ";")
  }

  /// Returns `value` without white space at its ends and with one space for each run inside.
  private static func canonical(_ value: String) -> String {
    value.utf8.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 })
      .map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
  }
}

extension Timestamp {
  /// The moment as `20261130T083000Z`.
  var basicISO8601: String {
    let time = CalendarTime(self)
    return "\(basicDate)T\(time.hour.padded(2))\(time.minute.padded(2))\(time.second.padded(2))Z"
  }

  /// The day as `20261130`.
  var basicDate: String {
    let time = CalendarTime(self)
    return time.year.padded(4) + time.month.padded(2) + time.day.padded(2)
  }
}
