package import Core
internal import StoreWire

/// Keys in environment variables.
package struct EnvironmentCredentials: CredentialSource {
  private let fields: CredentialFields

  /// Creates a source that reads `environment`.
  package init(_ environment: [String: String]) {
    fields = CredentialFields(
      accessKeyID: environment["AWS_ACCESS_KEY_ID"],
      secretAccessKey: environment["AWS_SECRET_ACCESS_KEY"],
      sessionToken: environment["AWS_SESSION_TOKEN"],
      // Written by `aws configure export-credentials`.
      expiration: environment["AWS_CREDENTIAL_EXPIRATION"]
    )
  }

  package var place: String { "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)" }
  package var remedy: String { "set new ones and start again: a program's environment stays" }

  package func identity(by deadline: Instant) throws(ConfigurationError) -> Identity? {
    try fields.credentials(
      idName: "AWS_ACCESS_KEY_ID",
      secretName: "AWS_SECRET_ACCESS_KEY",
      place: "the environment"
    ).map { .keys($0) }
  }
}
