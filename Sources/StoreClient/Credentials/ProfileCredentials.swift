package import Core
internal import StoreWire

/// Credentials that a profile of the shared configuration files has or leads to: keys, a program, or
/// a web identity.
package struct ProfileCredentials: CredentialSource {
  private let name: String?
  private let files: ConfigurationFiles
  private let services: CredentialServices?
  private let exchange: TokenExchange

  /// What a profile can have instead, and what it is called.
  private static let otherSources: KeyValuePairs = [
    "sso_session": "single sign-on",
    "sso_start_url": "single sign-on",
    "login_session": "a console login",
  ]

  /// Creates a source of the profile that was asked for by name, or of `default` if `explicitName`
  /// is nil.
  ///
  /// Without services, programs and web identities are out of reach.
  init(
    explicitName: String?,
    files: ConfigurationFiles,
    exchange: TokenExchange,
    services: CredentialServices?
  ) {
    name = explicitName
    self.files = files
    self.services = services
    self.exchange = exchange
  }

  package var place: String {
    "profile \"\((name ?? "default").utf8.printable)\" in \(files.description)"
  }

  package var remedy: String { "put new ones there, or log in again; the files are read anew" }

  package func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
    let profile = try await files.profile(named: name)
    let properties = profile.properties
    let shown = "profile \"\(profile.name.utf8.printable)\""
    // A role comes before keys: with both, the keys are those that take it on.
    if let arn = properties["role_arn"].nonEmpty {
      return try await role(arn, profile, shown, by: deadline)
    }
    let fields = CredentialFields(
      accessKeyID: properties["aws_access_key_id"],
      secretAccessKey: properties["aws_secret_access_key"],
      sessionToken: properties["aws_session_token"]
    )
    let keys = try fields.credentials(
      idName: "aws_access_key_id",
      secretName: "aws_secret_access_key",
      place: shown
    )
    if let keys { return .found(.keys(keys), remark: profile.remark) }
    if let command = properties["credential_process"].nonEmpty {
      guard let services else {
        throw ConfigurationError("\(shown) has a credential_process, which can't be run here")
      }
      return try await ProgramCredentials(command: command, owner: shown, services: services)
        .look(by: deadline)
    }
    for (property, words) in Self.otherSources where properties[property].nonEmpty != nil {
      throw ConfigurationError(
        "\(shown) gets its credentials from \(words) (\(property)), which isn't supported; "
          + "`aws configure export-credentials` as its credential_process is a way around"
      )
    }
    return .nothing
  }

  private func role(
    _ arn: String,
    _ profile: ConfigurationProfile,
    _ shown: String,
    by deadline: Instant
  ) async throws(ConfigurationError) -> CredentialFinding {
    let properties = profile.properties
    guard let tokenFile = properties["web_identity_token_file"].nonEmpty, let services else {
      throw ConfigurationError(
        "\(shown) takes on a role (role_arn) with other credentials than a web identity, which isn't "
          + "supported; `aws configure export-credentials` as a credential_process is a way around"
      )
    }
    let role = WebIdentityCredentials.Role(
      name: arn,
      tokenFile: tokenFile,
      sessionName: properties["role_session_name"].nonEmpty ?? "dipper",
      owner: shown
    )
    return try await WebIdentityCredentials(role: role, exchange: exchange, services: services)
      .look(by: deadline)
  }
}
