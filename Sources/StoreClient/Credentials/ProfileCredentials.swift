internal import Core
internal import StoreWire

/// Keys in a profile of the shared configuration files.
package struct ProfileCredentials: CredentialProvider {
  private let name: String?
  private let files: ConfigurationFiles

  /// What a profile can have instead of keys, and what it is called.
  private static let otherSources: KeyValuePairs = [
    "credential_process": "a credential_process",
    "role_arn": "a role to assume",
    "web_identity_token_file": "a web identity",
    "sso_session": "single sign-on",
    "sso_start_url": "single sign-on",
    "login_session": "a console login",
  ]

  /// Creates a provider of the profile that was asked for by name, or of `default` if `explicitName`
  /// is nil.
  package init(explicitName: String?, files: ConfigurationFiles) {
    name = explicitName
    self.files = files
  }

  package var place: String {
    "profile \"\((name ?? "default").utf8.printable)\" in \(files.description)"
  }

  package func identity() async throws(ConfigurationError) -> Identity? {
    let profile = try await files.profile(named: name)
    let fields = CredentialFields(
      accessKeyID: profile.properties["aws_access_key_id"],
      secretAccessKey: profile.properties["aws_secret_access_key"],
      sessionToken: profile.properties["aws_session_token"]
    )
    let shown = "profile \"\(profile.name.utf8.printable)\""
    let keys = try fields.credentials(
      idName: "aws_access_key_id",
      secretName: "aws_secret_access_key",
      place: shown
    )
    if let keys { return .keys(keys) }
    for (property, words) in Self.otherSources where profile.properties[property].nonEmpty != nil {
      throw ConfigurationError(
        "\(shown) gets its credentials from \(words) (\(property)), which isn't supported yet"
      )
    }
    return nil
  }
}
