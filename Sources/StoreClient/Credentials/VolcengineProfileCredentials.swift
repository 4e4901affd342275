internal import Core
internal import StoreWire

/// What a profile of Volcengine's command line has or leads to: keys, a web identity, or an instance's
/// role.
struct VolcengineProfileCredentials: CredentialSource {
  let files: TOSConfigurationFiles
  let environment: [String: String]
  let exchange: TokenExchange
  let services: CredentialServices?

  var place: String { files.commandLinePath }
  var remedy: String { "log in again with ve, or put new ones there; the file is read anew" }

  func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
    guard let profile = try await files.commandLineProfile() else { return .nothing }
    switch profile.mode {
    // Single sign-on leaves the keys of its last login in the profile, with their end.
    case "", "ak", "ststoken", "sso", "console-login":
      return try keys(profile)
    case "oidc":
      return try await webIdentity(profile, by: deadline)
    case "ecsrole":
      guard let services else { throw unsupported(profile) }
      return try await VolcengineInstanceCredentials(
        environment,
        roleName: profile.roleName,
        services: services
      ).look(by: deadline)
    default:
      throw unsupported(profile)
    }
  }

  private func keys(
    _ profile: VolcengineProfile
  ) throws(ConfigurationError) -> CredentialFinding {
    let found = try profile.fields.credentials(
      idName: "access-key",
      secretName: "secret-key",
      place: profile.place
    )
    guard let found else {
      if ["", "ak", "ststoken"].contains(profile.mode) { return .nothing }
      throw unsupported(profile)
    }
    let keys = Credentials(
      accessKey: found.accessKey,
      secretKey: found.secretKey,
      sessionToken: found.sessionToken,
      expiry: profile.expiry
    )
    return .found(.keys(keys), at: profile.place, remark: profile.remark)
  }

  private func webIdentity(
    _ profile: VolcengineProfile,
    by deadline: Instant
  ) async throws(ConfigurationError) -> CredentialFinding {
    guard let services, let name = profile.roleTRN, let tokenFile = profile.tokenFile else {
      throw ConfigurationError(
        "\(profile.place) has mode OIDC, but no role-trn and oidc-token-file"
      )
    }
    let role = WebIdentityCredentials.Role(
      name: name,
      tokenFile: tokenFile,
      sessionName: "dipper",
      policy: profile.policy,
      owner: profile.place
    )
    return try await WebIdentityCredentials(role: role, exchange: exchange, services: services)
      .look(by: deadline)
  }

  private func unsupported(_ profile: VolcengineProfile) -> ConfigurationError {
    ConfigurationError(
      "\(profile.place) gets its credentials by mode \"\(profile.mode.utf8.printable)\", which isn't "
        + "supported; set TOS_ACCESS_KEY and TOS_SECRET_KEY (and TOS_SECURITY_TOKEN) instead"
    )
  }
}
