package import Core

/// What `doctor` knows of a bucket, in the order in which one thing needs the other.
package struct StoreFacts: Hashable, Sendable {
  /// The bucket's address.
  package var bucket: String
  /// Where the credentials come from; nil for a bucket that needs none, such as a directory.
  package var credentials: Credentials?
  /// Where requests go; nil for a directory.
  package var endpoint: String?
  /// True if the way there is TLS.
  package var isEncrypted = false
  /// The region that signatures name.
  package var region = ""
  /// How far the store's clock is ahead of this machine's; nil if it didn't say.
  package var clockLead: Duration?
  /// What came of listing.
  package var listing: Outcome
  /// What came of asking for a sample's metadata; nil if there is no sample.
  package var head: Outcome?
  /// What came of reading a byte of it; nil if there is no sample with bytes.
  package var get: Outcome?

  /// How one request ended.
  package enum Outcome: Hashable, Sendable {
    /// Well.
    case done
    /// Not.
    case failed(StoreError)
  }

  /// Where the credentials come from.
  package enum Credentials: Hashable, Sendable {
    /// A place; the access key's beginning is shown, and nothing of the secret is known here.
    ///
    /// Remarks are what a person should know of the place and of those that were passed over.
    case found(place: String, accessKey: String, expiry: Timestamp?, remarks: [String] = [])
    /// Requests are not signed.
    case anonymous
    /// There are none, and why.
    case missing(String)
  }

  /// Creates facts.
  package init(bucket: String, listing: Outcome) {
    self.bucket = bucket
    self.listing = listing
  }
}

/// What the facts of a bucket mean.
package enum StoreJudgement {
  // S3 refuses requests that are off by more; ours are corrected, but those of other tools are not.
  // Source: Amazon S3 API Reference, "RequestTimeTooSkewed".
  private static let clockErrorMax = Duration.seconds(900)
  // Clocks that the network keeps are off by less than a second, and the answer's date has no more.
  private static let clockErrorNotable = Duration.seconds(30)
  // Shorter than a long transfer.
  private static let expiryNear = Duration.seconds(600)

  /// Returns a check for each thing.
  ///
  /// - Parameters:
  ///   - facts: what is known.
  ///   - now: this machine's time.
  /// - Returns: the checks, in the order in which one thing needs the other.
  package static func checks(_ facts: StoreFacts, now: Timestamp) -> [DoctorReport.Check] {
    var checks: [DoctorReport.Check] = []
    if let found = facts.credentials { checks.append(credentials(found, facts, now)) }
    if let address = facts.endpoint {
      checks += [endpoint(address, facts), encryption(facts), region(facts), clock(facts)]
    }
    checks.append(permission("list", facts.listing, facts))
    checks.append(permission("head", facts.head, facts))
    checks.append(permission("get", facts.get, facts))
    return checks
  }

  private static func failure(_ outcome: StoreFacts.Outcome?) -> StoreError? {
    if case .failed(let error) = outcome { error } else { nil }
  }

  private static func credentials(
    _ found: StoreFacts.Credentials,
    _ facts: StoreFacts,
    _ now: Timestamp
  ) -> DoctorReport.Check {
    let name = "credentials"
    switch found {
    case .anonymous:
      return DoctorReport.Check(name, .ok, "none, as asked: requests are not signed")
    case .missing(let reason):
      return DoctorReport.Check(
        name,
        .failed,
        reason,
        advice: "set \(facts.variables.keys), name a --profile, or give --anonymous"
      )
    case .found(let place, let accessKey, let expiry, let remarks):
      let who = "\(place), access key \(accessKey.prefix(4))..."
      if let refusal = failure(facts.listing), refusal.kind == .badCredentials {
        return DoctorReport.Check(
          name,
          .failed,
          "\(who): the store refuses them: \(refusal)",
          advice: "correct the keys there; the secret must belong to the access key"
        )
      }
      let end = expiry.map { "good until \($0.iso8601)" } ?? "without an end"
      var advice = remarks
      if let expiry, expiry.seconds - now.seconds < expiryNear.components.seconds {
        advice.insert("they end soon; see that they are renewed where they come from", at: 0)
      }
      return DoctorReport.Check(
        name,
        advice.isEmpty ? .ok : .warning,
        "\(who), \(end)",
        advice: advice.isEmpty ? nil : advice.joined(separator: "; ")
      )
    }
  }

  private static func endpoint(_ address: String, _ facts: StoreFacts) -> DoctorReport.Check {
    let name = "endpoint"
    guard let error = failure(facts.listing) else {
      return DoctorReport.Check(name, .ok, "\(address) answers")
    }
    switch error.kind {
    case .unreachable, .timedOut, .invalidAnswer:
      return DoctorReport.Check(
        name,
        .failed,
        "\(address): \(error.message)",
        advice:
          "check the address (--endpoint, \(facts.variables.endpoint)), the network, and http_proxy"
      )
    case .badCredentials where error.status == nil:
      return DoctorReport.Check(name, .warning, "\(address) was not asked, for want of credentials")
    case .noSuchBucket:
      return DoctorReport.Check(
        name,
        .failed,
        "\(address) answers, but has no bucket of \(facts.bucket)",
        advice: "check the bucket's name, and whether it is at this endpoint"
      )
    case .throttled, .serverFailure:
      return DoctorReport.Check(name, .warning, "\(address) answers with \(error)")
    default:
      return DoctorReport.Check(name, .ok, "\(address) answers")
    }
  }

  private static func encryption(_ facts: StoreFacts) -> DoctorReport.Check {
    let name = "TLS"
    guard facts.isEncrypted else {
      return DoctorReport.Check(
        name,
        .warning,
        "off: bytes and names go in the clear",
        advice: "use https:// unless the way to the endpoint is private"
      )
    }
    guard let error = failure(facts.listing) else {
      return DoctorReport.Check(name, .ok, "on; the certificate is verified")
    }
    switch error.kind {
    case .untrusted:
      return DoctorReport.Check(
        name,
        .failed,
        error.message,
        advice: "name the file of the authority that signed the certificate in AWS_CA_BUNDLE"
      )
    case _ where error.status == nil:
      return DoctorReport.Check(name, .ok, "on; nothing came that could show a certificate")
    default:
      return DoctorReport.Check(name, .ok, "on; the certificate is verified")
    }
  }

  private static func region(_ facts: StoreFacts) -> DoctorReport.Check {
    guard let error = failure(facts.listing), error.kind == .wrongRegion else {
      return DoctorReport.Check(
        "region",
        .ok,
        facts.region.isEmpty ? "none needed: requests are not signed" : facts.region
      )
    }
    return DoctorReport.Check(
      "region",
      .failed,
      "\(facts.region): \(error)",
      advice: "give the bucket's own with --region"
    )
  }

  private static func clock(_ facts: StoreFacts) -> DoctorReport.Check {
    let name = "clock"
    guard let lead = facts.clockLead else {
      return DoctorReport.Check(name, .skipped, "not compared: the store did not tell the time")
    }
    let magnitude = lead < .zero ? .zero - lead : lead
    let seconds = magnitude.components.seconds
    let words = "\(seconds) s \(lead < .zero ? "ahead of" : "behind") the store's"
    let advice = "set it by the network, as with 'timedatectl set-ntp true'"
    if magnitude > clockErrorMax {
      return DoctorReport.Check(
        name,
        .failed,
        "\(words); dipper signs by the store's time, other programs are refused",
        advice: advice
      )
    }
    return magnitude > clockErrorNotable
      ? DoctorReport.Check(name, .warning, words, advice: advice)
      : DoctorReport.Check(name, .ok, "as the store's")
  }

  private static func permission(
    _ operation: String,
    _ outcome: StoreFacts.Outcome?,
    _ facts: StoreFacts
  ) -> DoctorReport.Check {
    let name = "may \(operation)"
    switch outcome {
    case nil:
      return DoctorReport.Check(
        name,
        .skipped,
        failure(facts.listing) == nil
          ? "nothing is there to try it with" : "not tried, since listing failed"
      )
    case .done: return DoctorReport.Check(name, .ok, "yes")
    case .failed(let error):
      return DoctorReport.Check(
        name,
        .failed,
        error.description,
        advice: error.kind == .accessDenied
          ? "allow these credentials \(right(operation, facts)) in the bucket's policy"
          : "do what is said above, or try again later"
      )
    }
  }

  private static func right(_ operation: String, _ facts: StoreFacts) -> String {
    "\(facts.variables.service):\(operation == "list" ? "ListBucket" : "GetObject")"
  }
}

extension StoreFacts {
  /// What the store's service, its rights and its variables are called.
  fileprivate var variables: (service: String, keys: String, endpoint: String) {
    bucket.hasPrefix("tos://")
      ? ("tos", "TOS_ACCESS_KEY and TOS_SECRET_KEY", "TOS_ENDPOINT")
      : ("s3", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3")
  }
}
