internal import Core
internal import HTTP
internal import StoreWire

/// Credentials for a token that says who this is: a role taken on through STS, without a signature.
///
/// Source: AWS STS API Reference, "AssumeRoleWithWebIdentity"; AWS SDKs and Tools Reference Guide,
/// "Assume role credential provider".
struct WebIdentityCredentials: CredentialSource {
  /// What has to be known of a role.
  struct Role: Sendable {
    var arn: String
    var tokenFile: String
    var sessionName: String
    /// The variables or the profile that said so.
    var owner: String
  }

  /// The role; nil if the environment names none, a failure if it names half of one.
  private let role: Result<Role?, ConfigurationError>
  /// Where STS is: an endpoint that somebody configured, or the region's own.
  private let endpoint: String
  private let services: CredentialServices

  init(role: Role, endpoint: String, services: CredentialServices) {
    self.role = .success(role)
    self.endpoint = endpoint
    self.services = services
  }

  /// Creates the source of the role that the environment names.
  init(_ environment: [String: String], endpoint: String, services: CredentialServices) {
    role = Self.role(in: environment)
    self.endpoint = endpoint
    self.services = services
  }

  var place: String {
    guard case .success(let role?) = role else {
      return "web identity (AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE)"
    }
    return "web identity of \(role.owner), token file \(role.tokenFile.utf8.printable)"
  }

  var remedy: String { "see that the token file is renewed and the role may still be taken on" }

  private static func role(
    in environment: [String: String]
  ) -> Result<Role?, ConfigurationError> {
    guard let tokenFile = environment["AWS_WEB_IDENTITY_TOKEN_FILE"].nonEmpty else {
      return .success(nil)
    }
    guard let arn = environment["AWS_ROLE_ARN"].nonEmpty else {
      return .failure(
        ConfigurationError(
          "the environment has AWS_WEB_IDENTITY_TOKEN_FILE but not AWS_ROLE_ARN"
        )
      )
    }
    return .success(
      Role(
        arn: arn,
        tokenFile: tokenFile,
        sessionName: environment["AWS_ROLE_SESSION_NAME"].nonEmpty ?? "dipper",
        owner: "the environment"
      )
    )
  }

  /// The endpoint of STS.
  static func endpoint(_ environment: [String: String], region: String) -> String {
    let isIgnored = environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"]?.lowercased() == "true"
    let configured =
      environment["AWS_ENDPOINT_URL_STS"].nonEmpty ?? environment["AWS_ENDPOINT_URL"].nonEmpty
    if !isIgnored, let configured { return configured }
    // Source: AWS General Reference, "AWS Security Token Service endpoints".
    let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
    return "https://sts.\(region).\(domain)"
  }

  func identity(by deadline: Instant) async throws(ConfigurationError) -> Identity? {
    guard let role = try role.get() else { return nil }
    let url: String
    do throws(EndpointError) {
      url = try "\(Endpoint(endpoint))/"
    } catch {
      throw ConfigurationError("STS: \(error)")
    }
    let token = try await token(role)
    let body = STSRequests.assumeRole(
      arn: role.arn,
      sessionName: role.sessionName,
      token: token
    )
    let answer: WireAnswer
    do throws(HTTPError) {
      answer = try await services.ask(
        CredentialServices.Question(
          method: "POST",
          url: url,
          fields: HeaderFields(["Content-Type": "application/x-www-form-urlencoded"]),
          body: .bytes(body),
          usesProxy: true,
          patience: .seconds(10),
          tryCountMax: 3
        ),
        by: deadline
      )
    } catch {
      throw ConfigurationError("\(place): STS doesn't answer: \(error.message)")
    }
    do throws(STSError) {
      return .keys(try STSAnswers.credentials(answer))
    } catch {
      // An answer might repeat the token.
      let said = error.description.split(separator: token).joined(separator: "***")
      throw ConfigurationError("\(place): \(said)")
    }
  }

  private func token(_ role: Role) async throws(ConfigurationError) -> String {
    let bytes: [UInt8]?
    do throws(DiskFailure) {
      bytes = try await services.files.contents(of: role.tokenFile)
    } catch {
      throw ConfigurationError("\(place): \(error.description)")
    }
    guard let bytes else { throw ConfigurationError("\(place): there is no such file") }
    let token = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard token.count == 1, let text = token.first, text.utf8.count <= 32_768 else {
      throw ConfigurationError("\(place): the file doesn't have one token in it")
    }
    return String(text)
  }
}
