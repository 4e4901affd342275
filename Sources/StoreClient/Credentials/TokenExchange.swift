internal import Core
internal import HTTP
internal import StoreWire

/// A security token service: where it is, and how it is asked for a role's keys.
///
/// Source: AWS STS API Reference, "AssumeRoleWithWebIdentity"; AWS SDKs and Tools Reference Guide,
/// "Assume role credential provider"; for Volcengine the OIDC providers of TOS's SDK for Python
/// (2.9.3) and of Volcengine's SDKs for Go and Python.
struct TokenExchange: Sendable {
  /// Whose service it is; they differ in every word of question and answer.
  enum Dialect: Hashable, Sendable {
    case aws
    case volcengine
  }

  /// The variables that name a role.
  struct Variables {
    let role: String
    let tokenFile: String
    let sessionName: String
    var policy: String?
  }

  let dialect: Dialect
  /// As it was configured, or the service's own.
  let endpoint: String

  /// AWS's: what the environment configures, or the region's own.
  static func aws(_ environment: [String: String], region: String) -> TokenExchange {
    let isIgnored = environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"]?.lowercased() == "true"
    let configured =
      environment["AWS_ENDPOINT_URL_STS"].nonEmpty ?? environment["AWS_ENDPOINT_URL"].nonEmpty
    if !isIgnored, let configured { return TokenExchange(dialect: .aws, endpoint: configured) }
    // Source: AWS General Reference, "AWS Security Token Service endpoints".
    let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
    return TokenExchange(dialect: .aws, endpoint: "https://sts.\(region).\(domain)")
  }

  /// Volcengine's; `VOLCENGINE_OIDC_STS_ENDPOINT` is a host or a URL.
  static func volcengine(_ environment: [String: String]) -> TokenExchange {
    TokenExchange(
      dialect: .volcengine,
      endpoint: environment["VOLCENGINE_OIDC_STS_ENDPOINT"].nonEmpty ?? "sts.volcengineapi.com"
    )
  }

  /// The endpoint.
  ///
  /// - Throws: if it is none, or if a token must not go there.
  func usableEndpoint() throws(ConfigurationError) -> Endpoint {
    let endpoint: Endpoint
    do throws(EndpointError) {
      endpoint = try Endpoint(self.endpoint)
    } catch {
      throw ConfigurationError("STS: \(error)")
    }
    // TOS's own SDK refuses http here, too; a stand-in on this machine is no risk.
    guard dialect == .aws || endpoint.scheme == .https || endpoint.host.isLoopback else {
      throw ConfigurationError(
        "VOLCENGINE_OIDC_STS_ENDPOINT names \(endpoint.host), which may be asked by https only"
      )
    }
    return endpoint
  }

  /// What to ask; the token goes into the body, because URLs are logged.
  func question(
    at endpoint: Endpoint,
    _ role: WebIdentityCredentials.Role,
    token: String
  ) -> CredentialServices.Question {
    let body =
      switch dialect {
      case .aws:
        STSRequests.assumeRole(arn: role.name, sessionName: role.sessionName, token: token)
      case .volcengine:
        STSRequests.assumeRoleWithOIDC(
          trn: role.name,
          sessionName: role.sessionName,
          token: token,
          policy: role.policy
        )
      }
    return CredentialServices.Question(
      method: "POST",
      url: "\(endpoint)/" + (dialect == .aws ? "" : STSRequests.assumeRoleWithOIDCQuery),
      fields: HeaderFields(["Content-Type": "application/x-www-form-urlencoded"]),
      body: .bytes(body),
      usesProxy: true,
      patience: .seconds(10),
      tryCountMax: 3
    )
  }

  /// Reads the answer.
  func credentials(_ answer: WireAnswer) throws(ConfigurationError) -> Credentials {
    switch dialect {
    case .aws:
      do throws(STSError) {
        return try STSAnswers.credentials(answer)
      } catch {
        throw ConfigurationError(error.description)
      }
    case .volcengine:
      return try OIDCAnswer.credentials(answer)
    }
  }
}

extension TokenExchange.Dialect {
  /// The variables that name a role for it.
  var variables: TokenExchange.Variables {
    switch self {
    case .aws:
      TokenExchange.Variables(
        role: "AWS_ROLE_ARN",
        tokenFile: "AWS_WEB_IDENTITY_TOKEN_FILE",
        sessionName: "AWS_ROLE_SESSION_NAME"
      )
    case .volcengine:
      TokenExchange.Variables(
        role: "VOLCENGINE_OIDC_ROLE_TRN",
        tokenFile: "VOLCENGINE_OIDC_TOKEN_FILE",
        sessionName: "VOLCENGINE_OIDC_ROLE_SESSION_NAME",
        policy: "VOLCENGINE_OIDC_ROLE_POLICY"
      )
    }
  }
}

extension String {
  /// True for the names and numbers of this machine.
  var isLoopback: Bool {
    if self == "localhost" || self == "::1" { return true }
    // All four numbers: `127.evil.example` is a name.
    let pieces = split(separator: ".", omittingEmptySubsequences: false)
    let numbers = pieces.compactMap { UInt8($0) }
    return pieces.count == 4 && numbers.count == 4 && numbers[0] == 127
  }
}
