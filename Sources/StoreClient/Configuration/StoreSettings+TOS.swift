internal import Core
internal import StoreWire

extension StoreSettings {
  /// The region that signatures name at an endpoint that doesn't tell its own and is one of this
  /// machine or link: a stand-in, which has no region.
  static let standInRegion = "cn-beijing"

  /// Creates the settings of a TOS bucket, from the first place that says: options, environment, and
  /// the files of the vendor's tools.
  ///
  /// Endpoint and region say the same, mostly: a TOS endpoint has its region in its name, and an
  /// endpoint can be made of a region. Where two places contradict each other, the first decides and
  /// the other is corrected: a region on the command line isn't asked for at the endpoint of a file.
  ///
  /// - Parameters:
  ///   - options: what the command line says.
  ///   - environment: this process's variables.
  ///   - files: the files of the vendor's tools, which are read only if something is still missing.
  ///   - bucket: the bucket's name.
  /// - Throws: if nobody says where, or if what is said can't be so.
  package init(
    tos options: StoreOptions,
    environment: [String: String],
    files: TOSConfigurationFiles,
    bucket: String
  ) async throws(ConfigurationError) {
    let said = try await Self.said(options, environment, files)
    guard !options.usesOwnDomain || said.endpoint != nil else {
      throw ConfigurationError(
        "--custom-domain needs the domain: give it with --endpoint or in TOS_ENDPOINT"
      )
    }
    let (endpoint, region) = try Self.resolved(said, options, bucket: bucket)
    self.init(endpoint: endpoint, region: region, dialect: .tos)
    isEndpointOfRegion = said.endpoint == nil
  }

  /// A text, what it is called where it was said, and how early.
  private struct Statement {
    let text: String
    let name: String
    let rank: Int
  }

  private struct Statements {
    var endpoint: Statement?
    var region: Statement?
    private var rank = 0

    /// Takes what the next place says.
    mutating func take(
      endpoint newEndpoint: String?,
      _ endpointName: String,
      region newRegion: String?,
      _ regionName: String
    ) {
      if endpoint == nil, let newEndpoint {
        endpoint = Statement(text: newEndpoint, name: endpointName, rank: rank)
      }
      if region == nil, let newRegion {
        region = Statement(text: newRegion, name: regionName, rank: rank)
      }
      rank += 1
    }

    /// True if no other place has to be asked: the endpoint says its region.
    var isComplete: Bool {
      guard let endpoint else { return false }
      return region != nil || (try? Endpoint(endpoint.text)).flatMap { TOSHost($0.host) } != nil
    }
  }

  private static func said(
    _ options: StoreOptions,
    _ environment: [String: String],
    _ files: TOSConfigurationFiles
  ) async throws(ConfigurationError) -> Statements {
    var said = Statements()
    said.take(
      endpoint: options.endpoint.nonEmpty,
      "--endpoint",
      region: options.region.nonEmpty,
      "--region"
    )
    let variable = ["TOS_REGION", "VOLCENGINE_REGION"].first { environment[$0].nonEmpty != nil }
    said.take(
      endpoint: environment["TOS_ENDPOINT"].nonEmpty,
      "TOS_ENDPOINT",
      region: variable.flatMap { environment[$0] },
      variable ?? ""
    )
    for read in [files.profile, files.utilityProfile] where !said.isComplete {
      guard let profile = try await read() else { continue }
      said.take(
        endpoint: profile.endpoint,
        "endpoint of \(profile.place)",
        region: profile.region,
        "region of \(profile.place)"
      )
    }
    // Its endpoint is that of another service.
    if said.region == nil, !said.isComplete, let profile = try await files.commandLineProfile() {
      said.take(endpoint: nil, "", region: profile.region, "region of \(profile.place)")
    }
    return said
  }

  private static func resolved(
    _ said: Statements,
    _ options: StoreOptions,
    bucket: String
  ) throws(ConfigurationError) -> (endpoint: Endpoint, region: String) {
    if let region = said.region { try check(region) }
    guard let stated = said.endpoint else {
      guard let region = said.region?.text else {
        throw ConfigurationError(
          "nothing says where this TOS bucket is; give --region (such as cn-beijing) or --endpoint, or "
            + "set TOS_REGION or TOS_ENDPOINT"
        )
      }
      let host = TOSHost.volcengine(region: region)
      return (try endpoint("https://\(host)", options), region)
    }
    var place = try endpoint(stated.text, options)
    guard let host = TOSHost(place.host) else {
      return (place, try region(said, of: place, options))
    }
    let native = try native(host, bucket: bucket, options)
    guard let region = said.region, region.text != host.region, !options.usesOwnDomain else {
      place.host = native.description
      return (place, said.region?.text ?? host.region)
    }
    guard region.rank != stated.rank else {
      throw ConfigurationError(
        "\(stated.name) is in \(host.region), but \(region.name) says \(region.text.utf8.printable); "
          + "leave one of them out"
      )
    }
    let chosen = region.rank < stated.rank ? native.publicHost(in: region.text) : native
    place.host = chosen.description
    return (place, chosen.region)
  }

  private static func endpoint(
    _ text: String,
    _ options: StoreOptions
  ) throws(ConfigurationError) -> Endpoint {
    let addressing: Endpoint.Addressing? =
      options.usesOwnDomain
      ? .ownDomain : options.usesPathStyle.map { $0 ? .path : .virtualHost }
    do throws(EndpointError) {
      return try Endpoint(text, addressing: addressing)
    } catch {
      throw ConfigurationError(error.description)
    }
  }

  /// The host without a bucket in it, if it is one of TOS's own protocol.
  private static func native(
    _ host: TOSHost,
    bucket: String,
    _ options: StoreOptions
  ) throws(ConfigurationError) -> TOSHost {
    switch host.service {
    case .native: break
    case .s3:
      throw ConfigurationError(
        "the endpoint \(host) speaks S3, not TOS's own protocol; use \(host.native()) for tos://, or "
          + "name the bucket s3://\(bucket)"
      )
    case .control:
      throw ConfigurationError(
        "the endpoint \(host) is that of TOS's control plane, which has no objects; use \(host.native())"
      )
    }
    guard !options.usesOwnDomain else { return host }
    guard host.bucket == nil || host.bucket == bucket else {
      throw ConfigurationError(
        "the endpoint \(host) is an address of another bucket; use \(host.native())"
      )
    }
    return host.native()
  }

  /// The region at an endpoint that doesn't say it.
  private static func region(
    _ said: Statements,
    of endpoint: Endpoint,
    _ options: StoreOptions
  ) throws(ConfigurationError) -> String {
    if let region = said.region { return region.text }
    // Without a signature there is nothing to name it in.
    if options.isAnonymous { return "" }
    guard endpoint.isOfNoDomain else {
      throw ConfigurationError(
        "the endpoint \(endpoint.host) doesn't say its region; give --region or set TOS_REGION"
      )
    }
    return standInRegion
  }

  private static func check(_ region: Statement) throws(ConfigurationError) {
    guard StoreSession.isRegion(region.text) else {
      throw ConfigurationError(
        "\"\(region.text.utf8.printable)\" (\(region.name)) can't be the name of a region"
      )
    }
  }
}
