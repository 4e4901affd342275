internal import Core

/// Where a store listens and how a bucket is named there.
package struct Endpoint: Hashable, Sendable {
  /// The protocol below.
  package enum Scheme: String, Hashable, Sendable {
    case http
    case https

    /// The port that is not written.
    var defaultPort: Int { self == .http ? 80 : 443 }
  }

  /// How a bucket is named.
  package enum Addressing: Hashable, Sendable {
    /// `ENDPOINT/BUCKET/KEY`.
    case path
    /// `BUCKET.ENDPOINT/KEY`.
    case virtualHost
    /// `ENDPOINT/KEY`: the endpoint is a domain of the bucket's own.
    case ownDomain
  }

  /// The protocol below.
  package let scheme: Scheme
  /// The host in lower case; an IPv6 address without its brackets.
  package var host: String
  /// The port; nil for the scheme's own.
  package let port: Int?
  /// What stands before the bucket in every path, percent-encoded, such as `/storage/v1/s3`;
  /// usually empty.
  package let basePath: String
  /// How a bucket is named.
  package var addressing: Addressing

  /// The default endpoint of AWS for a region.
  ///
  /// - Throws: if the region can't be part of a host name.
  package static func aws(region: String) throws(EndpointError) -> Endpoint {
    guard !region.isEmpty, region.utf8.allSatisfy({ $0.isHostCharacter && $0 != 0x2E }) else {
      throw EndpointError("\"\(region.utf8.printable)\" is not the name of a region")
    }
    // Source: AWS General Reference, "Amazon S3 endpoints"; the Chinese partition has its own domain.
    let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
    return try Endpoint("https://s3.\(region).\(domain)")
  }

  /// True for a number, for localhost and for a name without a dot: nobody's public domain.
  package var isOfNoDomain: Bool {
    host.contains(":") || !host.contains(".") || host.isIPv4 || host.hasSuffix(".localhost")
  }

  /// The host with its brackets and the port, as it stands in the URL and the `Host` field.
  package var authority: String {
    (host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
  }

  /// Returns how `bucket` is named here: in the path too if its name can't be part of the host.
  ///
  /// Upper case and underscores are no host names, and a dot makes a name that the certificate of
  /// an https endpoint doesn't cover.
  package func addressing(of bucket: String) -> Addressing {
    guard addressing == .virtualHost else { return addressing }
    let fits = BucketName.isValid(bucket) && !(scheme == .https && bucket.utf8.contains(0x2E))
    return fits ? .virtualHost : .path
  }

  /// Returns where `request` to `bucket` goes.
  package func target(of request: WireRequest, bucket: String) -> RequestTarget {
    switch addressing(of: bucket) {
    case .virtualHost:
      return RequestTarget(
        scheme: scheme,
        authority: "\(bucket).\(authority)",
        path: basePath + request.path,
        query: request.query
      )
    case .path:
      return RequestTarget(
        scheme: scheme,
        authority: authority,
        path: "\(basePath)/\(PercentEncoding.path(bucket.utf8))\(request.path)",
        query: request.query
      )
    case .ownDomain:
      return RequestTarget(
        scheme: scheme,
        authority: authority,
        path: basePath + request.path,
        query: request.query
      )
    }
  }

  init(scheme: Scheme, host: String, port: Int?, basePath: String, addressing: Addressing) {
    self.scheme = scheme
    self.host = host
    self.port = port == scheme.defaultPort ? nil : port
    self.basePath = basePath
    self.addressing = addressing
  }
}

extension Endpoint: CustomStringConvertible {
  /// The endpoint as a URL.
  package var description: String { "\(scheme.rawValue)://\(authority)\(basePath)" }
}

/// Where one request goes: all of its URL, percent-encoded.
package struct RequestTarget: Hashable, Sendable {
  /// The protocol below.
  package let scheme: Endpoint.Scheme
  /// The value of the `Host` field.
  package let authority: String
  /// The whole path.
  package let path: String
  /// The query.
  package let query: [WireRequest.QueryItem]

  /// The URL.
  package var url: String {
    let items = query.map { $0.value.isEmpty ? $0.name : "\($0.name)=\($0.value)" }
    let suffix = items.isEmpty ? "" : "?" + items.joined(separator: "&")
    return "\(scheme.rawValue)://\(authority)\(path)\(suffix)"
  }
}

/// Why a text is not an endpoint.
package struct EndpointError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One sentence for a person.
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
