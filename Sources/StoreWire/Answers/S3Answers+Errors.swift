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
    var message = body?.text("Message").flatMap { $0.clause(300) } ?? sentence(for: kind, answer)
    let endpoint = body?.text("Endpoint")
    if redirectStatuses.contains(answer.status), kind == .invalidRequest {
      message = redirectSentence(answer, endpoint: endpoint)
    }
    if kind == .wrongRegion {
      let host = redirectHost(answer, endpoint: endpoint)
      message += whereabouts(region: regionHint(answer), host: host)
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

  private static func kind(
    _ answer: WireAnswer,
    code: S3ErrorCode?,
    request: WireRequest,
    body: XMLFields?
  ) -> StoreError.Kind {
    if redirectStatuses.contains(answer.status) { return redirectKind(answer, code: code) }
    var kind = kind(status: answer.status, hasError: body != nil, request: request)
    if answer.status == 400, request.method == .head, answer.fields["x-amz-bucket-region"] != nil {
      kind = .wrongRegion
    }
    if let code, code.kind.fits(answer.status) { kind = code.kind }
    if code == .authorizationHeaderMalformed, body?["Region"] == nil {
      // Without a region it complains about the access key or the scope.
      kind = .badCredentials
    }
    switch kind {
    case .notFound where request.condition.namesVersion:
      // Nothing is there where a certain version should be. Observed: AWS and moto.
      return .preconditionFailed
    case .preconditionFailed where request.condition == .ifAbsent:
      // A copy has conditions on both sides; the error says which one failed.
      let condition = body?.text("Condition")?.lowercased()
      let blamesSource =
        condition?.hasPrefix("x-amz-copy-source")
        ?? (request.fields["x-amz-copy-source-if-match"] != nil)
      return blamesSource ? .preconditionFailed : .alreadyExists
    default: return kind
    }
  }

  private static func requestID(_ answer: WireAnswer, _ body: XMLFields?) -> String? {
    body?.text("RequestId").flatMap { $0.shown(128) } ?? requestID(answer)
  }

  /// The body as a document, or nil if it is none.
  static func document(of answer: WireAnswer) -> XMLDocument? {
    try? XMLDocument(answer.body)
  }
}
