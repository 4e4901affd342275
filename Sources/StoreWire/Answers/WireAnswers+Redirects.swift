internal import Core

extension WireAnswers {
  /// The statuses that point elsewhere.
  static var redirectStatuses: Set<Int> { [301, 302, 303, 307, 308] }

  /// What a person has to know about a redirect that isn't followed; `endpoint` is where the answer's
  /// document points to.
  static func redirectSentence(_ answer: WireAnswer, endpoint: String?) -> String {
    guard let host = redirectHost(answer, endpoint: endpoint)?.shown(128) else {
      return "the answer is a redirect that doesn't say where to; the endpoint may be wrong"
    }
    return "the answer is a redirect to \(host), which is not followed; if the store is there, "
      + "that is the endpoint to give"
  }

  /// The host that a redirect names, with the scheme if it has one: `Location`, else where the
  /// document points to.
  static func redirectHost(_ answer: WireAnswer, endpoint: String?) -> String? {
    guard let place = answer.fields["Location"] ?? endpoint, !place.isEmpty else { return nil }
    // `//host/path` takes over the scheme, `/path` stays on the host, `host` is how S3 writes one.
    let scheme = place.firstRange(of: "://").map { place[..<$0.upperBound] } ?? ""
    var rest = place[scheme.endIndex...]
    if scheme.isEmpty, rest.hasPrefix("//") { rest = rest.dropFirst(2) }
    // What stands before an @ is a name and a password.
    let host = rest.prefix { !"/?#\\".contains($0) }.split(separator: "@").last ?? ""
    return host.isEmpty ? nil : String(scheme + host)
  }

  /// Returns what to add to the sentence about a bucket that lives elsewhere.
  static func whereabouts(region: String?, host: String?) -> String {
    if let region = region?.shown(64) { return " (the bucket is in \(region))" }
    guard let host = host?.shown(128) else { return "" }
    return " (the answer points to \(host), which is not followed)"
  }
}
