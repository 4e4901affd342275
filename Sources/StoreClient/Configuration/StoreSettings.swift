package import Core
package import StoreWire

/// What the command line says about where a store is and who asks.
package struct StoreOptions: Hashable, Sendable {
  /// `--endpoint`.
  package var endpoint: String?
  /// `--region`.
  package var region: String?
  /// `--path-style`; nil leaves it to the endpoint: on for IP addresses and localhost.
  package var usesPathStyle: Bool?
  /// `--custom-domain`: the endpoint is a domain of the bucket's own.
  package var usesOwnDomain = false
  /// `--profile`.
  package var profile: String?
  /// `--anonymous`.
  package var isAnonymous = false
  /// The keys that a program gives; no option of the command line does.
  package var credentials: Credentials?
  /// What guards every object that is written.
  package var protection = ObjectProtection()
  /// Which checksum goes along with what is written.
  package var checksum = ChecksumChoice.automatic

  /// Creates options of which none is given.
  package init() {}
}

/// Where a store is: the endpoint and the region, from the first place that says.
package struct StoreSettings: Hashable, Sendable {
  /// Where requests go.
  package var endpoint: Endpoint
  /// The region that signatures name until the bucket says otherwise.
  package var region: String
  /// True if the endpoint was made of the region, and so moves with it.
  package var isEndpointOfRegion: Bool
  /// Which protocol is spoken there.
  package var dialect: StoreDialect
  /// What guards every object that is written.
  package var protection = ObjectProtection()
  /// Which checksum goes along with what is written.
  package var checksum = ChecksumChoice.automatic

  /// The region to ask in for a bucket's own; every partition but China's answers for it.
  package static let regionDefault = "us-east-1"

  /// Creates settings of an endpoint that stays.
  package init(endpoint: Endpoint, region: String, dialect: StoreDialect = .s3) {
    self.endpoint = endpoint
    self.region = region
    self.dialect = dialect
    isEndpointOfRegion = false
  }

  /// The protocol as it is spoken with one bucket.
  package func wireDialect(bucket: String) -> any WireDialect {
    switch dialect {
    case .s3: S3Dialect(bucket: bucket, isAmazons: isEndpointOfRegion)
    case .tos: TOSDialect(bucket: bucket)
    }
  }

  /// Creates the settings that options, environment and profile make, in this order.
  ///
  /// Source: AWS SDKs and Tools Reference Guide, "Service-specific endpoints" (the order of the
  /// endpoint's places) and "AWS Region".
  ///
  /// - Throws: if an endpoint or a region can't be what it is said to be.
  package init(
    options: StoreOptions,
    environment: [String: String],
    profile: ConfigurationProfile
  ) throws(ConfigurationError) {
    region =
      options.region.nonEmpty ?? environment["AWS_REGION"].nonEmpty
      ?? environment["AWS_DEFAULT_REGION"].nonEmpty ?? profile.region ?? Self.regionDefault
    guard StoreSession.isRegion(region) else {
      throw ConfigurationError("\"\(region.utf8.printable)\" can't be the name of a region")
    }
    dialect = .s3
    let addressing: Endpoint.Addressing? =
      options.usesOwnDomain
      ? .ownDomain : options.usesPathStyle.map { $0 ? .path : .virtualHost }
    var spelling = options.endpoint.nonEmpty
    if spelling == nil, environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"]?.lowercased() != "true" {
      spelling =
        environment["AWS_ENDPOINT_URL_S3"].nonEmpty ?? environment["AWS_ENDPOINT_URL"].nonEmpty
        ?? profile.endpointURL
    }
    isEndpointOfRegion = spelling == nil
    guard spelling != nil || !options.usesOwnDomain else {
      throw ConfigurationError(
        "--custom-domain needs the domain: give it with --endpoint or in AWS_ENDPOINT_URL_S3"
      )
    }
    do throws(EndpointError) {
      if let spelling {
        endpoint = try Endpoint(spelling, addressing: addressing)
      } else {
        endpoint = try Endpoint.aws(region: region)
        if let addressing { endpoint.addressing = addressing }
      }
    } catch {
      throw ConfigurationError(error.description)
    }
  }
}
