package import Core

/// The document of an error; every field may be missing.
struct TOSErrorDocument: Decodable {
  var code: String?
  var message: String?
  var requestID: String?
  var detail: String?
  /// Where a redirect points to.
  var endpoint: String?

  private enum CodingKeys: String, CodingKey {
    case code = "Code"
    case message = "Message"
    case requestID = "RequestId"
    case detail = "EC"
    case endpoint = "Endpoint"
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    // One odd field leaves the others.
    code = try? container.decode(String.self, forKey: .code)
    message = try? container.decode(String.self, forKey: .message)
    requestID = try? container.decode(String.self, forKey: .requestID)
    detail = try? container.decode(String.self, forKey: .detail)
    endpoint = try? container.decode(String.self, forKey: .endpoint)
  }

  /// Reads S3's document, which an endpoint answers with that speaks S3.
  fileprivate init?(_ document: XMLDocument) {
    guard document.root == "Error" else { return nil }
    code = document.fields.text("Code")
    message = document.fields.text("Message")
    requestID = document.fields.text("RequestId")
    endpoint = document.fields.text("Endpoint")
  }

  /// Reads the body of an answer that isn't a success; nil if it explains nothing: proxies answer with
  /// HTML, with garbage or with nothing, and HEAD never has a body.
  init?(of answer: WireAnswer) {
    if let document = try? JSONDocument(answer.body, as: TOSErrorDocument.self) {
      self = document.value
    } else if let document = (try? XMLDocument(answer.body)).flatMap(TOSErrorDocument.init) {
      self = document
    } else {
      return nil
    }
  }

  /// True if it names an error.
  var isError: Bool { code?.isEmpty == false }

  /// Reads the error in a success that is none after all; nil if it is one.
  static func hidden(in answer: WireAnswer) -> TOSErrorDocument? {
    // An error takes a few hundred bytes; what is larger is what was asked for, and is read once.
    guard !answer.body.isEmpty, answer.body.count <= 64 << 10,
      let document = TOSErrorDocument(of: answer), document.isError
    else { return nil }
    return document
  }
}

extension TOSAnswers {
  /// Returns what an answer that isn't a success means.
  ///
  /// The finer code decides where it is known, else the code, else the status; neither decides
  /// against a status that it can't belong to.
  package static func error(_ answer: WireAnswer, to request: WireRequest) -> StoreError {
    error(answer, to: request, TOSErrorDocument(of: answer))
  }

  /// Returns the error that `document` describes.
  static func error(
    _ answer: WireAnswer,
    to request: WireRequest,
    _ document: TOSErrorDocument?
  ) -> StoreError {
    let code = document?.code?.shown(64)
    let detail = (document?.detail ?? answer.fields["x-tos-ec"])?.shown(64)
    let kind = kind(answer, code: code, detail: detail, request, document)
    var message = document?.message?.clause(300) ?? sentence(for: kind, answer)
    if redirectStatuses.contains(answer.status), kind == .invalidRequest {
      message = redirectSentence(answer, endpoint: document?.endpoint)
    }
    if kind == .wrongRegion {
      let host = redirectHost(answer, endpoint: document?.endpoint)
      message += whereabouts(region: regionHint(answer), host: host)
    }
    return StoreError(
      kind,
      request.operation,
      key: request.key,
      status: answer.status,
      code: code,
      subcode: detail,
      requestID: document?.requestID?.shown(128) ?? requestID(answer),
      message: message,
      retryAfter: retryAfter(answer)
    )
  }

  private static func kind(
    _ answer: WireAnswer,
    code: String?,
    detail: String?,
    _ request: WireRequest,
    _ document: TOSErrorDocument?
  ) -> StoreError.Kind {
    let status = answer.status
    if redirectStatuses.contains(status) {
      guard status == 301 || status == 307 else { return .invalidRequest }
      let knowsRegion = regionHint(answer) != nil
      return knowsRegion || answer.fields["Location"] == nil ? .wrongRegion : .invalidRequest
    }
    let known =
      detail.flatMap(TOSDetailCode.init(rawValue:))?.kind
      ?? code.flatMap(TOSErrorCode.init(rawValue:))?.kind
      ?? (code == nil ? detail.flatMap(TOSDetailCode.familyKind) : nil)
    var kind = Self.kind(status: status, hasError: document?.isError == true, request: request)
    if let known, known.fits(status) { kind = known }
    switch kind {
    case .notFound where request.condition.namesVersion:
      // Nothing is there where a certain version should be.
      return .preconditionFailed
    case .preconditionFailed where request.condition == .ifAbsent && code == nil:
      // Without a code it is the condition of the write, unless a copy has one of its own.
      let hasOther = request.fields.fields.contains {
        $0.name.lowercased().hasPrefix("x-tos-copy-source-if-")
      }
      return hasOther ? .preconditionFailed : .alreadyExists
    case .alreadyExists where request.condition != .ifAbsent && request.operation != .renameObject:
      // Nothing forbade to replace: a directory has the name of a file, or the other way round.
      return .conflict
    default: return kind
    }
  }

  /// The region that any answer says the bucket is in: by a field, or by the host that a redirect
  /// names, if that is one of TOS's own, which have it in their names.
  package static func regionHint(_ answer: WireAnswer) -> String? {
    // Source: TOS API reference, "HeadBucket"; some documents spell the field without `tos-`.
    for name in ["x-tos-bucket-region", "x-bucket-region"] {
      if let region = answer.fields[name], !region.isEmpty { return region }
    }
    guard answer.status == 301 || answer.status == 307 else { return nil }
    let endpoint = TOSErrorDocument(of: answer)?.endpoint
    guard var host = redirectHost(answer, endpoint: endpoint)?.lowercased()[...] else { return nil }
    if let scheme = host.firstRange(of: "://") { host = host[scheme.upperBound...] }
    host = host.prefix { $0 != ":" }
    guard let known = TOSHost(String(host)), TOSHost.domains.contains(known.domain) else {
      return nil
    }
    return known.region
  }
}
