package import Core

extension S3Answers {
  /// Returns what an answer that isn't a success means.
  ///
  /// The code decides where it is known and fits the status, else the status. The body is looked
  /// at defensively: gateways and proxies answer with HTML, with garbage or with nothing, and HEAD
  /// never has one.
  package static func error(_ answer: WireAnswer, to request: WireRequest) -> StoreError {
    let document = document(of: answer)
    return error(answer, to: request, body: document?.root == "Error" ? document?.fields : nil)
  }

  /// The store's time, by which a clock that is off can be corrected.
  package static func serverTime(_ answer: WireAnswer) -> Timestamp? {
    answer.fields["Date"].flatMap(WireDate.http)
  }

  /// Returns the error that `body` describes, the children of an `Error` element.
  static func error(
    _ answer: WireAnswer,
    to request: WireRequest,
    body: XMLFields?
  ) -> StoreError {
    let codeText = body?.text("Code").flatMap { $0.shown(64) }
    let code = codeText.flatMap(S3ErrorCode.init(rawValue:))
    let kind = kind(
      answer,
      code: code,
      request: request,
      body: body
    )
    var message = body?.text("Message").flatMap { $0.shown(300) } ?? sentence(for: kind, answer)
    if redirectStatuses.contains(answer.status), kind == .invalidRequest {
      message = redirectSentence(answer)
    }
    if kind == .wrongRegion {
      if let region = regionHint(answer)?.shown(64) {
        message += " (the bucket is in \(region))"
      } else if let host = redirectHost(answer, body)?.shown(128) {
        message += " (the answer points to \(host), which is not followed)"
      }
    }
    return StoreError(
      kind,
      request.operation,
      key: request.key,
      status: answer.status,
      code: codeText,
      requestID: requestID(answer, body),
      message: message,
      retryAfter: retryAfter(answer)
    )
  }

  /// An answer that breaks the protocol.
  static func invalid(
    _ answer: WireAnswer,
    to request: WireRequest,
    _ message: String
  ) -> StoreError {
    StoreError(
      .invalidAnswer,
      request.operation,
      key: request.key,
      status: answer.status,
      requestID: requestID(answer, nil),
      message: message
    )
  }

  private static let redirectStatuses: Set = [301, 302, 303, 307, 308]

  private static func kind(
    _ answer: WireAnswer,
    code: S3ErrorCode?,
    request: WireRequest,
    body: XMLFields?
  ) -> StoreError.Kind {
    if redirectStatuses.contains(answer.status) { return redirectKind(answer, code: code) }
    var kind = kind(
      status: answer.status,
      hasError: body != nil,
      request: request,
      fields: answer.fields
    )
    if let code, code.fits(answer.status) { kind = code.kind }
    if code == .authorizationHeaderMalformed, body?["Region"] == nil {
      // Without a region it complains about the access key or the scope.
      kind = .badCredentials
    }
    switch kind {
    case .notFound where request.hasWriteCondition(named: "If-Match"):
      // Nothing is there where a certain version should be. Observed: AWS and moto.
      return .preconditionFailed
    case .preconditionFailed where request.hasWriteCondition(named: "If-None-Match"):
      // A copy has conditions on both sides; the error says which one failed.
      let condition = body?.text("Condition")?.lowercased()
      let blamesSource =
        condition?.hasPrefix("x-amz-copy-source")
        ?? (request.fields["x-amz-copy-source-if-match"] != nil)
      return blamesSource ? .preconditionFailed : .alreadyExists
    default: return kind
    }
  }

  private static func kind(
    status: Int,
    hasError: Bool,
    request: WireRequest,
    fields: HeaderFields
  ) -> StoreError.Kind {
    switch status {
    case 304: .preconditionFailed
    case 400 where request.method == .head && fields["x-amz-bucket-region"] != nil: .wrongRegion
    case 401: .badCredentials
    case 403: .accessDenied
    case 404: missing(request)
    case 405, 501: .unsupported
    case 408: .unreachable
    case 409: .conflict
    case 412: .preconditionFailed
    case 413: .tooLarge
    case 416: .rangeNotSatisfiable
    case 429, 503: .throttled
    case 400..<500: .invalidRequest
    // An error in a 200 without a code that we know: the store failed after it had begun to answer.
    case 200..<300 where hasError: .serverFailure
    case 500...: .serverFailure
    default: .invalidAnswer
    }
  }

  /// What is missing where a 404 doesn't say.
  private static func missing(_ request: WireRequest) -> StoreError.Kind {
    switch request.operation {
    case .headBucket, .getBucketLocation, .listObjects, .listMultipartUploads, .deleteObjects,
      .putObject, .putSymlink, .createMultipartUpload:
      .noSuchBucket
    case .uploadPart, .completeMultipartUpload, .abortMultipartUpload, .listParts: .noSuchUpload
    case .getObject, .headObject, .deleteObject, .copyObject, .renameObject, .uploadPartCopy,
      .getObjectTagging, .setObjectMeta, .setObjectTime, .getFileStatus, .restoreObject,
      .getSymlink:
      .notFound
    }
  }

  private static func sentence(for kind: StoreError.Kind, _ answer: WireAnswer) -> String {
    switch kind {
    case .notFound: "there is no such object"
    case .noSuchBucket: "there is no such bucket"
    case .noSuchUpload: "there is no such multipart upload"
    case .accessDenied: "the store denies access"
    case .badCredentials: "the store doesn't accept the credentials"
    case .preconditionFailed where answer.status == 304:
      "the object has not changed from what the condition excludes"
    case .preconditionFailed: "the object is not the expected version"
    case .alreadyExists: "the object exists already"
    case .archived: "the object is archived and must be restored first"
    case .rangeNotSatisfiable: "the range lies outside the object"
    case .throttled: "the store asks for fewer requests"
    case .serverFailure: "the store failed"
    case .wrongRegion: "the bucket is in another region"
    case .unsupported: "the store can't do this"
    case .conflict: "another change is under way"
    case .tooLarge: "it is larger than the store allows"
    case .invalidRequest where answer.status == 400 && answer.body.isEmpty:
      "the store refuses the request without a reason; expired credentials are a common one"
    case .invalidRequest: "the store refuses the request"
    case .unreachable: "the request didn't reach the store whole"
    case .invalidAnswer, .untrusted, .timedOut, .sinkRefused, .offline, .cancelled:
      "the answer is not in the store's protocol"
    }
  }

  private static func requestID(_ answer: WireAnswer, _ body: XMLFields?) -> String? {
    (body?.text("RequestId") ?? answer.fields["x-amz-request-id"]).flatMap { $0.shown(128) }
  }

  /// How long to wait, in seconds or until a moment of the store's clock.
  private static func retryAfter(_ answer: WireAnswer) -> Duration? {
    guard let text = answer.fields["Retry-After"] else { return nil }
    // A day is longer than any deadline.
    if let seconds = text.utf8.decimalValue { return .seconds(min(seconds, 86_400)) }
    guard let end = WireDate.http(text), let now = serverTime(answer), end > now else {
      return nil
    }
    return .seconds(min(end.seconds - now.seconds, 86_400))
  }

  /// The body as a document, or nil if it is none.
  static func document(of answer: WireAnswer) -> XMLDocument? {
    try? XMLDocument(answer.body)
  }
}

extension S3ErrorCode {
  /// Returns true if a code may decide what an answer of this status means.
  ///
  /// A gateway that failed (5xx) can't know that there is no such key, whatever its body says.
  fileprivate func fits(_ status: Int) -> Bool {
    guard status >= 500 else { return true }
    switch kind {
    case .throttled, .serverFailure, .unsupported, .unreachable, .conflict: return true
    default: return false
    }
  }
}

extension WireRequest {
  /// Returns true if the request writes under this condition.
  fileprivate func hasWriteCondition(named name: String) -> Bool {
    method != .get && method != .head && fields[name] != nil
  }
}

extension String {
  /// The text for a message, at most `countMax` characters of one line; nil if nothing is left.
  func shown(_ countMax: Int) -> String? {
    let text = String(prefix(countMax)).utf8.printable
    return text.isEmpty ? nil : text
  }
}
