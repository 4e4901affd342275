internal import Core

extension S3Answers {
  /// The region that a bucket is said to be in, by any answer that says so.
  ///
  /// A redirect that names only a host says it too, if the host is one of AWS's own: they have the
  /// region in their names. No other host is anything but words for a message.
  ///
  /// Source: Amazon S3 User Guide, "Request redirection and the REST API".
  package static func regionHint(_ answer: WireAnswer) -> String? {
    if let region = answer.fields["x-amz-bucket-region"], !region.isEmpty { return region }
    let document = errorDocument(of: answer)
    if let region = document?.text("Region"), !region.isEmpty { return region }
    guard answer.status == 301 || answer.status == 307 else { return nil }
    return redirectHost(answer, endpoint: document?.text("Endpoint")).flatMap(
      Self.awsRegion(ofHost:)
    )
  }

  /// What a redirect means: a bucket that lives in another region, or something that isn't S3's.
  ///
  /// A redirect is never followed to where it points: the request carries a session token, and what
  /// is signed for one host is not for another. With a region the request is made anew.
  static func redirectKind(_ answer: WireAnswer, code: S3ErrorCode?) -> StoreError.Kind {
    guard answer.status == 301 || answer.status == 307 else { return .invalidRequest }
    if code?.kind == .wrongRegion || regionHint(answer) != nil { return .wrongRegion }
    // S3's own redirect has a document; a HEAD has none, and then nothing points elsewhere either.
    return answer.fields["Location"] == nil ? .wrongRegion : .invalidRequest
  }

  /// The region in the name of one of AWS's hosts for S3: `s3.REGION`, `s3-REGION` or
  /// `s3.dualstack.REGION`, with or without a bucket before it.
  static func awsRegion(ofHost host: String) -> String? {
    var name = host.lowercased()[...]
    if let scheme = name.firstRange(of: "://") { name = name[scheme.upperBound...] }
    if let colon = name.firstIndex(of: ":") { name = name[..<colon] }
    let domains = [".amazonaws.com", ".amazonaws.com.cn"]
    guard let domain = domains.first(where: { name.hasSuffix($0) }) else { return nil }
    let labels = name.dropLast(domain.count).split(separator: ".")
    guard let last = labels.last else { return nil }
    if last == "s3" || last == "s3-external-1" { return "us-east-1" }
    if last.hasPrefix("s3-") { return String(last.dropFirst(3)) }
    let service = labels.dropLast().last
    guard service == "s3" || service == "dualstack" else { return nil }
    return String(last)
  }

  private static func errorDocument(of answer: WireAnswer) -> XMLFields? {
    guard let document = document(of: answer), document.root == "Error" else { return nil }
    return document.fields
  }
}
