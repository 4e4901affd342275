internal import Core
internal import HTTP
internal import StoreWire

/// What the answer to one try of a `get` must say before a byte of its body is believed.
///
/// A store that ignores `Range`, `If-Match` or both still answers with a success and with bytes,
/// only with the wrong ones; servers that do are in use. So nothing is taken from the status alone.
/// That the range is the right one is StoreWire's check; here stands what only a client of several
/// tries can know.
struct GetExpectation: Sendable {
  /// What this try asked for: the bytes that earlier tries have not brought, of their version.
  var request: GetRequest
  /// The same, as it was sent.
  var wire: WireRequest
  /// How the answer is read.
  var dialect: any WireDialect
  /// When the version was made, where the store gives no tag to hold on to; nil at first.
  var lastModified: Timestamp?

  /// What is to be done with an answer's body.
  enum Verdict: Sendable {
    /// It is what was asked for, and these are the object's facts.
    case take(ObjectMetadata)
    /// It is the store's explanation of a failure.
    case readError
    /// It is something else, and not a byte of it may be used.
    case refuse(StoreError)
  }

  /// Decides by the head what the body is.
  func verdict(on head: HTTPResponseHead) -> Verdict {
    guard (200..<300).contains(head.status) else { return .readError }
    let answer = WireAnswer(status: head.status, fields: head.fields)
    do throws(StoreError) {
      let metadata = try dialect.objectRange(answer, to: wire, get: request)
      if let objection = objection(to: metadata, head) { return .refuse(objection) }
      return .take(metadata)
    } catch {
      var error = error
      let tag = head.fields["ETag"].map { ETag($0) }
      if error.kind == .preconditionFailed, tag == nil || tag == request.ifMatch {
        // The same version in another size, or no version at all, is no change but some proxy's
        // own page.
        error.kind = .invalidAnswer
      }
      return .refuse(error)
    }
  }

  /// Returns what speaks against an answer that has the right range, or nil.
  private func objection(to metadata: ObjectMetadata, _ head: HTTPResponseHead) -> StoreError? {
    if head.fields["Content-Length"] == nil,
      let encoding = head.fields["Content-Encoding"], encoding.lowercased() != "identity"
    {
      // Bytes that are stored encoded are served as they are stored, with their length. An encoding
      // without a length is a proxy that compresses on the way: those aren't the object's bytes.
      return error(.invalidAnswer, "the answer is encoded on the way (\(encoding))", head)
    }
    if let versionID = request.versionID, let answered = metadata.currentVersionID,
      answered != versionID
    {
      return error(.invalidAnswer, "the answer is of version \(answered) instead", head)
    }
    if request.ifMatch != nil, metadata.version.etag == nil {
      return error(.invalidAnswer, "the answer doesn't say which version it has", head)
    }
    // To the second: a listing tells more of it than a header.
    if request.ifMatch == nil, let lastModified,
      metadata.version.lastModified.wholeSecond != lastModified.wholeSecond
    {
      return error(.preconditionFailed, "the object changed while it was read", head)
    }
    return nil
  }

  private func error(
    _ kind: StoreError.Kind,
    _ message: String,
    _ head: HTTPResponseHead
  ) -> StoreError {
    StoreError(
      kind,
      wire.operation,
      key: wire.key,
      status: head.status,
      requestID: head.fields[dialect.requestIDField],
      message: message.utf8.printable
    )
  }
}
