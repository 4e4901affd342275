internal import Core

/// What the host of a TOS endpoint says: `[BUCKET.]tos-REGION.DOMAIN`.
///
/// Source: TOS documentation, "Regions and endpoints"; deriving the region from the host is what
/// the vendor's command line and Apache OpenDAL do.
package struct TOSHost: Hashable, Sendable {
  /// Which of the services at a region listens there.
  package enum Service: Hashable, Sendable {
    /// TOS's own protocol.
    case native
    /// The S3-compatible protocol.
    case s3
    /// Accounts and batch jobs; it has no objects.
    case control

    fileprivate var prefix: String {
      switch self {
      case .native: "tos-"
      case .s3: "tos-s3-"
      case .control: "tos-control-"
      }
    }
  }

  /// Which service listens there.
  package let service: Service
  /// The region, such as `cn-beijing`.
  package let region: String
  /// What follows the region, such as `volces.com`, or `ivolces.com` inside the cloud.
  package let domain: String
  /// What precedes the service's name: a bucket, where the address is one of a bucket.
  package let bucket: String?

  /// The domains of Volcengine and BytePlus, each public and inside its cloud.
  package static let domains = ["volces.com", "ivolces.com", "bytepluses.com", "ibytepluses.com"]

  /// Reads a host in lower case; nil if it is none of TOS.
  ///
  /// In domains other than the four known ones only the first label can name the service: what
  /// stands before it there may be anything.
  package init?(_ host: String) {
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    // A bucket's name may look like a service's: where there can be one, it is looked for first.
    for index in (0..<min(2, max(0, labels.count - 2))).reversed() {
      // The longer prefixes first: `tos-` begins all of them.
      let services: [Service] = [.control, .s3, .native]
      guard let service = services.first(where: { labels[index].hasPrefix($0.prefix) }) else {
        continue
      }
      let region = labels[index].dropFirst(service.prefix.count)
      let domain = labels[(index + 1)...].joined(separator: ".")
      guard !region.isEmpty, index == 0 || Self.domains.contains(domain) else { continue }
      self.service = service
      self.region = String(region)
      self.domain = domain
      bucket = index == 0 ? nil : String(labels[0])
      return
    }
    return nil
  }

  private init(service: Service, region: String, domain: String) {
    self.service = service
    self.region = region
    self.domain = domain
    bucket = nil
  }

  /// The host of TOS's own protocol here.
  package func native() -> TOSHost {
    TOSHost(service: .native, region: region, domain: domain)
  }

  /// The host of TOS's own protocol in another region of the same cloud.
  ///
  /// It is the public one: what listens inside the cloud is reached from its own region only.
  package func publicHost(in region: String) -> TOSHost {
    let isInside = domain.hasPrefix("i") && Self.domains.contains(domain)
    return TOSHost(
      service: .native,
      region: region,
      domain: isInside ? String(domain.dropFirst()) : domain
    )
  }

  /// The host of TOS's own protocol in a region of Volcengine.
  ///
  /// A region's name doesn't tell the cloud: `ap-southeast-1` is one of both, and BytePlus's needs
  /// its endpoint to be named.
  package static func volcengine(region: String) -> TOSHost {
    TOSHost(service: .native, region: region, domain: domains[0])
  }
}

extension TOSHost: CustomStringConvertible {
  /// The host.
  package var description: String {
    (bucket.map { "\($0)." } ?? "") + "\(service.prefix)\(region).\(domain)"
  }
}
